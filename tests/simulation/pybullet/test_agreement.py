"""PyBullet and the lightweight simulator, told the same, do the same but for integration error.

Bullet moves a body by its velocity at the end of a step, the lightweight kernel by the mean over
the step. Under an acceleration a that leaves a * t * step / 2 between them, so half the step must
leave half as much: where the physics differed, something would stay.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.random import RandomSource
from ghost.core.rotations import multiply, to_rotation_vector
from ghost.hal import GroundTruth, ImuSample
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import SimulatorAdapter, Start, VehicleSetup, Wind, load_adapter
from ghost.simulation.models.sensors import ImuModel
from tests.simulation.airframes import QUAD, shipped
from tests.simulation.pybullet.rig import MS, world

FloatArray = NDArray[np.float64]
Truths = list[tuple[GroundTruth, ImuSample]]

HOLD_NS = 50 * MS
FLIGHT_NS = 2000 * MS
HIGH_M = (0.0, 0.0, 100.0)
ALOFT = Start(position_enu_m=HIGH_M)
IMU = ImuModel(
    name="imu",
    period_ns=HOLD_NS,
    accel_noise=0.0,
    gyro_noise=0.0,
    accel_bias_mps2=0.0,
    gyro_bias_rps=0.0,
    accel_walk=0.0,
    gyro_walk=0.0,
)

SIMULATORS = ("lightweight", "pybullet")
ROBOTS = ("x500", "hexa")
SEEDS = range(4)
WITHIN = {  # three times the worst that was measured, which stands beside it
    "position, m": 0.04,  # 0.0125
    "velocity, m/s": 0.02,  # 0.0067
    "attitude, rad": 0.005,  # 0.0017
    "rate, rad/s": 0.00045,  # 0.00015
    "accelerometer, m/s2": 0.018,  # 0.0058
    "gyroscope, rad/s": 0.00045,  # 0.00015
}
SPIN_WITHIN = {"attitude, rad": 0.07, "rate, rad/s": 0.07}  # 0.023 and 0.024, at 7 rad/s
HALVES = pytest.approx(2.0, abs=0.03)  # 1.98 to 2.01


def flown(simulator: str, airframe: Airframe, seed: int, step_ns: int = MS) -> Truths:
    """Motors anyhow about hover, in gusts, pushed and twisted on the way."""
    adapter, dice = load_adapter(simulator), RandomSource(seed).child("motors")
    wind = Wind((3.0, -2.0, 0.5), gust_mps=1.0)
    setup = VehicleSetup(airframe, (IMU,), ALOFT)
    adapter.connect(world(setup, wind=wind, step_ns=step_ns, seed=seed))
    lift_n = sum(rotor.max_thrust_n for rotor in airframe.rotors)
    hover = float(np.sqrt(airframe.mass_kg * GRAVITY_MPS2 / lift_n))
    truths: Truths = []
    for turn in range(FLIGHT_NS // HOLD_NS):
        each = 0.08 * (dice.uniform(len(airframe.rotors)) - 0.5)
        adapter.send_motors(0, hover + 0.2 * (dice.uniform() - 0.5) + each)
        if turn == 10:
            adapter.disturb(0, (2.0, -3.0, 1.0), (0.02, -0.01, 0.01))
        elif turn == 20:
            adapter.disturb(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        truths.append(_after_a_turn(adapter))
    adapter.disconnect()
    return truths


def spun(simulator: str, step_ns: int) -> Truths:
    """Falling and turning about no axis of its own, with unlike inertias."""
    adapter = load_adapter(simulator)
    setup = VehicleSetup(QUAD, (IMU,), replace(ALOFT, rate_flu_rps=(3.0, -6.0, 2.0)))
    adapter.connect(world(setup, step_ns=step_ns))
    truths = [_after_a_turn(adapter) for _ in range(FLIGHT_NS // HOLD_NS)]
    adapter.disconnect()
    return truths


def _after_a_turn(adapter: SimulatorAdapter) -> tuple[GroundTruth, ImuSample]:
    adapter.step(HOLD_NS)
    (felt,) = (sample for _, sample in adapter.receive_sensors(0) if isinstance(sample, ImuSample))
    return adapter.ground_truth(0), felt


def apart(ours: Truths, theirs: Truths) -> dict[str, float]:
    """The most that the two were ever apart."""
    rows = []
    for (one, felt), (other, sensed) in zip(ours, theirs, strict=True):
        turn = multiply(one.attitude * (1.0, -1.0, -1.0, -1.0), other.attitude)
        rows.append(
            [
                _length(one.position_enu_m - other.position_enu_m),
                _length(one.velocity_enu_mps - other.velocity_enu_mps),
                _length(to_rotation_vector(turn)),
                _length(one.rate_flu_rps - other.rate_flu_rps),
                _length(felt.accel_flu_mps2 - sensed.accel_flu_mps2),
                _length(felt.gyro_flu_rps - sensed.gyro_flu_rps),
            ]
        )
    return dict(zip(WITHIN, np.max(rows, axis=0).tolist(), strict=True))


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(np.sum(vector * vector)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_same_commands_give_the_same_motion(robot: str, seed: int) -> None:
    ours, theirs = (flown(name, shipped(robot), seed) for name in SIMULATORS)
    far_m = _length(ours[-1][0].position_enu_m - HIGH_M)
    assert far_m > 3.0, "it has been somewhere"
    found = apart(ours, theirs)
    assert {name: value for name, value in found.items() if value > WITHIN[name]} == {}
    for (one, _), (other, _) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.rotor_speed_rps, other.rotor_speed_rps)
        np.testing.assert_array_equal(one.wind_enu_mps, other.wind_enu_mps)


@pytest.mark.parametrize("robot", ROBOTS)
def test_what_is_left_between_them_halves_with_the_step(robot: str) -> None:
    coarse, fine, finest = (
        apart(*(flown(name, shipped(robot), 1, step_ns) for name in SIMULATORS))
        for step_ns in (2 * MS, MS, MS // 2)
    )
    assert {name: coarse[name] / fine[name] for name in WITHIN} == dict.fromkeys(WITHIN, HALVES)
    assert {name: fine[name] / finest[name] for name in WITHIN} == dict.fromkeys(WITHIN, HALVES)


def test_a_body_with_unlike_inertias_tumbles_alike() -> None:
    """Where one of them left out the gyroscopic torque, the rate would stay as it is."""
    ours, theirs = (spun(name, MS) for name in SIMULATORS)
    rates = np.array([truth.rate_flu_rps for truth, _ in ours])
    assert np.ptp(rates, axis=0).max() > 10.0
    coarse, fine = apart(ours, theirs), apart(*(spun(name, MS // 2) for name in SIMULATORS))
    for name, limit in SPIN_WITHIN.items():
        assert coarse[name] < limit
        assert coarse[name] / fine[name] == HALVES
    assert fine["velocity, m/s"] < 1e-12
    assert fine["accelerometer, m/s2"] < 1e-9, "who falls feels nothing, however it turns"
