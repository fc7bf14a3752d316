"""The figures of a flight, on a bus whose every message is known."""

import math
from typing import Any

import numpy as np
import pytest

from ghost.core.clock import SimClock
from ghost.deploy.statistics import FlightStatistics
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import (
    AckStatus,
    BatterySample,
    CommandAck,
    ControlState,
    EstimateHealth,
    Failsafe,
    FlightMode,
    GroundTruth,
    Health,
    RejectReason,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import BATTERY, CMD_ACK, CONTROL, GROUNDTRUTH_STATE, STATUS, VEHICLE

STEP_NS = 20_000_000
SECOND_NS = 1_000_000_000
ZERO = np.zeros(3)
HOME_M = np.array([3.0, 4.0, 100.0])
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class Flown:
    """Publishes in the order of a session: status, estimate, set-point, then the truth."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.statistics = FlightStatistics(self.bus)

    def status(
        self,
        mode: FlightMode = FlightMode.OFFBOARD,
        *,
        armed: bool = True,
        on_ground: bool = False,
        health: Health = Health.OK,
    ) -> None:
        now_ns = self.clock.now_ns()
        status = VehicleStatus(
            now_ns,
            0,
            mode,
            armed,
            killed=False,
            on_ground=on_ground,
            failsafe=Failsafe.NONE,
            blocked="",
            home_enu_m=HOME_M,
            health=health,
        )
        self.bus.publish(STATUS, status)

    def at(self, *place_m: float, speed_mps: float = 0.0) -> None:
        now_ns = self.clock.now_ns()
        velocity = np.array([speed_mps, 0.0, 0.0])
        truth = GroundTruth(
            now_ns, np.array(place_m), velocity, LEVEL, ZERO, ZERO, ZERO, np.zeros(4)
        )
        self.bus.publish(GROUNDTRUTH_STATE, truth)
        self.clock.advance(STEP_NS)

    def believe(
        self, *place_m: float, verdict: EstimateHealth = EstimateHealth.GOOD, took_ns: int = 0
    ) -> None:
        square = np.eye(3)
        state = VehicleState(
            *(self.clock.now_ns(), 0, np.array(place_m), ZERO, LEVEL, ZERO, ZERO, ZERO, ZERO),
            *(square, square, square, verdict),
        )
        self.bus.publish(VEHICLE, state)
        self.clock.advance(took_ns)

    def tell(self, *place_m: float, accepted: bool = True) -> None:
        now_ns = self.clock.now_ns()
        command = TrajectoryCommand(now_ns, 0, np.array(place_m), ZERO, ZERO, 0.0)
        status = AckStatus.ACCEPTED if accepted else AckStatus.REJECTED
        reason = RejectReason.NONE if accepted else RejectReason.GEOFENCE
        applied = command if accepted else None
        self.bus.publish(CMD_ACK, CommandAck(now_ns, now_ns, 0, status, reason, "", applied))

    def want(self, *place_m: float) -> None:
        control = ControlState(
            self.clock.now_ns(), 0, np.array(place_m), ZERO, LEVEL, ZERO, 0.5, np.zeros(4)
        )
        self.bus.publish(CONTROL, control)

    def event(self, severity: Severity) -> None:
        self.bus.publish(EVENTS, Event(self.clock.now_ns(), severity, "BEAT", "test"))

    def summary(self) -> Any:
        return self.statistics.summary()


@pytest.fixture
def flown() -> Flown:
    return Flown()


def test_nothing_heard_is_a_flight_of_nothing(flown: Flown) -> None:
    summary = flown.summary()
    assert (summary.flown_ns, summary.path_m, summary.highest_m) == (0, 0.0, 0.0)
    assert (summary.tracked_by, summary.estimate_rms_m) == ("", None)
    assert math.isnan(summary.tracking_rms_m)
    assert (summary.was_airborne, summary.landing, summary.alarm) == (False, "", "")


def test_path_time_height_and_speed_count_in_the_air_alone(flown: Flown) -> None:
    flown.status(armed=False, on_ground=True)
    flown.at(0.0, 0.0, 0.0)
    flown.at(9.0, 0.0, 0.0, speed_mps=99.0)  # carried
    flown.status(on_ground=True)
    flown.at(10.0, 0.0, 1.0)
    flown.at(11.0, 0.0, 1.0, speed_mps=50.0)  # taxied
    flown.status()
    flown.at(11.0, 3.0, 5.0, speed_mps=4.0)
    flown.at(11.0, 3.0, 3.0, speed_mps=2.0)
    flown.status(armed=False, on_ground=True)
    flown.at(50.0, 3.0, 90.0, speed_mps=99.0)
    summary = flown.summary()
    assert summary.path_m == pytest.approx(5.0 + 2.0)
    assert summary.flown_ns == 2 * STEP_NS
    assert summary.highest_m == 4.0  # above where it was armed
    assert summary.fastest_mps == 4.0


def test_tracking_is_the_truth_against_set_points_of_offboard_at_the_same_time(
    flown: Flown,
) -> None:
    flown.status(FlightMode.TAKEOFF)
    flown.tell(0.0, 0.0, 0.0)
    flown.want(100.0, 0.0, 0.0)
    flown.at(0.0, 0.0, 0.0)
    flown.status()
    for off_m in (3.0, 4.0):
        flown.want(off_m, 0.0, 0.0)
        flown.at(0.0, 0.0, 0.0)
    flown.at(77.0, 0.0, 0.0)  # no set-point of this time
    flown.want(math.nan, 0.0, 0.0)  # a velocity is wanted, no place
    flown.at(0.0, 0.0, 0.0)
    summary = flown.summary()
    assert summary.tracking_rms_m == pytest.approx(math.sqrt((9.0 + 16.0) / 2))
    assert (summary.tracking_max_m, summary.tracked_by) == (4.0, "truth")


def test_the_estimate_is_judged_in_any_mode_while_armed(flown: Flown) -> None:
    flown.status(armed=False)
    flown.believe(50.0, 0.0, 0.0)
    flown.at(0.0, 0.0, 0.0)
    flown.status(FlightMode.LAND)
    flown.believe(1.0, 2.0, 2.0)
    flown.at(0.0, 0.0, 0.0)
    flown.at(9.0, 9.0, 9.0)  # no estimate of this time
    flown.believe(0.0, 0.0, 0.0)
    flown.at(0.0, 0.0, 0.0)
    summary = flown.summary()
    assert summary.estimate_rms_m == pytest.approx(math.sqrt(9.0 / 2))
    assert summary.estimate_max_m == 3.0


def test_landing_is_from_where_it_was_armed_to_where_it_was_disarmed(flown: Flown) -> None:
    flown.status(on_ground=True)
    flown.at(1.0, 1.0, 0.2)
    flown.status()
    flown.at(4.0, 5.0, 7.0)  # the height doesn't count
    flown.status(on_ground=True)
    assert flown.summary().landing_error_m is None
    flown.status(armed=False, on_ground=True)
    assert flown.summary().landing_error_m == 5.0
    flown.at(90.0, 90.0, 0.0)
    assert flown.summary().landing == "5.00 m from where it took off"


def test_tracking_without_the_truth_is_by_the_estimate_against_what_was_accepted(
    flown: Flown,
) -> None:
    flown.status()
    flown.believe(50.0, 0.0, 0.0)  # nothing was told yet
    flown.tell(1.0, 0.0, 0.0)
    flown.believe(0.0, 0.0, 0.0)
    flown.tell(77.0, 0.0, 0.0, accepted=False)
    flown.believe(0.0, 0.0, 0.0)
    summary = flown.summary()
    assert (summary.tracking_max_m, summary.tracked_by) == (1.0, "estimate")


def test_tracking_ends_when_set_points_are_over_half_a_second_old(flown: Flown) -> None:
    flown.status()
    flown.tell(1.0, 0.0, 0.0)
    flown.believe(0.0, 0.0, 0.0, took_ns=SECOND_NS // 2)
    flown.believe(-1.0, 0.0, 0.0, took_ns=STEP_NS)
    flown.believe(50.0, 0.0, 0.0)
    assert flown.summary().tracking_max_m == 2.0


@pytest.mark.parametrize("is_told", [True, False])
def test_tracking_ends_when_the_flight_controller_is_silent(flown: Flown, is_told: bool) -> None:
    """The mission goes on to stream for a while, to nobody."""
    flown.status()
    flown.tell(1.0, 0.0, 0.0)
    flown.believe(0.0, 0.0, 0.0, took_ns=STEP_NS if is_told else 2 * SECOND_NS + 1)
    if is_told:
        flown.status(health=Health.OFFLINE)
    flown.tell(30.0, 0.0, 0.0)
    flown.believe(0.0, 0.0, 0.0)
    assert flown.summary().tracking_max_m == 1.0


def test_an_estimate_that_is_lost_neither_flies_nor_tracks(flown: Flown) -> None:
    """A backend repeats the last state so while it hears nothing."""
    flown.status()
    flown.tell(1.0, 0.0, 0.0)
    flown.believe(0.0, 0.0, 0.0, took_ns=STEP_NS)
    for _ in range(200):
        flown.tell(9.0, 0.0, 0.0)
        flown.believe(0.0, 0.0, 0.0, verdict=EstimateHealth.LOST, took_ns=STEP_NS)
    flown.believe(60.0, 0.0, 0.0)  # where it flew to unseen
    summary = flown.summary()
    assert (summary.flown_ns, summary.path_m, summary.tracking_max_m) == (0, 0.0, 1.0)


def test_armed_on_the_ground_is_no_flight(flown: Flown) -> None:
    flown.status(armed=False, on_ground=True)
    flown.at(0.0, 0.0, 0.0)
    for _ in range(3):
        flown.status(FlightMode.TAKEOFF, on_ground=True)
        flown.at(0.0, 0.0, 0.0)
    flown.status(armed=False, on_ground=True)
    summary = flown.summary()
    assert (summary.was_airborne, summary.flown_ns, summary.landing) == (False, 0, "")


def test_a_landing_that_nobody_saw_is_none(flown: Flown) -> None:
    flown.status(armed=False, on_ground=True)
    flown.status()
    flown.at(0.0, 0.0, 0.0)
    flown.status(FlightMode.HOLD)
    assert flown.summary().landing == "not seen: it was in the air, mode HOLD, armed"
    flown.status(FlightMode.LAND, on_ground=True)
    assert flown.summary().landing == "not seen: it was on the ground, mode LAND, armed"


def test_disarmed_in_the_air_it_has_not_landed_before_it_is_on_the_ground(flown: Flown) -> None:
    flown.status(on_ground=True)
    flown.at(0.0, 0.0, 0.0)
    flown.status()
    flown.at(0.0, 0.0, 9.0)
    flown.status(armed=False)
    assert flown.summary().landing == "not seen: it was in the air, mode OFFBOARD, disarmed"
    flown.at(2.0, 0.0, 0.0)
    flown.status(armed=False, on_ground=True)
    assert flown.summary().landing == "2.00 m from where it took off"


@pytest.mark.parametrize(
    ("silent_ns", "landing"),
    [(2 * SECOND_NS, "0.00 m from where it took off"), (2 * SECOND_NS + 1, "not seen")],
)
def test_a_flight_controller_that_was_restarted_has_not_landed(
    flown: Flown, silent_ns: int, landing: str
) -> None:
    flown.status(on_ground=True)
    flown.at(0.0, 0.0, 0.0)
    flown.status()
    flown.clock.advance(silent_ns // 2)
    flown.status(health=Health.OFFLINE)  # the silence is told once, and is no word of its own
    flown.clock.advance(silent_ns - silent_ns // 2)
    flown.status(armed=False)
    flown.status(armed=False, on_ground=True)
    assert flown.summary().landing == landing


def test_heights_are_from_where_it_was_armed(flown: Flown) -> None:
    flown.status(armed=False, on_ground=True)
    flown.at(0.0, 0.0, 7.0)
    flown.status(on_ground=True)
    flown.at(0.0, 0.0, 8.0)
    flown.status()
    flown.at(0.0, 0.0, 10.0)
    assert flown.summary().highest_m == 2.0


def test_in_the_air_from_the_start_heights_are_from_the_status_home(flown: Flown) -> None:
    flown.status()
    flown.at(3.0, 4.0, 112.0)
    assert flown.summary().highest_m == 12.0
    flown.status(on_ground=True)
    flown.at(3.0, 5.0, 100.0)
    flown.status(armed=False, on_ground=True)
    assert flown.summary().landing == "1.00 m from home"


@pytest.mark.parametrize(
    ("state", "alarm"),
    [
        ({}, "STILL ARMED AND IN THE AIR, mode HOLD"),
        ({"on_ground": True}, "STILL ARMED, on the ground"),
        ({"armed": False}, ""),
        (
            {"health": Health.OFFLINE},
            "STILL ARMED AND IN THE AIR, mode HOLD, when it was last heard",
        ),
    ],
)
def test_a_vehicle_that_was_left_armed_is_told_of(
    flown: Flown, state: dict[str, Any], alarm: str
) -> None:
    flown.status(FlightMode.HOLD, **state)
    assert flown.summary().alarm == alarm


def test_events_are_counted_by_weight_and_kept_until_they_are_taken(flown: Flown) -> None:
    for severity in Severity:
        flown.event(severity)
    summary = flown.summary()
    assert (summary.events, summary.warnings) == (5, 3)
    assert [event.severity for event in flown.statistics.news] == list(Severity)[1:]  # no DEBUG


def test_the_charge_is_the_newest(flown: Flown) -> None:
    assert flown.statistics.charge is None
    for remaining in (0.9, 0.8):
        flown.bus.publish(BATTERY, BatterySample(flown.clock.now_ns(), 0, 16.0, 10.0, remaining))
    assert flown.statistics.charge == 0.8
