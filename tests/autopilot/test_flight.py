"""What the autopilot flies, on the lightweight simulator and through the HAL."""

from typing import Any

import numpy as np
import pytest

from ghost.core.rotations import from_euler_zyx, from_yaw, tilt_of, yaw_of
from ghost.hal import (
    Action,
    AttitudeCommand,
    BodyRateCommand,
    FlightMode,
    MotorCommand,
    PositionCommand,
    RejectReason,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.simulation.adapter import Fault, FaultKind, Start, Wind
from ghost.simulation.backend import Happening
from tests.autopilot.rig import SECOND_NS, Flight

ROBOTS = ("x500", "hexa", "crazyflie")


@pytest.mark.parametrize("robot", ROBOTS)
def test_it_takes_off_holds_and_lands(robot: str) -> None:
    flight = Flight(robot)
    ground_m = flight.height_m
    flight.take_off(4.0)
    assert flight.height_m - ground_m == pytest.approx(4.0, abs=0.3)
    flight.run(2 * SECOND_NS)
    assert flight.height_m - ground_m == pytest.approx(4.0, abs=0.3)
    places = []
    for _ in range(20):
        flight.run(SECOND_NS // 2)
        places.append(flight.place_m)
    assert np.ptp(places, axis=0).max() < 0.6, "it holds as well as its GPS"
    flight.do(Action.LAND)
    assert flight.status.mode is FlightMode.LAND
    flight.until(lambda flight: flight.status.on_ground, within_s=15)
    assert not flight.status.armed
    assert flight.motors.max() == 0.0
    assert flight.backend._adapter._flight.physics.touch[0, 1] < 1.2  # type: ignore[attr-defined]
    flight.run(SECOND_NS)
    assert flight.height_m == pytest.approx(ground_m, abs=1e-3)
    assert flight.request(Action.ARM).accepted, "and it can go again"


def test_it_stays_where_it_is_in_gusts() -> None:
    flight = Flight(wind=Wind((4.0, 3.0, 0.0), 1.0))
    flight.take_off(5.0)
    flight.run(3 * SECOND_NS)
    before = flight.place_m
    flight.run(8 * SECOND_NS)
    assert np.linalg.norm(flight.place_m - before) < 1.0


def test_a_hold_asked_for_at_speed_stops_first() -> None:
    flight = Flight()
    flight.take_off(5.0)
    flight.do(Action.OFFBOARD)
    flight.follow(VelocityCommand, (6.0, 0.0, 0.0), 0.0, for_s=4.0)
    assert flight.truth.velocity_enu_mps[0] > 4.0
    flight.do(Action.HOLD)
    east_m = []
    for _ in range(80):
        flight.run(SECOND_NS // 10)
        east_m.append(float(flight.place_m[0]))
    assert np.linalg.norm(flight.truth.velocity_enu_mps) < 0.3
    assert max(east_m) - east_m[-1] < 1.0, "it doesn't come back far"


@pytest.mark.parametrize("away_m", [(0.5, 0.0), (12.0, -9.0)])
def test_return_lands_at_home(away_m: tuple[float, float]) -> None:
    flight = Flight(start=Start(position_enu_m=(3.0, 4.0, 0.195)))
    home = flight.place_m
    flight.take_off(3.0)
    flight.do(Action.OFFBOARD)
    goal = flight.state.position_enu_m + np.array((*away_m, 0.0))
    flight.follow(PositionCommand, goal, 0.0, for_s=7.0)
    flight.do(Action.RETURN)
    heights_m = []
    while flight.status.armed:
        assert flight.now_ns < 60 * SECOND_NS
        flight.run(SECOND_NS // 10)
        heights_m.append(flight.height_m)
    assert np.linalg.norm(flight.place_m[:2] - home[:2]) < 1.0
    is_far = np.linalg.norm(away_m) > 1.0
    assert max(heights_m) == pytest.approx(10.2 if is_far else 3.2, abs=0.7)


def test_take_off_in_the_air_goes_to_the_height_it_names() -> None:
    flight = Flight()
    flight.take_off(6.0)
    flight.do(Action.TAKEOFF, altitude_m=3.0)
    flight.until(lambda flight: flight.status.mode is FlightMode.HOLD, within_s=10)
    assert flight.height_m - 0.195 == pytest.approx(3.0, abs=0.3)


# Off-board, at every level.


def offboard() -> Flight:
    flight = Flight()
    flight.take_off(4.0)
    flight.do(Action.OFFBOARD)
    return flight


def hover_thrust(flight: Flight) -> float:
    """What keeps this vehicle up, sag of the battery included."""
    return float(np.mean(flight.motors**2)) * 0.98


def test_offboard_waits_where_it_is() -> None:
    flight = offboard()
    before = flight.place_m
    flight.run(SECOND_NS // 4)
    assert flight.status.mode is FlightMode.OFFBOARD
    assert np.linalg.norm(flight.place_m - before) < 0.3


def test_offboard_goes_to_a_position_and_turns() -> None:
    flight = offboard()
    flight.follow(PositionCommand, (3.0, -2.0, 5.0), 1.5, for_s=7.0)
    np.testing.assert_allclose(flight.state.position_enu_m, (3.0, -2.0, 5.0), rtol=0, atol=0.3)
    np.testing.assert_allclose(flight.place_m, (3.0, -2.0, 5.0), rtol=0, atol=0.8)
    assert yaw_of(flight.truth.attitude) == pytest.approx(1.5, abs=0.1)


def test_offboard_flies_a_velocity() -> None:
    flight = offboard()
    flight.follow(VelocityCommand, (2.0, -1.0, 0.5), 0.0, for_s=4.0)
    np.testing.assert_allclose(flight.truth.velocity_enu_mps, (2.0, -1.0, 0.5), rtol=0, atol=0.3)


@pytest.mark.parametrize("yaw_rad", [1.57, 3.1, -2.5])
def test_a_heading_far_off_is_turned_to_without_leaning(yaw_rad: float) -> None:
    flight = offboard()
    before_m, leaned_rad = flight.height_m, 0.0
    for _ in range(40):
        flight.follow(VelocityCommand, (0.0, 0.0, 0.0), yaw_rad, for_s=0.1)
        leaned_rad = max(leaned_rad, tilt_of(flight.truth.attitude))
    assert yaw_of(flight.truth.attitude) == pytest.approx(yaw_rad, abs=0.1)
    assert leaned_rad < 0.1
    assert flight.height_m == pytest.approx(before_m, abs=0.3)


def test_offboard_follows_a_trajectory() -> None:
    flight = offboard()
    start, begun_ns = flight.state.position_enu_m.copy(), flight.now_ns
    for _ in range(200):
        t_s = (flight.now_ns - begun_ns) / 1e9
        there = (
            start + np.array((0.25 * t_s * t_s, 0.0, 0.0)),
            (0.5 * t_s, 0.0, 0.0),
            (0.5, 0.0, 0.0),
        )
        assert flight.send(TrajectoryCommand, *there, 0.0).accepted
        flight.run(20_000_000)
    assert flight.state.position_enu_m[0] - start[0] == pytest.approx(4.0, abs=0.3)
    assert flight.truth.velocity_enu_mps[0] == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize(
    ("roll_rad", "pitch_rad", "axis", "sign"),
    [(0.2, 0.0, 1, -1.0), (-0.2, 0.0, 1, 1.0), (0.0, 0.2, 0, 1.0), (0.0, -0.2, 0, -1.0)],
)
def test_offboard_takes_an_attitude(
    roll_rad: float, pitch_rad: float, axis: int, sign: float
) -> None:
    flight = offboard()
    thrust = hover_thrust(flight)
    flight.follow(AttitudeCommand, from_euler_zyx(roll_rad, pitch_rad, 0.0), thrust, for_s=1.0)
    assert tilt_of(flight.truth.attitude) == pytest.approx(0.2, abs=0.05)
    assert sign * flight.truth.velocity_enu_mps[axis] > 0.8


def test_offboard_takes_body_rates() -> None:
    flight = offboard()
    thrust = hover_thrust(flight)
    flight.follow(BodyRateCommand, (0.0, 0.0, 1.0), thrust, for_s=1.0)
    assert flight.truth.rate_flu_rps[2] == pytest.approx(1.0, abs=0.1)
    flight.follow(BodyRateCommand, (0.8, 0.0, 0.0), thrust, for_s=0.3)
    assert flight.truth.rate_flu_rps[0] == pytest.approx(0.8, abs=0.15)


def test_offboard_takes_motors() -> None:
    flight = offboard()
    level = float(flight.motors.mean())
    flight.follow(MotorCommand, [level] * 4, for_s=0.3)
    np.testing.assert_array_equal(flight.motors, level)
    assert abs(flight.truth.velocity_enu_mps[2]) < 0.5
    flight.follow(MotorCommand, [1.0] * 4, for_s=0.3)
    assert flight.truth.velocity_enu_mps[2] > 1.0


@pytest.mark.parametrize(
    ("kind", "values", "is_taken"),
    [
        (MotorCommand, ([0.75] * 4,), True),
        (BodyRateCommand, ((0.0, 0.0, 0.0), 0.6), True),
        (AttitudeCommand, (from_yaw(0.0), 0.6), True),
        (VelocityCommand, ((0.0, 0.0, 0.0), 0.0), False),
        (PositionCommand, ((0.0, 0.0, 4.0), 0.0), False),
        (TrajectoryCommand, ((0.0, 0.0, 4.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0), False),
    ],
)
def test_manual_takes_what_needs_no_position(
    kind: Any, values: tuple[Any, ...], is_taken: bool
) -> None:
    flight = Flight()
    flight.take_off()
    flight.do(Action.MANUAL)
    ack = flight.send(kind, *values)
    assert ack.accepted is is_taken
    if not is_taken:
        assert ack.reason is RejectReason.WRONG_MODE
        assert "needs OFFBOARD, not MANUAL" in ack.detail


def test_other_modes_take_no_set_points() -> None:
    flight = Flight()
    flight.take_off()
    ack = flight.send(PositionCommand, (0.0, 0.0, 4.0), 0.0)
    assert ack.reason is RejectReason.WRONG_MODE
    assert "request OFFBOARD or MANUAL first" in ack.detail


def test_manual_lands_when_the_throttle_is_shut() -> None:
    flight = Flight()
    flight.take_off(2.0)
    flight.do(Action.MANUAL)
    thrust = hover_thrust(flight)
    while flight.status.armed:
        assert flight.now_ns < 20 * SECOND_NS
        low = 0.3 if flight.height_m < 0.25 else 0.93
        flight.send(AttitudeCommand, from_yaw(0.0), low * thrust)
        flight.run(20_000_000)
    assert flight.height_m < 0.3


def test_it_flies_on_with_a_weak_motor() -> None:
    weak = Happening(6 * SECOND_NS, Fault("motor/1", FaultKind.STRENGTH, (0.75,)))
    flight = Flight(happenings=(weak,))
    flight.take_off(4.0)
    flight.until(lambda flight: flight.now_ns >= 12 * SECOND_NS, within_s=20)
    assert flight.height_m - 0.195 == pytest.approx(4.0, abs=0.4)
    assert tilt_of(flight.truth.attitude) < 0.05
    assert flight.motors[1] > flight.motors[0] + 0.03
    flight.do(Action.RETURN)
    flight.until(lambda flight: not flight.status.armed, within_s=30)
    assert tilt_of(flight.truth.attitude) < 0.05


def test_what_the_loops_are_told_is_told() -> None:
    flight = offboard()
    autopilot = flight.backend.flight_controller.autopilot
    flight.follow(VelocityCommand, (1.0, 0.0, 0.0), 0.0, for_s=0.5)
    control = autopilot.control()
    assert np.isnan(control.position_enu_m).all(), "no loop for it is running"
    np.testing.assert_array_equal(control.velocity_enu_mps, (1.0, 0.0, 0.0))
    assert 0.0 < control.thrust < 1.0
    flight.follow(MotorCommand, [0.7] * 4, for_s=0.1)
    control = autopilot.control()
    assert np.isnan(control.rate_flu_rps).all()
    assert np.isnan(control.thrust)
    np.testing.assert_array_equal(control.motors, 0.7)
