"""The figures of a flight, on a bus whose every message is known."""

import math
from typing import Any

import numpy as np
import pytest

from ghost.core.clock import SimClock
from ghost.deploy.statistics import FlightStatistics
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import (
    BatterySample,
    ControlState,
    EstimateHealth,
    Failsafe,
    FlightMode,
    GroundTruth,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import BATTERY, CONTROL, GROUNDTRUTH_STATE, STATUS, VEHICLE

STEP_NS = 20_000_000
ZERO = np.zeros(3)
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class Flown:
    """Publishes in the order of a session: status, estimate, set-point, then the truth."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.statistics = FlightStatistics(self.bus)

    def status(
        self, mode: FlightMode = FlightMode.OFFBOARD, *, armed: bool = True, on_ground: bool = False
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
            home_enu_m=ZERO,
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

    def believe(self, *place_m: float) -> None:
        square = np.eye(3)
        state = VehicleState(
            *(self.clock.now_ns(), 0, np.array(place_m), ZERO, LEVEL, ZERO, ZERO, ZERO, ZERO),
            *(square, square, square, EstimateHealth.GOOD),
        )
        self.bus.publish(VEHICLE, state)

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
    assert (summary.tracking_rms_m, summary.estimate_rms_m) == (0.0, None)
    assert summary.landing_error_m is None


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
    assert summary.tracking_max_m == 4.0


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
    flown.status()
    flown.at(1.0, 1.0, 0.2)
    assert flown.summary().landing_error_m is None
    flown.at(4.0, 5.0, 7.0)  # the height doesn't count
    flown.status(armed=False)
    assert flown.summary().landing_error_m == 5.0
    flown.at(90.0, 90.0, 0.0)
    assert flown.summary().landing_error_m == 5.0


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
