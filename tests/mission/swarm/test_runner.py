"""The runner on perfect vehicles: what it makes them fly, and what it does when one is lost."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.events import Bus, EventKind, Severity
from ghost.hal import Action, EstimateHealth, Failsafe, FlightMode, SafetyEnvelope
from ghost.mission import OnTimeout, Patience, Result
from ghost.mission.swarm import Member, SwarmRunner
from tests.mission.swarm.rig import CYCLE_NS, SwarmRig, row

SHIPPED = Path(__file__).parents[3] / "ghost" / "scenarios" / "swarms"
HEAD = "name: x\ndefaults: {acceptance_m: 0.3}\n"
HOVER = HEAD + "steps: [takeoff: {altitude_m: 5}, hold: {seconds: 20}, land: {}]"
OVER = HEAD + (
    "steps: [takeoff: {altitude_m: 5}, form: {shape: circle, spacing_m: 9}, "
    "goto: {targets: opposite%s}, land: {}]"
)
EAST = HEAD + (
    "%ssteps: [takeoff: {altitude_m: 5}, form: {shape: line, spacing_m: 6, heading_deg: 0}, "
    "move: {waypoints: [{east_m: 30, north_m: 0, altitude_m: 8}]}, land: {}]"
)


def outcome(rig: SwarmRig) -> tuple[Result, str]:
    return rig.runner.outcome.result, rig.runner.outcome.reason


def shipped(name: str) -> str:
    return (SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["shapes", "crossing"])
@pytest.mark.parametrize("count", [1, 7])
def test_the_shipped_missions_are_flown_by_any_number(name: str, count: int) -> None:
    rig = SwarmRig(shipped(name), row(count, 5.0))
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")
    assert rig.nearest_m >= 4.0 - 1e-6 or count == 1
    steps = len(rig.mission.steps)
    assert rig.kinds() == [
        EventKind.MISSION_STARTED,
        *[EventKind.STEP_STARTED, EventKind.STEP_FINISHED] * steps,
        EventKind.MISSION_FINISHED,
    ]
    assert len({event.correlation_id for event in rig.events}) == 1
    for vehicle in rig.vehicles.values():
        assert vehicle.requested == [Action.ARM, Action.TAKEOFF, Action.OFFBOARD, Action.LAND]
        steps_m = np.diff([command.position_enu_m for command in vehicle.commands], axis=0)
        assert np.abs(steps_m).max(initial=0.0) <= 4.5 * 0.02 + 1e-9
        speeds = np.diff([command.velocity_enu_mps for command in vehicle.commands], axis=0)
        flat_mps2 = np.hypot(speeds[:, 0], speeds[:, 1]) / 0.02
        assert flat_mps2.max(initial=0.0) <= 2.0 + 1e-6


def test_set_points_come_at_50_hz_all_the_way_from_take_off() -> None:
    rig = SwarmRig(EAST % "", row(3))
    rig.fly()
    for vehicle in rig.vehicles.values():
        stamps = [command.stamp_ns for command in vehicle.commands]
        assert {later - earlier for earlier, later in pairwise(stamps)} == {CYCLE_NS}


def test_a_formation_holds_its_shape_on_its_way() -> None:
    rig = SwarmRig(EAST % "", row(4))
    rig.fly_to_step(2)
    start = np.array([vehicle.position_m for vehicle in rig.vehicles.values()])
    rig.fly(until=lambda: rig.runner.step_index == 3)
    end = np.array([vehicle.position_m for vehicle in rig.vehicles.values()])
    assert end.mean(axis=0) == pytest.approx([9.0 + 30.0, 0.0, 8.0], abs=0.1)
    assert np.abs((end - end[0]) - (start - start[0])).max() < 0.2
    # Abreast and looking east: vehicle 1, the westernmost on the ground, is on the left or right.
    assert np.ptp(end[:, 0]) < 0.2
    assert sorted(np.diff(np.sort(end[:, 1]))) == pytest.approx([6.0] * 3, abs=0.2)


def test_all_wait_for_who_falls_behind() -> None:
    rig = SwarmRig(EAST % "separation: off\n", row(2))
    rig.fly_to_step(2, 4.0)
    flock = rig.runner._flock
    held = rig.runner._pilots[2].tools.setpoint
    for _ in range(150):
        rig.runner._pilots[2].tools.setpoint = held  # as if the rule held it there
        rig.step()
    assert flock.pace < 0.3
    assert 0.5 < flock.late_m < 3.0
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")


def test_with_the_rule_off_the_monitor_tells() -> None:
    rig = SwarmRig("separation: off\n" + OVER % "", row(5))
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")
    assert rig.nearest_m < 1.0
    told = rig.told(EventKind.SEPARATION)
    assert len(told) == rig.monitor.encounters == 10
    assert {event.severity for event in told} == {Severity.ERROR}


def test_it_waits_until_all_may_be_armed_and_says_for_whom() -> None:
    rig = SwarmRig(HOVER, row(2), patience=Patience(ready_ns=3_000_000_000))
    rig.vehicles[2].blocked = "no GPS"
    rig.fly(1.0)
    assert rig.runner.waiting_for == "vehicle 2: no GPS"
    assert rig.vehicles[1].requested == []
    rig.fly(5.0)
    assert outcome(rig) == (Result.FAILED, "not ready after 3 s: vehicle 2: no GPS")


def test_all_arm_or_none_takes_off() -> None:
    rig = SwarmRig(HOVER, row(3))
    rig.vehicles[3].refuses[Action.ARM] = "compass"
    rig.fly(20.0)
    assert outcome(rig) == (Result.FAILED, "vehicle 3: ARM refused: compass")
    for number in (1, 2):
        assert rig.vehicles[number].requested == [Action.ARM, Action.DISARM]
        assert not rig.vehicles[number].armed


def test_what_cannot_be_flown_from_there_is_refused_on_the_ground() -> None:
    rig = SwarmRig(HOVER, row(2, 2.0))
    rig.fly(2.0)
    result, reason = outcome(rig)
    assert result is Result.FAILED
    assert "vehicles 1 and 2 are 2.00 m apart" in reason
    assert rig.vehicles[1].requested == []


def loses(rig: SwarmRig, number: int, how: str) -> None:
    vehicle = rig.vehicles[number]
    match how:
        case "silent":
            rig.silent.append(number)
            vehicle.stuck = True
        case "failsafe":
            vehicle.failsafe = Failsafe.LOW_BATTERY
            vehicle.mode = FlightMode.LAND
        case "pilot":
            vehicle.mode = FlightMode.HOLD
            vehicle.velocity_mps = np.zeros(3)
        case "refuses":
            vehicle.refuses_command = lambda _: True
            vehicle.velocity_mps = np.zeros(3)
        case "estimate":
            vehicle.verdict = EstimateHealth.DEGRADED


LOSSES = {
    "silent": "no state for 1.0 s",
    "failsafe": "failsafe LOW_BATTERY in mode LAND",
    "pilot": "the mode was changed to HOLD",
    "refuses": "10 commands refused: GEOFENCE: no",
    "estimate": "the estimate is DEGRADED",
}


@pytest.mark.parametrize("how", LOSSES)
def test_who_is_lost_in_a_crossing_is_kept_away_from_and_the_others_finish(how: str) -> None:
    rig = SwarmRig(OVER % "", row(6))
    rig.fly_to_step(2, 4.0)
    loses(rig, 2, how)
    before = len(rig.vehicles[2].commands)
    rig.fly()
    result, reason = outcome(rig)
    assert result is Result.INTERRUPTED
    assert reason == f"5 of 6 finished; vehicle 2: {LOSSES[how]}"
    (told,) = rig.told(EventKind.MEMBER_LOST)
    assert told.severity is Severity.ERROR
    assert told.payload["vehicle"] == 2
    assert told.payload["reason"] == LOSSES[how]
    assert len(told.payload["position_enu_m"]) == 3
    assert rig.nearest_m >= 3.9  # of four that the rule keeps: nobody saw it coming
    assert not any(vehicle.armed for number, vehicle in rig.vehicles.items() if number != 2)
    if how in {"silent", "failsafe", "pilot"}:  # somebody else's now
        assert Action.LAND not in rig.vehicles[2].requested
        assert len(rig.vehicles[2].commands) - before <= 50
    else:
        assert rig.vehicles[2].requested[-1] is Action.LAND
        assert not rig.vehicles[2].armed


@pytest.mark.parametrize("on_loss", ["return", "land"])
def test_a_loss_brings_the_others_down_where_told_to(on_loss: str) -> None:
    rig = SwarmRig(f"on_loss: {on_loss}\n" + EAST % "", row(3))
    rig.fly_to_step(2, 5.0)
    loses(rig, 3, "silent")
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "vehicle 3: no state for 1.0 s")
    assert not rig.vehicles[1].armed
    assert not rig.vehicles[2].armed
    went_home = min(abs(rig.vehicles[1].position_m[0] - home) for home in (0.0, 6.0)) < 0.2
    assert went_home == (on_loss == "return")
    assert rig.nearest_m >= 4.0 - 0.1


def test_when_all_are_lost_it_is_over() -> None:
    rig = SwarmRig(HOVER, row(2))
    rig.fly_to_step(1, 1.0)
    rig.silent = [1, 2]
    rig.fly(3.0)
    result, reason = outcome(rig)
    assert result is Result.INTERRUPTED
    assert reason.startswith("0 of 2 finished")


def test_who_is_lost_on_the_climb_does_not_hold_the_others_up() -> None:
    rig = SwarmRig(HOVER, row(3))
    rig.fly_to_step(0, 3.0)
    loses(rig, 2, "failsafe")
    rig.fly()
    assert outcome(rig)[0] is Result.INTERRUPTED
    assert rig.kinds().count(EventKind.STEP_FINISHED) == 3


def test_an_abort_stops_them_before_they_land() -> None:
    rig = SwarmRig(OVER % "", row(6))
    rig.fly_to_step(2, 4.0)
    rig.runner.abort("enough")
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "aborted: enough")
    for vehicle in rig.vehicles.values():
        assert not vehicle.armed
        last = vehicle.commands[-1]
        assert np.abs(last.velocity_enu_mps).max() < 0.06
    assert rig.nearest_m >= 4.0 - 1e-6


def test_an_abort_may_ask_to_return() -> None:
    rig = SwarmRig(EAST % "", row(3))
    rig.fly_to_step(2, 6.0)
    rig.runner.abort("rain", OnTimeout.RETURN)
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "aborted: rain")
    ends = sorted(vehicle.position_m[0] for vehicle in rig.vehicles.values())
    assert ends == pytest.approx([0.0, 6.0, 12.0], abs=0.2)


def test_an_abort_on_the_climb_and_while_landing() -> None:
    rig = SwarmRig(HOVER, row(2))
    rig.fly_to_step(0, 2.0)
    rig.runner.abort("enough")
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "aborted: enough")
    assert not any(vehicle.armed for vehicle in rig.vehicles.values())
    rig = SwarmRig(HOVER, row(2))
    rig.fly_to_step(2, 1.0)
    rig.runner.abort("enough")
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "aborted: enough")
    assert not any(vehicle.armed for vehicle in rig.vehicles.values())


@pytest.mark.parametrize(
    ("then", "result"), [("land", Result.ABORTED), ("continue", Result.COMPLETED)]
)
def test_a_step_that_takes_too_long_times_out(then: str, result: Result) -> None:
    rig = SwarmRig(OVER % f", timeout_s: 5, on_timeout: {then}", row(4))
    rig.fly()
    assert outcome(rig)[0] is result
    assert len(rig.told(EventKind.STEP_TIMED_OUT)) == 1
    assert rig.nearest_m >= 4.0 - 1e-6
    assert not any(vehicle.armed for vehicle in rig.vehicles.values())


def test_a_fence_holds_where_they_evade() -> None:
    fence = SafetyEnvelope(geofence_enu_m=[[-25, -4], [40, -4], [40, 30], [-25, 30]])
    text = HEAD + (
        "frame: world\nsteps: [takeoff: {altitude_m: 5}, "
        "goto: {targets: {1: [15, 0, 5], 2: [0, 0, 5]}}, land: {}]"
    )
    rig = SwarmRig(text, {1: (0.0, 0.0, 0.0), 2: (15.0, 0.0, 0.0)}, envelope=fence)
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")
    places = [c.position_enu_m for v in rig.vehicles.values() for c in v.commands]
    assert np.array(places)[:, 1].min() >= -4.0
    assert rig.nearest_m >= 4.0 - 1e-6


def test_ids_are_each_given_once() -> None:
    rig = SwarmRig(HOVER, row(1))
    vehicle = rig.vehicles[1]
    twice = [Member(1, Bus(rig.clock), vehicle, vehicle, SafetyEnvelope()) for _ in range(2)]
    with pytest.raises(ConfigError, match=r"ids are \[1, 1\]"):
        SwarmRunner(rig.mission, twice, Bus(rig.clock))
