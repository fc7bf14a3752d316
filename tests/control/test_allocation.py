"""What each rotor gives, and gains from what the airframe can do."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.control import Gains, allocate, derive
from ghost.control.gains import pack
from ghost.core.errors import ConfigError
from ghost.hal import SafetyEnvelope
from ghost.hal.airframe import Airframe
from tests.simulation.airframes import HEXA, QUAD, ROTOR, ring, shipped

ROBOTS = [shipped(name) for name in ("x500", "hexa", "crazyflie")]
CANTED = replace(
    QUAD,
    rotors=tuple(
        replace(rotor, axis_flu=(0.0, side, float(np.sqrt(1.0 - side * side))))
        for rotor, side in zip(QUAD.rotors, (-0.1, 0.1, -0.1, 0.1), strict=True)
    ),
)


def effects(airframe: Airframe) -> NDArray[np.float64]:
    """Lift and torque of a newton of each rotor, a column per rotor, by vectors."""
    columns = []
    for rotor in airframe.rotors:
        axis = np.array(rotor.axis_flu)
        torque = np.cross(rotor.position_flu_m, axis)
        torque -= rotor.direction * rotor.torque_per_thrust_m * axis
        columns.append([axis[2], *torque])
    return np.array(columns).T


@pytest.mark.parametrize("airframe", [QUAD, HEXA, CANTED, *ROBOTS])
def test_rotors_give_what_is_asked_and_share_it_most_evenly(airframe: Airframe) -> None:
    shares = allocate(airframe)
    np.testing.assert_allclose(effects(airframe) @ shares, np.eye(4), rtol=0, atol=1e-9)
    np.testing.assert_allclose(shares, np.linalg.pinv(effects(airframe)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("airframe", "axis"),
    [
        (replace(QUAD, rotors=tuple(replace(rotor, direction=1) for rotor in ring(4))), "yaw"),
        (replace(QUAD, rotors=ring(4, torque_per_thrust_m=0.0)), "yaw"),
        (
            replace(
                QUAD,
                rotors=tuple(
                    replace(ROTOR, position_flu_m=(x, 0.0, 0.0), direction=turn)
                    for x, turn in ((0.3, 1), (0.1, -1), (-0.1, 1), (-0.3, -1))
                ),
            ),
            "roll",
        ),
        (replace(QUAD, rotors=tuple(replace(ROTOR, direction=1) for _ in range(4))), "roll"),
        (replace(QUAD, mass_kg=0.5, rotors=ring(3)), "yaw"),
    ],
)
def test_what_rotors_cannot_control_is_refused(airframe: Airframe, axis: str) -> None:
    with pytest.raises(ConfigError, match=f"the rotors can't control {axis}"):
        allocate(airframe)


def test_a_mass_outside_the_rotors_is_refused() -> None:
    ahead = tuple(
        replace(rotor, position_flu_m=(rotor.position_flu_m[0] + 0.3, *rotor.position_flu_m[1:]))
        for rotor in QUAD.rotors
    )
    with pytest.raises(ConfigError, match="push down to hover"):
        allocate(replace(QUAD, rotors=ahead))


@pytest.mark.parametrize("airframe", [QUAD, HEXA, *ROBOTS])
def test_each_loop_is_slower_than_the_one_inside_it(airframe: Airframe) -> None:
    gains = derive(airframe, 4_000_000)
    assert gains.rate > 2.0 * gains.attitude > 4.0 * gains.velocity > 8.0 * gains.position > 0.0
    assert gains.yaw < gains.attitude
    motor = 1e9 / max(rotor.time_constant_ns for rotor in airframe.rotors)
    assert gains.rate < motor, "no loop is faster than the motors"


def test_slower_motors_or_a_slower_loop_make_slower_gains() -> None:
    usual = derive(QUAD, 4_000_000)
    assert derive(QUAD, 20_000_000).rate < usual.rate
    slow = replace(QUAD, rotors=ring(4, time_constant_ns=200_000_000))
    assert derive(slow, 4_000_000).rate < usual.rate


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_an_impossible_gain_is_refused(wrong: float) -> None:
    with pytest.raises(ConfigError, match="gain yaw is"):
        replace(derive(QUAD, 4_000_000), yaw=wrong)


def test_a_weak_vehicle_is_not_asked_to_accelerate_as_far_as_it_may_tilt() -> None:
    gains: Gains = derive(QUAD, 4_000_000)
    envelope = SafetyEnvelope(max_tilt_rad=0.8)
    strong = pack(gains, QUAD, envelope)[11]
    weak = pack(gains, replace(QUAD, mass_kg=1.9), envelope)[11]
    assert strong == pytest.approx(9.80665 * np.tan(0.8))
    assert weak < 0.4 * 9.80665
