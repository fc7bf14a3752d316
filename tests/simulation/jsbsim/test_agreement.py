"""JSBSim and the lightweight simulator, told the same, do the same within stated limits.

What is left between them: JSBSim takes a step's force from the step before, the Earth turns under
it, and its gravity is that of the place.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.random import RandomSource
from ghost.core.rotations import multiply, to_rotation_vector
from ghost.hal import GroundTruth
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Wind, load_adapter
from tests.simulation.airframes import shipped
from tests.simulation.jsbsim.rig import MS, begun

FloatArray = NDArray[np.float64]

HOLD_NS = 50 * MS
HIGH_M = (0.0, 0.0, 100.0)
WITHIN = {  # three times the worst that was measured, which stands beside it
    "position, m": 0.028,  # 0.0092
    "velocity, m/s": 0.018,  # 0.0059
    "attitude, rad": 0.0048,  # 0.0016
    "rate, rad/s": 0.018,  # 0.0060
}


def flown(simulator: str, airframe: Airframe, seed: int, step_ns: int = MS) -> list[GroundTruth]:
    """Two seconds with motors anyhow about hover, in gusts, pushed and twisted on the way."""
    dice, wind = RandomSource(seed).child("motors"), Wind((3.0, -2.0, 0.5), gust_mps=1.0)
    adapter = begun(
        load_adapter(simulator), airframe, wind=wind, step_ns=step_ns, position_enu_m=HIGH_M
    )
    lift_n = sum(rotor.max_thrust_n for rotor in airframe.rotors)
    hover = float(np.sqrt(airframe.mass_kg * GRAVITY_MPS2 / lift_n))
    truths = []
    for turn in range(40):
        each = 0.08 * (dice.uniform(len(airframe.rotors)) - 0.5)
        adapter.send_motors(0, hover + 0.2 * (dice.uniform() - 0.5) + each)
        if turn == 10:
            adapter.disturb(0, (2.0, -3.0, 1.0), (0.02, -0.01, 0.01))
        elif turn == 20:
            adapter.disturb(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        adapter.step(HOLD_NS)
        truths.append(adapter.ground_truth(0))
    return truths


def apart(ours: list[GroundTruth], theirs: list[GroundTruth]) -> dict[str, float]:
    """The most that the two were ever apart."""
    rows = []
    for one, other in zip(ours, theirs, strict=True):
        turn = multiply(one.attitude * (1.0, -1.0, -1.0, -1.0), other.attitude)
        rows.append(
            [
                _length(one.position_enu_m - other.position_enu_m),
                _length(one.velocity_enu_mps - other.velocity_enu_mps),
                _length(to_rotation_vector(turn)),
                _length(one.rate_flu_rps - other.rate_flu_rps),
            ]
        )
    return dict(zip(WITHIN, np.max(rows, axis=0).tolist(), strict=True))


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(np.sum(vector * vector)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("robot", ["x500", "hexa"])
def test_the_same_commands_give_the_same_motion(robot: str, seed: int) -> None:
    ours, theirs = (flown(name, shipped(robot), seed) for name in ("lightweight", "jsbsim"))
    assert _length(ours[-1].position_enu_m - HIGH_M) > 3.0, "it has been somewhere"
    found = apart(ours, theirs)
    assert {name: value for name, value in found.items() if value > WITHIN[name]} == {}
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.wind_enu_mps, other.wind_enu_mps)


def test_what_is_left_between_them_halves_with_the_step() -> None:
    coarse, fine = (
        apart(*(flown(name, shipped("x500"), 1, ns) for name in ("lightweight", "jsbsim")))
        for ns in (2 * MS, MS // 2)
    )
    assert {name: coarse[name] / fine[name] for name in ("velocity, m/s", "rate, rad/s")} == {
        "velocity, m/s": pytest.approx(4.0, abs=0.4),
        "rate, rad/s": pytest.approx(4.0, abs=0.4),
    }
