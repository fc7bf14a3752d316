"""Arming, failsafes and the kill: when the autopilot refuses, and when it acts on its own."""

from typing import Any

import numpy as np
import pytest

from ghost.core.rotations import tilt_of
from ghost.hal import (
    Action,
    AttitudeCommand,
    Failsafe,
    FlightMode,
    PositionCommand,
    RejectReason,
    VelocityCommand,
)
from ghost.simulation.adapter import Fault, FaultKind, Start, Wind
from ghost.simulation.backend import Happening
from tests.autopilot.rig import SECOND_NS, Flight

UPRIGHT = 0.1


def befalls(at_s: float, target: str, kind: FaultKind, *values: float) -> Happening:
    return Happening(round(at_s * 1e9), Fault(target, kind, values))


def land_itself(flight: Flight, within_s: int = 60) -> None:
    flight.until(lambda flight: not flight.status.armed, within_s=within_s)
    flight.run(2 * SECOND_NS)
    assert flight.height_m < 0.25
    assert flight.truth.rotor_speed_rps.max() < 1.0


# Arming.


def test_it_does_not_arm_before_it_knows_where_it_is() -> None:
    flight = Flight(settle_ns=500_000_000)
    ack = flight.request(Action.ARM)
    assert (ack.accepted, ack.detail) == (False, "the estimator has not settled")
    assert flight.status.blocked == ack.detail


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"start": Start(charge=0.24)}, "the battery has 24%; 25% is needed"),
        (
            {"happenings": (befalls(0.0, "battery", FaultKind.SILENT),)},
            "the battery was not heard yet",
        ),
        ({"happenings": (befalls(1.9, "imu", FaultKind.SILENT),)}, "the estimate is DEGRADED"),
        (
            {"happenings": (befalls(2.0, "gps", FaultKind.SILENT),), "settle_ns": 5 * SECOND_NS},
            "the estimate is DEGRADED",
        ),
    ],
)
def test_it_says_why_it_does_not_arm(settings: dict[str, Any], reason: str) -> None:
    flight = Flight(**settings)
    ack = flight.request(Action.ARM)
    assert (ack.accepted, ack.detail) == (False, reason)
    assert flight.status.blocked == reason
    assert not flight.status.armed


def test_it_does_not_arm_on_a_slope() -> None:
    legs = [(x, y, -0.2 - 0.5 * (0.15 - y)) for x in (0.15, -0.15) for y in (0.15, -0.15)]
    flight = Flight(legs_flu_m=tuple(legs), settle_ns=5 * SECOND_NS)
    assert tilt_of(flight.truth.attitude) > 0.4
    assert flight.request(Action.ARM).detail == "the vehicle is tilted"


def test_armed_twice_is_armed() -> None:
    flight = Flight()
    flight.do(Action.ARM)
    home = flight.status.home_enu_m
    flight.do(Action.ARM)
    assert flight.status.armed
    np.testing.assert_array_equal(flight.status.home_enu_m, home)


@pytest.mark.parametrize("action", [Action.HOLD, Action.LAND, Action.RETURN, Action.OFFBOARD])
def test_disarmed_it_does_nothing(action: Action) -> None:
    assert Flight().request(action).detail == "disarmed; arm first"


@pytest.mark.parametrize("altitude_m", [0.0, -1.0, float("nan"), 121.0, float("inf")])
def test_it_takes_off_only_to_where_it_may_fly(altitude_m: float) -> None:
    flight = Flight()
    flight.do(Action.ARM)
    ack = flight.request(Action.TAKEOFF, altitude_m=altitude_m)
    assert not ack.accepted
    assert f"altitude is {altitude_m} m; expected above 0, and up to 119.8" in ack.detail


def test_it_disarms_on_the_ground_and_not_in_the_air() -> None:
    flight = Flight()
    flight.do(Action.ARM)
    flight.run(SECOND_NS)
    flight.do(Action.DISARM)
    assert not flight.status.armed
    flight.take_off(2.0)
    ack = flight.request(Action.DISARM)
    assert (ack.accepted, ack.detail) == (False, "in the air; land first, or kill")
    assert flight.status.armed


def test_it_does_not_disarm_after_the_slowest_climb() -> None:
    flight = Flight()
    flight.do(Action.ARM)
    flight.do(Action.OFFBOARD)
    flight.follow(VelocityCommand, (0.0, 0.0, 0.15), 0.0, for_s=8.0)
    assert flight.height_m > 0.7
    assert not flight.request(Action.DISARM).accepted


def test_land_on_the_ground_disarms() -> None:
    flight = Flight()
    flight.do(Action.ARM)
    flight.do(Action.LAND)
    flight.run(SECOND_NS // 10)
    assert not flight.status.armed


# The kill.


def test_a_kill_in_flight_stops_the_motors_and_stays() -> None:
    flight = Flight()
    flight.take_off(3.0)
    flight.do(Action.KILL)
    assert flight.status.killed
    flight.run(SECOND_NS // 2)
    assert flight.motors.max() == 0.0
    assert flight.truth.rotor_speed_rps.max() < 1.0
    assert flight.truth.velocity_enu_mps[2] < -3.0
    ack = flight.send(VelocityCommand, (0.0, 0.0, 1.0), 0.0)
    assert ack.reason is RejectReason.KILLED
    flight.run(3 * SECOND_NS)
    assert flight.request(Action.ARM).detail == "killed; reset first"
    assert flight.request(Action.HOLD).detail == "disarmed; arm first"


def test_a_reset_ends_a_kill() -> None:
    flight = Flight()
    flight.do(Action.KILL)
    autopilot, gate = flight.backend.flight_controller.autopilot, flight.backend.actuators
    autopilot.reset_kill()
    gate.reset()
    flight.run(SECOND_NS // 10)
    assert not gate.killed
    flight.take_off(2.0)


# Failsafes.


def test_lost_commands_bring_it_home() -> None:
    flight = Flight()
    flight.take_off(3.0)
    flight.do(Action.OFFBOARD)
    flight.follow(PositionCommand, (8.0, 0.0, 3.0), 0.0, for_s=5.0)
    flight.run(480_000_000)
    patient = flight.status
    assert patient.failsafe is Failsafe.NONE
    flight.run(60_000_000)
    assert flight.status.failsafe is Failsafe.COMMAND_LOSS
    assert flight.status.mode is FlightMode.RETURN
    ack = flight.send(PositionCommand, (8.0, 0.0, 3.0), 0.0)
    assert ack.reason is RejectReason.WRONG_MODE
    land_itself(flight)
    assert np.linalg.norm(flight.place_m[:2]) < 1.0
    flight.do(Action.ARM)
    anew = flight.status
    assert anew.failsafe is Failsafe.NONE


def test_a_gps_that_jumped_for_good_is_not_flown_after() -> None:
    flight = Flight(happenings=(befalls(7.0, "gps", FaultKind.OFFSET, 30.0),))
    flight.take_off(6.0)
    landed_m = flight.place_m
    flight.until(lambda flight: flight.status.failsafe is not Failsafe.NONE, within_s=10)
    assert flight.status.failsafe is Failsafe.ESTIMATE_DEGRADED
    flight.until(lambda flight: flight.state.position_enu_m[0] > 20.0, within_s=10)
    land_itself(flight)
    assert np.linalg.norm((flight.place_m - landed_m)[:2]) < 2.0


def test_an_imu_that_is_stuck_is_none() -> None:
    flight = Flight()
    flight.take_off(2.0)
    flight.backend._adapter.inject(0, Fault("imu", FaultKind.FROZEN))
    flight.run(SECOND_NS // 10)
    assert flight.status.failsafe is Failsafe.ESTIMATE_DEGRADED
    flight.run(SECOND_NS)
    assert not flight.status.armed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_lands_softly_on_a_rangefinder_that_is_stuck(seed: int) -> None:
    flight = Flight(seed=seed)
    flight.take_off(2.0)
    flight.backend._adapter.inject(0, Fault("rangefinder", FaultKind.FROZEN))
    flight.run(2 * SECOND_NS)
    flight.do(Action.LAND)
    fastest_mps = 0.0
    while flight.status.armed:
        flight.run(SECOND_NS // 50)
        fastest_mps = max(fastest_mps, -float(flight.truth.velocity_enu_mps[2]))
        assert flight.status.failsafe is Failsafe.NONE
    assert fastest_mps < 0.9
    assert flight.height_m < 0.25


@pytest.mark.parametrize("action", [Action.HOLD, Action.TAKEOFF, Action.LAND, Action.RETURN])
def test_a_pilot_takes_over_from_lost_commands(action: Action) -> None:
    flight = Flight()
    flight.take_off(3.0)
    flight.do(Action.OFFBOARD)
    flight.follow(PositionCommand, (3.0, 0.0, 3.0), 0.0, for_s=3.0)
    flight.run(SECOND_NS)
    lost = flight.status
    assert (lost.failsafe, lost.mode) == (Failsafe.COMMAND_LOSS, FlightMode.RETURN)
    flight.do(action, altitude_m=5.0)
    flight.run(SECOND_NS)
    taken = flight.status
    assert (taken.failsafe, taken.mode) == (Failsafe.NONE, FlightMode[action.name])


def test_offboard_after_lost_commands_lasts_as_long_as_its_commands() -> None:
    flight = Flight()
    flight.take_off(3.0)
    flight.do(Action.OFFBOARD)
    flight.run(SECOND_NS)
    flight.do(Action.OFFBOARD)
    flight.follow(PositionCommand, (0.0, 0.0, 3.0), 0.0, for_s=1.0)
    resumed = flight.status
    assert (resumed.failsafe, resumed.mode) == (Failsafe.NONE, FlightMode.OFFBOARD)
    flight.run(SECOND_NS)
    assert flight.status.failsafe is Failsafe.COMMAND_LOSS


def test_a_pilot_may_take_over_from_a_failsafe() -> None:
    flight = Flight(happenings=(befalls(7.0, "battery", FaultKind.CHARGE, 0.15),))
    flight.take_off(3.0)
    flight.until(lambda flight: flight.status.failsafe is Failsafe.LOW_BATTERY, within_s=5)
    assert not flight.request(Action.HOLD).accepted
    flight.do(Action.MANUAL)
    flight.run(SECOND_NS)
    assert flight.status.mode is FlightMode.MANUAL
    flight.do(Action.LAND)
    land_itself(flight)


@pytest.mark.parametrize(
    ("charge", "failsafe", "mode"),
    [
        (0.19, Failsafe.LOW_BATTERY, FlightMode.RETURN),
        (0.07, Failsafe.CRITICAL_BATTERY, FlightMode.LAND),
    ],
)
def test_an_emptying_battery_brings_it_down(
    charge: float, failsafe: Failsafe, mode: FlightMode
) -> None:
    flight = Flight(happenings=(befalls(12.0, "battery", FaultKind.CHARGE, charge),))
    flight.take_off(4.0)
    flight.do(Action.OFFBOARD)
    flight.follow(PositionCommand, (6.0, 0.0, 4.0), 0.0, for_s=5.0)
    while flight.status.failsafe is Failsafe.NONE:
        assert flight.now_ns < 13 * SECOND_NS
        flight.follow(PositionCommand, (6.0, 0.0, 4.0), 0.0, for_s=0.02)
    assert (flight.status.failsafe, flight.status.mode) == (failsafe, mode)
    land_itself(flight)
    home_m = np.linalg.norm(flight.place_m[:2])
    assert home_m < 1.0 if mode is FlightMode.RETURN else home_m > 5.0


def test_a_graver_failsafe_takes_over_and_a_lesser_does_not() -> None:
    flight = Flight(
        happenings=(
            befalls(8.0, "battery", FaultKind.CHARGE, 0.15),
            befalls(10.0, "battery", FaultKind.CHARGE, 0.05),
            befalls(11.0, "battery", FaultKind.CHARGE, 0.9),
        )
    )
    flight.take_off(6.0)
    flight.until(lambda flight: flight.status.failsafe is Failsafe.LOW_BATTERY, within_s=5)
    flight.until(lambda flight: flight.status.failsafe is Failsafe.CRITICAL_BATTERY, within_s=5)
    assert flight.status.mode is FlightMode.LAND
    land_itself(flight)
    assert flight.status.failsafe is Failsafe.CRITICAL_BATTERY


@pytest.mark.parametrize(("seed", "wind_mps"), [(0, 0.0), (3, 0.0), (0, 2.0), (6, 4.0)])
def test_without_gps_it_lands_upright(seed: int, wind_mps: float) -> None:
    """With seeds that drift so much that it tipped over while it still fought the ground."""
    flight = Flight(
        seed=seed,
        wind=Wind((wind_mps, 0.0, 0.0)),
        happenings=(befalls(6.0, "gps", FaultKind.SILENT),),
    )
    flight.do(Action.ARM)
    flight.do(Action.TAKEOFF, altitude_m=12.0)
    flight.until(lambda flight: flight.status.failsafe is not Failsafe.NONE, within_s=10)
    assert flight.status.failsafe is Failsafe.ESTIMATE_DEGRADED
    assert flight.status.mode is FlightMode.LAND
    land_itself(flight, within_s=25)
    assert tilt_of(flight.truth.attitude) < UPRIGHT


def test_an_estimate_lost_on_high_brings_it_down_level_and_stops_the_motors() -> None:
    flight = Flight(happenings=(befalls(30.0, "gps", FaultKind.SILENT),))
    flight.do(Action.ARM)
    flight.do(Action.TAKEOFF, altitude_m=50.0)
    flight.until(lambda flight: flight.status.failsafe is Failsafe.ESTIMATE_LOST, within_s=70)
    assert flight.height_m > 3.0
    assert not flight.request(Action.RETURN).accepted
    flight.run(SECOND_NS)  # to come level from wherever its lost estimate had it lean
    while flight.status.armed:
        assert flight.now_ns < 100 * SECOND_NS
        flight.run(SECOND_NS // 5)
        assert tilt_of(flight.truth.attitude) < UPRIGHT
        assert flight.truth.velocity_enu_mps[2] > -5.0
    land_itself(flight)


def test_without_an_imu_the_motors_stop() -> None:
    flight = Flight(happenings=(befalls(8.0, "imu", FaultKind.SILENT),))
    flight.take_off(8.0)
    flight.until(lambda flight: flight.status.failsafe is Failsafe.ESTIMATE_LOST, within_s=5)
    flight.until(lambda flight: not flight.status.armed, within_s=2)
    assert flight.now_ns >= 9 * SECOND_NS, "not at the first missing sample"
    assert not flight.status.on_ground, "it knows no such thing"
    flight.run(3 * SECOND_NS)
    assert flight.height_m < 0.3
    assert flight.motors.max() == 0.0
    assert "estimate is LOST" in flight.request(Action.ARM).detail


def test_blown_over_the_fence_it_comes_back() -> None:
    fence = ((-20.0, -20.0), (8.0, -20.0), (8.0, 20.0), (-20.0, 20.0))
    flight = Flight(
        geofence_enu_m=fence, happenings=(Happening(9 * SECOND_NS, Wind((14.0, 0.0, 0.0))),)
    )
    flight.take_off(3.0)
    flight.do(Action.MANUAL)
    thrust = float(np.mean(flight.motors**2))
    while flight.place_m[0] < 10.5:  # a pilot who looks elsewhere
        assert flight.now_ns < 40 * SECOND_NS
        flight.send(AttitudeCommand, (1.0, 0.0, 0.0, 0.0), 1.01 * thrust)
        flight.run(20_000_000)
    flown_out = flight.status
    assert flown_out.failsafe is Failsafe.NONE, "the pilot's business"
    flight.do(Action.HOLD)
    flight.run(SECOND_NS)
    assert flight.status.failsafe is Failsafe.GEOFENCE
    assert flight.status.mode is FlightMode.RETURN
    flight.backend._adapter.set_wind(Wind())
    land_itself(flight)
    assert np.linalg.norm(flight.place_m[:2]) < 1.0


def test_pushed_over_the_ceiling_it_comes_back() -> None:
    flight = Flight(max_altitude_m=5.0)
    flight.take_off(4.5)
    flight.backend.disturb((0.0, 0.0, 16.0), (0.0, 0.0, 0.0))
    flight.until(lambda flight: flight.status.failsafe is Failsafe.GEOFENCE, within_s=10)
    assert flight.height_m > 6.5
    flight.backend.disturb((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    land_itself(flight)


@pytest.mark.parametrize("action", [Action.TAKEOFF, Action.OFFBOARD, Action.HOLD])
def test_a_failsafe_on_the_ground_keeps_it_there(action: Action) -> None:
    """What was about to begin must not, or it would fly with a failsafe that nobody acts on."""
    flight = Flight()
    flight.do(Action.ARM)
    flight.backend._adapter.inject(0, Fault("battery", FaultKind.CHARGE, (0.15,)))
    flight.do(action, altitude_m=3.0)
    flight.run(4 * SECOND_NS)
    assert flight.height_m < 0.25
    assert not flight.status.armed
    assert flight.status.failsafe is Failsafe.LOW_BATTERY


def test_offboard_without_commands_does_not_stay_armed_on_the_ground() -> None:
    flight = Flight()
    flight.do(Action.ARM)
    flight.do(Action.OFFBOARD)
    flight.run(SECOND_NS)
    assert not flight.status.armed
    assert flight.status.failsafe is Failsafe.COMMAND_LOSS
