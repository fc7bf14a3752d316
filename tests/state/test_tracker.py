import numpy as np

from ghost.core.clock import SimClock
from ghost.events import Bus
from ghost.hal import EstimateHealth, Failsafe, FlightMode, VehicleState, VehicleStatus
from ghost.hal.channels import STATUS, VEHICLE
from ghost.state import VehicleTracker

ZERO, SQUARE = np.zeros(3), np.zeros((3, 3))
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


def state(stamp_ns: int) -> VehicleState:
    return VehicleState(
        *(stamp_ns, 0, ZERO, ZERO, LEVEL, ZERO, ZERO, ZERO, ZERO, SQUARE, SQUARE, SQUARE),
        EstimateHealth.GOOD,
    )


def status(stamp_ns: int) -> VehicleStatus:
    return VehicleStatus(
        stamp_ns,
        0,
        FlightMode.HOLD,
        armed=False,
        killed=False,
        on_ground=True,
        failsafe=Failsafe.NONE,
        blocked="",
        home_enu_m=ZERO,
    )


def test_nothing_heard_is_not_fresh() -> None:
    clock = SimClock()
    tracker = VehicleTracker(Bus(clock), clock)
    assert tracker.state_age_ns is None
    assert tracker.status_age_ns is None
    assert not tracker.fresh(10**12)


def test_fresh_needs_both_and_counts_from_the_measurement() -> None:
    clock = SimClock()
    bus = Bus(clock)
    tracker = VehicleTracker(bus, clock)
    clock.advance(1000)
    bus.publish(VEHICLE, state(400))
    assert tracker.state_age_ns == 600
    assert not tracker.fresh(10**12)
    bus.publish(STATUS, status(900))
    assert tracker.status_age_ns == 100
    assert tracker.fresh(600)
    assert not tracker.fresh(599)


def test_keeps_the_newest_and_nothing_after_close() -> None:
    clock = SimClock()
    bus = Bus(clock)
    tracker = VehicleTracker(bus, clock)
    bus.publish(VEHICLE, state(1))
    bus.publish(VEHICLE, state(2))
    tracker.close()
    bus.publish(VEHICLE, state(3))
    assert tracker.state is not None
    assert tracker.state.stamp_ns == 2
