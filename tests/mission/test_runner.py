"""The runner on a perfect vehicle: what it does, in which order, and when it lets go."""

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from ghost.events import EventKind
from ghost.hal import Action, EstimateHealth, Failsafe, FlightMode, SafetyEnvelope
from ghost.mission import OnTimeout, Patience, Result, load_mission
from tests.mission.rig import MISSIONS, Rig

FLY = "name: x\nsteps: [takeoff: {altitude_m: 5}, goto: {position_enu_m: [20, 0, 5]%s}, land: {}]"
HOVER = "name: x\nsteps: [takeoff: {altitude_m: 5}, hold: {seconds: 5%s}, land: {}]"


def outcome(rig: Rig) -> tuple[Result, str]:
    return rig.runner.outcome.result, rig.runner.outcome.reason


def test_the_square_is_flown_as_written() -> None:
    rig = Rig(load_mission(MISSIONS / "square.yaml"), home_m=(3.0, -4.0, 1.0))
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")
    assert rig.vehicle.requested == [
        *(Action.ARM, Action.TAKEOFF, Action.OFFBOARD, Action.RETURN, Action.LAND),
    ]
    step = [EventKind.STEP_STARTED, EventKind.STEP_FINISHED]
    assert rig.kinds() == [
        EventKind.MISSION_STARTED,
        *step,
        EventKind.STEP_STARTED,
        *[EventKind.WAYPOINT_REACHED] * 4,
        EventKind.STEP_FINISHED,
        *step * 3,
        EventKind.MISSION_FINISHED,
    ]
    assert len({event.correlation_id for event in rig.events}) == 1
    assert rig.vehicle.position_m.tolist() == pytest.approx([3.0, -4.0, 1.0], abs=1e-6)
    flown = np.array([command.position_enu_m for command in rig.vehicle.commands])
    for corner in ([23.0, -4.0, 6.0], [23.0, 16.0, 6.0], [3.0, 16.0, 6.0]):
        assert np.sqrt(((flown - corner) ** 2).sum(axis=1)).min() < 0.05


@pytest.mark.parametrize("name", ["survey", "hover"])
def test_the_other_shipped_missions_complete(name: str) -> None:
    rig = Rig(load_mission(MISSIONS / f"{name}.yaml"))
    rig.fly(600.0)
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.WAYPOINT_MISSED not in rig.kinds()


def test_set_points_come_at_50_hz_and_never_jump() -> None:
    rig = Rig(FLY % "")
    rig.fly()
    commands = rig.vehicle.commands
    assert {b.stamp_ns - a.stamp_ns for a, b in pairwise(commands)} == {20_000_000}
    assert [command.sequence for command in commands] == list(range(len(commands)))
    steps = np.diff([command.position_enu_m for command in commands], axis=0)
    assert np.abs(steps).max() <= 3.0 * 0.02 + 1e-9


def test_a_flight_controller_that_wants_set_points_first_gets_them() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.needs_stream_first = True
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert rig.vehicle.requested.count(Action.OFFBOARD) > 1


def test_it_waits_until_the_vehicle_may_be_armed() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.blocked = "no GPS"
    rig.fly(10.0)
    assert rig.vehicle.requested == []
    rig.vehicle.blocked = ""
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED


def _block(rig: Rig) -> None:
    rig.vehicle.blocked = "the compass is not calibrated"


def _degrade(rig: Rig) -> None:
    rig.vehicle.verdict = EstimateHealth.DEGRADED


def _hush_state(rig: Rig) -> None:
    rig.silent_state = True


def _hush_status(rig: Rig) -> None:
    rig.silent_status = True


def _fail_safe(rig: Rig) -> None:
    rig.vehicle.failsafe = Failsafe.LOW_BATTERY


def _lift(rig: Rig) -> None:
    rig.vehicle.position_m[2] += 2.0


@pytest.mark.parametrize(
    ("prevent", "missing"),
    [
        (_block, "the compass is not calibrated"),
        (_degrade, "the estimate is DEGRADED"),
        (_hush_state, "no vehicle state was heard"),
        (_hush_status, "no vehicle status was heard"),
        (_fail_safe, "failsafe LOW_BATTERY"),
        (_lift, "the vehicle is in the air; land it first"),
    ],
)
def test_what_keeps_it_on_the_ground_is_named(prevent: Callable[[Rig], None], missing: str) -> None:
    rig = Rig(HOVER % "")
    prevent(rig)
    rig.fly(40.0)
    assert outcome(rig) == (Result.FAILED, f"not ready after 30 s: {missing}")
    assert rig.vehicle.requested == []
    assert rig.kinds()[-1] == EventKind.MISSION_FAILED


def test_a_mission_outside_the_fence_never_arms() -> None:
    rig = Rig(
        FLY % "", envelope=SafetyEnvelope(geofence_enu_m=[[-9, -9], [9, -9], [9, 9], [-9, 9]])
    )
    rig.fly(1.0)
    assert rig.runner.outcome.result is Result.FAILED
    assert "step 1 (goto): waypoint 0" in rig.runner.outcome.reason
    assert rig.vehicle.requested == []


@pytest.mark.parametrize("action", [Action.ARM, Action.TAKEOFF])
def test_refused_on_the_ground_it_fails_disarmed(action: Action) -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.refuses[action] = "not today"
    rig.fly(20.0)
    assert outcome(rig) == (Result.FAILED, f"{action.name} refused: not today")
    assert rig.vehicle.requested.count(action) > 5, "asked again before it gives up"
    assert not rig.vehicle.armed


def test_refused_offboard_it_lands() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.refuses[Action.OFFBOARD] = "not today"
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "OFFBOARD refused: not today")
    assert rig.vehicle.on_ground
    assert not rig.vehicle.armed


def test_refused_commands_in_a_row_end_in_a_landing() -> None:
    rig = Rig(FLY % "", patience=Patience(refusals=10))
    rig.vehicle.refuses_command = lambda command: command.position_enu_m[0] > 5.0  # type: ignore[union-attr]  # a trajectory
    rig.fly()
    assert outcome(rig) == (Result.ABORTED, "10 commands refused: GEOFENCE: no")
    assert rig.vehicle.on_ground
    refused = [command for command in rig.vehicle.commands if command.position_enu_m[0] > 5.0]
    assert len(refused) == 10


def test_a_few_refusals_are_forgiven() -> None:
    rig = Rig(FLY % "")
    rig.vehicle.refuses_command = lambda command: command.sequence % 10 != 0
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED


def test_refused_landing_fails_and_says_so() -> None:
    rig = Rig(HOVER % "")
    rig.fly_to_step(2)
    rig.vehicle.refuses[Action.LAND] = "too high"
    rig.fly(20.0)
    assert outcome(rig) == (Result.FAILED, "LAND refused: too high")


def _switch(rig: Rig) -> None:
    rig.vehicle.mode = FlightMode.MANUAL


def _kill(rig: Rig) -> None:
    rig.vehicle.killed = True


def _disarm(rig: Rig) -> None:
    rig.vehicle.armed = False


def _lose_link(rig: Rig) -> None:
    rig.vehicle.failsafe = Failsafe.COMMAND_LOSS
    rig.vehicle.mode = FlightMode.LAND


@pytest.mark.parametrize(
    ("hidden_s", "result"), [(0.8, Result.COMPLETED), (1.2, Result.INTERRUPTED)]
)
def test_a_landing_may_be_told_a_little_after_the_disarming(
    hidden_s: float, result: Result
) -> None:
    rig = Rig(HOVER % "")
    rig.fly_to_step(1)
    rig.vehicle.ground_hidden = True
    rig.fly(until=lambda: not rig.vehicle.armed)
    rig.fly(hidden_s)
    rig.vehicle.ground_hidden = False
    rig.fly(1.0)
    assert rig.runner.outcome.result is result


@pytest.mark.parametrize("step", [0, 1, 2])
@pytest.mark.parametrize(
    ("take_over", "reason"),
    [
        (_switch, "the mode was changed to MANUAL"),
        (_kill, "the vehicle was killed"),
        (_disarm, "the vehicle was disarmed"),
        (_lose_link, "failsafe COMMAND_LOSS in mode LAND"),
        (_hush_status, "no status for 2.0 s"),
    ],
)
def test_what_takes_the_vehicle_keeps_it(
    take_over: Callable[[Rig], None], reason: str, step: int
) -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(step)
    rig.fly(2.0)
    assert not rig.vehicle.on_ground
    take_over(rig)
    rig.fly(3.0)
    assert outcome(rig) == (Result.INTERRUPTED, reason)
    assert rig.kinds()[-1] == EventKind.MISSION_INTERRUPTED
    asked, sent = len(rig.vehicle.requested), len(rig.vehicle.commands)
    rig.vehicle.mode = FlightMode.OFFBOARD  # even if it is given back
    rig.runner.abort("too late")
    for _ in range(300):
        rig.step()
    assert (len(rig.vehicle.requested), len(rig.vehicle.commands)) == (asked, sent)


def test_an_accepted_mode_that_never_shows_is_an_interruption() -> None:
    rig = Rig(HOVER % "")
    rig.fly_to_step(1)
    real = rig.vehicle._do

    def deaf(action: Action, altitude_m: float) -> None:
        if action is not Action.OFFBOARD:
            real(action, altitude_m)

    rig.vehicle._do = deaf  # type: ignore[method-assign]  # says yes, does nothing
    rig.fly(10.0)
    assert outcome(rig)[1].startswith("the mode is still HOLD, not OFFBOARD")


def test_what_is_done_without_an_answer_is_ours() -> None:
    rig = Rig(FLY % "")
    rig.vehicle.answers_lost = True
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")
    assert sorted(rig.vehicle.requested) == sorted(dict.fromkeys(rig.vehicle.requested))


def test_a_mode_that_nobody_asked_for_is_not_ours_while_another_is_asked_for() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.vehicle.refuses[Action.OFFBOARD] = "no answer"
    rig.fly(0.2)
    rig.vehicle.mode = FlightMode.MANUAL
    rig.fly(3.0)
    assert outcome(rig) == (Result.INTERRUPTED, "the mode was changed to MANUAL")


def test_a_lasting_bad_estimate_lands_it_and_a_passing_one_does_not() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.vehicle.verdict = EstimateHealth.DEGRADED
    rig.fly(0.9)
    rig.vehicle.verdict = EstimateHealth.GOOD
    rig.fly(1.0)
    rig.vehicle.verdict = EstimateHealth.DEGRADED
    rig.fly(60.0)
    assert outcome(rig) == (Result.ABORTED, "the estimate is DEGRADED")
    assert rig.vehicle.requested[-1:] == [Action.LAND]


def test_abort_holds_then_lands_and_lets_go() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.fly(3.0)
    rig.runner.abort("a dog on the field")
    assert rig.vehicle.requested[-1:] == [Action.HOLD]
    assert not rig.runner.outcome.over
    rig.fly(1.0)
    assert outcome(rig) == (Result.ABORTED, "aborted: a dog on the field")
    assert rig.vehicle.requested[-1:] == [Action.LAND]
    assert rig.kinds()[-2:] == [EventKind.MISSION_ABORT_REQUESTED, EventKind.MISSION_ABORTED]


def test_abort_holds_then_returns_and_sees_it_down() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.fly(3.0)
    rig.runner.abort("the battery", OnTimeout.RETURN)
    rig.fly(1.0)
    assert rig.vehicle.requested[-2:] == [Action.HOLD, Action.RETURN]
    assert not rig.runner.outcome.over
    rig.fly(60.0)
    assert outcome(rig) == (Result.ABORTED, "aborted: the battery")
    assert rig.vehicle.on_ground


def test_abort_waits_for_a_vehicle_that_does_not_come_to_rest_no_longer_than_that() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.fly(3.0)
    rig.vehicle.stuck = True  # at the speed that it has
    rig.runner.abort("now")
    rig.fly(4.5)
    assert rig.vehicle.requested[-1:] == [Action.HOLD]
    rig.fly(1.0)
    assert rig.vehicle.requested[-1:] == [Action.LAND]


def test_abort_goes_on_to_land_where_holding_is_refused() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.vehicle.refuses[Action.HOLD] = "no position"
    rig.runner.abort("now")
    rig.fly(0.1)
    assert outcome(rig) == (Result.ABORTED, "aborted: now")
    assert rig.vehicle.requested[-2:] == [Action.HOLD, Action.LAND]


def test_abort_lets_what_lands_go_on_landing() -> None:
    rig = Rig(HOVER % "")
    rig.fly_to_step(2)
    rig.fly(0.5)
    rig.runner.abort("now", OnTimeout.RETURN)
    assert outcome(rig) == (Result.ABORTED, "aborted: now")
    assert Action.HOLD not in rig.vehicle.requested
    assert rig.vehicle.requested[-1:] == [Action.LAND]


def test_abort_asks_again_when_landing_is_refused() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.vehicle.refuses[Action.LAND] = "busy"
    rig.runner.abort("now")
    rig.fly(1.0)
    assert not rig.runner.outcome.over
    del rig.vehicle.refuses[Action.LAND]
    rig.fly(1.0)
    assert outcome(rig) == (Result.ABORTED, "aborted: now")


def test_what_is_armed_already_is_somebody_else_s() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.armed = True
    rig.step()
    assert outcome(rig) == (Result.FAILED, "the vehicle was armed by somebody else")
    assert rig.vehicle.requested == []


def test_offboard_that_was_left_behind_on_the_ground_is_left_before_arming() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.mode = FlightMode.OFFBOARD
    rig.vehicle.blocked = "no offboard signal"
    rig.step()
    rig.step()
    assert rig.vehicle.requested == [Action.HOLD]
    rig.vehicle.blocked = ""
    rig.fly()
    assert outcome(rig) == (Result.COMPLETED, "")


def test_a_hold_below_the_take_off_s_height_is_somebody_else_s() -> None:
    rig = Rig(HOVER % "")
    rig.fly(until=lambda: rig.vehicle.position_m[2] > 2.0)
    rig.vehicle.mode = FlightMode.HOLD
    rig.fly(0.9)
    assert not rig.runner.outcome.over
    rig.fly(0.3)
    result, reason = outcome(rig)
    assert result is Result.INTERRUPTED
    assert re.fullmatch(r"HOLD was chosen [23]\.\d m below the take-off's height", reason)
    assert rig.vehicle.requested[-1:] == [Action.TAKEOFF]


def test_abort_on_the_ground_asks_for_nothing_but_disarming() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.blocked = "no GPS"
    rig.step()
    rig.runner.abort("changed my mind")
    assert outcome(rig) == (Result.ABORTED, "aborted: changed my mind")
    assert rig.vehicle.requested == []


@pytest.mark.parametrize(
    ("then", "asked", "result"),
    [
        ("continue", Action.LAND, Result.COMPLETED),
        ("return", Action.RETURN, Result.ABORTED),
        ("land", Action.LAND, Result.ABORTED),
        ("abort", Action.LAND, Result.ABORTED),
    ],
)
def test_a_step_that_takes_too_long_goes_on_as_told(
    then: str, asked: Action, result: Result
) -> None:
    rig = Rig(FLY % f", timeout_s: 20, on_timeout: {then}")
    rig.fly_to_step(1)
    rig.fly(1.0)
    rig.vehicle.stuck = True
    rig.fly(until=lambda: asked in rig.vehicle.requested)
    assert rig.clock.now_ns() < 30_000_000_000
    assert rig.vehicle.on_ground is False
    rig.vehicle.stuck = False
    rig.fly()
    assert rig.runner.outcome.result is result
    assert EventKind.STEP_TIMED_OUT in rig.kinds()
    assert rig.vehicle.on_ground is (then != "abort")


def test_a_take_off_that_does_not_lift_is_disarmed_again() -> None:
    rig = Rig("name: x\nsteps: [takeoff: {altitude_m: 5, timeout_s: 4}, land: {}]")
    rig.vehicle.stuck = True
    rig.fly()
    assert outcome(rig) == (Result.FAILED, "step 0 (takeoff) took over 4 s")
    assert rig.vehicle.requested[-1] is Action.DISARM


def test_a_vehicle_that_does_not_disarm_itself_is_told_to() -> None:
    rig = Rig(HOVER % "")
    rig.vehicle.disarms_itself = False
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert rig.vehicle.requested[-1] is Action.DISARM


@pytest.mark.parametrize(
    ("until", "cause"),
    [
        ("battery_below: 0.5", "the battery is below 0.5"),
        ("elapsed_s: 2", "2 s are over"),
        ("event: SEEN", "SEEN was heard"),
    ],
)
def test_until_ends_a_flight_early_and_the_next_step_brakes(until: str, cause: str) -> None:
    text = """
name: x
steps:
  - takeoff: {altitude_m: 5}
  - goto: {position_enu_m: [40, 0, 5], until: {%s}}
  - hold: {seconds: 4}
  - land: {}
"""
    rig = Rig(text % until)
    rig.fly_to_step(1)
    rig.fly(2.5, until=lambda: rig.runner.step_index == 2)
    if "elapsed" not in until:
        assert rig.runner.step_index == 1
        rig.charge = 0.4
        rig.tell("SEEN")
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert [event.payload["cause"] for event in rig.events if "cause" in event.payload][1] == cause
    assert 1.0 < rig.vehicle.position_m[0] < 20.0
    speeds = np.array([command.velocity_enu_mps[0] for command in rig.vehicle.commands])
    assert speeds.max() > 2.0
    assert np.abs(np.diff(speeds)).max() < 0.05, "no jump where the steps meet"


def test_until_altitude_ends_a_climb_early() -> None:
    rig = Rig(
        "name: x\nsteps: [takeoff: {altitude_m: 30, until: {altitude_above_m: 4}}, "
        "hold: {seconds: 1}, land: {}]"
    )
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert max(command.position_enu_m[2] for command in rig.vehicle.commands) < 5.0


def test_an_event_from_before_the_step_does_not_end_it() -> None:
    rig = Rig(HOVER % ", until: {event: SEEN}")
    rig.fly(1.0)
    rig.tell("SEEN")
    rig.fly_to_step(1)
    began_ns = rig.clock.now_ns()
    rig.fly_to_step(2)
    assert rig.clock.now_ns() - began_ns >= 5_000_000_000


def test_its_own_events_do_not_end_a_step() -> None:
    rig = Rig(HOVER % ", until: {event: STEP_STARTED}")
    rig.fly_to_step(1)
    began_ns = rig.clock.now_ns()
    rig.fly_to_step(2)
    assert rig.clock.now_ns() - began_ns >= 5_000_000_000


def test_a_waypoint_passed_too_far_off_is_told_as_missed() -> None:
    rig = Rig(
        "name: x\nsteps: [takeoff: {altitude_m: 5}, goto: {waypoints: ["
        "{east_m: 10, north_m: 0, altitude_m: 5}, {east_m: 10, north_m: 20, altitude_m: 5}]}, "
        "land: {}]"
    )
    rig.fly_to_step(1)
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 8.0)
    rig.vehicle.stuck = True
    rig.fly(3.5)
    rig.vehicle.stuck = False
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    passed = [event for event in rig.events if event.kind.startswith("WAYPOINT")]
    assert [event.kind for event in passed] == [
        EventKind.WAYPOINT_MISSED,
        EventKind.WAYPOINT_REACHED,
    ]
    assert passed[0].payload["distance_m"] > 0.5


def test_it_can_land_and_take_off_again() -> None:
    up = "takeoff: {altitude_m: 3}, hold: {seconds: 1}, land: {}"
    rig = Rig(f"name: x\nsteps: [{up}, {up}]")
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert rig.vehicle.requested.count(Action.ARM) == 2
    assert rig.vehicle.requested.count(Action.OFFBOARD) == 2
