"""stop_before_obstacle_m: it stops where told, for nothing else, and never flies blind."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.events import EVENTS, Event, EventKind, Severity
from ghost.hal import Action, SafetyEnvelope, Sight, TrajectoryCommand
from ghost.hal.channels import CMD_ACTION, CMD_TRAJECTORY
from ghost.mission import Result, load_mission, rerun_mission
from ghost.telemetry import LogReader, RunRecorder, describe_run
from tests.mission.lidar import NOTHING, Lidar, Things, off_wall_m, wall
from tests.mission.rig import ENVELOPE, Rig

CAUTIOUS = ", stop_before_obstacle_m: 3.0"
FLY = """
name: x
defaults: {speed_mps: 5.0}
steps:
  - takeoff: {altitude_m: 5}
  - goto: {position_enu_m: [50, 0, 5]%s}
  - hold: {seconds: 2}
  - land: {}
"""


def cautious(things: Things = NOTHING, more: str = "") -> tuple[Rig, Lidar]:
    rig = Rig(FLY % (CAUTIOUS + more))
    return rig, Lidar(rig.bus, things)


def told(rig: Rig, kind: EventKind) -> list[Event]:
    return [event for event in rig.events if event.kind == kind]


def speeds(rig: Rig) -> list[float]:
    return [float(np.sqrt((c.velocity_enu_mps**2).sum())) for c in rig.vehicle.commands]


def _bits(command: TrajectoryCommand) -> tuple[bytes, ...]:
    vectors = (command.position_enu_m, command.velocity_enu_mps, command.acceleration_enu_mps2)
    return (*(vector.tobytes() for vector in vectors), command.yaw_rad.hex().encode())


def check_smooth(rig: Rig, most_mps2: float) -> None:
    """Positions follow from velocities, velocities from accelerations, and those are bounded."""
    for before, after in pairwise(rig.vehicle.commands):
        if after.stamp_ns - before.stamp_ns != 20_000_000:
            continue
        mean_mps = 0.5 * (before.velocity_enu_mps + after.velocity_enu_mps)
        assert after.position_enu_m - before.position_enu_m == pytest.approx(
            mean_mps * 0.02, abs=1e-3
        )
        change_mps = after.velocity_enu_mps - before.velocity_enu_mps
        assert np.sqrt((change_mps**2).sum()) < most_mps2 * 0.02 + 0.05  # the last 5 cm/s at once
        assert np.sqrt((after.acceleration_enu_mps2**2).sum()) < most_mps2 + 0.01


@pytest.mark.parametrize("angle_deg", [0, 20, 45, -60])
def test_it_stops_at_the_set_distance_whatever_the_angle(angle_deg: int) -> None:
    angle_rad = math.radians(angle_deg)
    rig, _ = cautious(wall(angle_rad=angle_rad))
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert max(speeds(rig)) == pytest.approx(5.0, abs=0.01)
    assert 3.0 < off_wall_m(rig.vehicle.position_m, angle_rad=angle_rad) < 3.2
    check_smooth(rig, 2.2)
    (ahead,) = told(rig, EventKind.OBSTACLE_AHEAD)
    assert 3.0 < ahead.payload["distance_m"] < 3.2
    assert ahead.payload["position_enu_m"] == pytest.approx(
        [*rig.vehicle.position_m[:2], 5.0], abs=0.01
    )
    assert off_wall_m(ahead.payload["obstacle_enu_m"], angle_rad=angle_rad) < 1e-3
    assert (ahead.payload["sensor"], ahead.payload["sight"]) == ("lidar", "OK")
    finished = told(rig, EventKind.STEP_FINISHED)[1]
    assert (
        finished.payload["cause"]
        == f"lidar sees an obstacle {ahead.payload['distance_m']:.2f} m away"
    )
    assert EventKind.WAYPOINT_REACHED not in rig.kinds()


def test_the_next_step_begins_at_rest_where_it_stopped() -> None:
    rig, _ = cautious(wall())
    rig.fly_to_step(2)
    stood = rig.vehicle.commands[-1]
    assert stood.velocity_enu_mps.tolist() == stood.acceleration_enu_mps2.tolist() == [0, 0, 0]
    rig.fly(1.0)
    assert rig.vehicle.position_m == pytest.approx(stood.position_enu_m)


def test_with_nothing_in_the_way_it_flies_as_if_it_did_not_look() -> None:
    """Beside a wall that is farther off than the distance, too; bit for bit."""
    plain = Rig(FLY % "")
    plain.fly()
    rig, _ = cautious(wall((25.0, 3.6), math.pi / 2))
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.OBSTACLE_AHEAD not in rig.kinds()
    # It waited for its lidar first, so the stamps are later.
    assert [_bits(command) for command in rig.vehicle.commands] == [
        _bits(command) for command in plain.vehicle.commands
    ]


def test_what_it_leaves_behind_is_no_reason_to_stop() -> None:
    rig, _ = cautious(wall((-2.0, 0.0)))
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.WAYPOINT_REACHED in rig.kinds()


def test_too_near_at_the_start_and_nearer_it_does_not_move() -> None:
    rig, _ = cautious(wall((2.0, 0.0)))
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert told(rig, EventKind.OBSTACLE_AHEAD)[0].payload["distance_m"] == pytest.approx(2.0)
    assert rig.vehicle.position_m[0] == pytest.approx(0.0)


def test_it_stops_around_a_corner_and_on_a_survey() -> None:
    area = "rectangle: [[5, 0], [30, 20]], spacing_m: 10, altitude_m: 5" + CAUTIOUS
    rig = Rig(f"name: x\nsteps: [takeoff: {{altitude_m: 5}}, survey: {{{area}}}, land: {{}}]")
    Lidar(rig.bus, wall((20.0, 18.0), math.pi / 2))
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    reached = [event.payload["waypoint"] for event in told(rig, EventKind.WAYPOINT_REACHED)]
    assert reached == [0, 1], "the first line, and not the second at 15 m"
    assert 3.0 < 18.0 - rig.vehicle.position_m[1] < 3.2
    check_smooth(rig, 2.2)


def test_noise_makes_it_stop_a_little_earlier_and_no_rougher() -> None:
    rig, lidar = cautious(wall())
    rng = np.random.default_rng(1)
    lidar.disturbs = lambda points: points + rng.normal(0.0, 0.05, points.shape)
    rig.fly()
    assert 3.0 < off_wall_m(rig.vehicle.position_m) < 3.4
    check_smooth(rig, 2.6)


def test_what_is_seen_late_is_braked_for_harder() -> None:
    rig, lidar = cautious()
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 21.0)
    lidar.things = wall()
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert 2.5 < off_wall_m(rig.vehicle.position_m) < 3.2
    check_smooth(rig, 3.0)
    assert max(np.abs(c.acceleration_enu_mps2).max() for c in rig.vehicle.commands) > 2.5


def test_an_obstacle_that_vanishes_while_it_brakes_lets_it_go_on() -> None:
    rig, lidar = cautious(wall())
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 22.0)
    assert speeds(rig)[-1] < 4.5
    lidar.things = NOTHING
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.OBSTACLE_AHEAD not in rig.kinds()
    assert EventKind.WAYPOINT_REACHED in rig.kinds()
    assert min(speeds(rig)[300:500]) < 4.0
    check_smooth(rig, 2.2)


@pytest.mark.parametrize("altitude_m", [1.5, 5.0])
def test_the_ground_is_no_obstacle(altitude_m: float) -> None:
    east, north = (part.reshape(-1) for part in np.meshgrid(np.arange(60.0), np.arange(-9.0, 9.0)))
    grass = np.stack((east, north, 0.3 * (east % 2.0) + 10.0), axis=1)
    low = FLY.replace("altitude_m: 5", f"altitude_m: {altitude_m}")
    rig = Rig(low.replace("50, 0, 5", f"50, 0, {10 + altitude_m}") % CAUTIOUS, home_m=(0, 0, 10))
    Lidar(rig.bus, grass)
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.WAYPOINT_REACHED in rig.kinds()


def test_a_low_wall_is_one() -> None:
    low = FLY.replace("altitude_m: 5", "altitude_m: 1.5").replace("50, 0, 5", "50, 0, 1.5")
    rig = Rig(low % CAUTIOUS)
    Lidar(rig.bus, wall(top_m=1.0))
    rig.fly()
    assert EventKind.OBSTACLE_AHEAD in rig.kinds()
    assert rig.vehicle.position_m[0] < 27.2


def _go_blind(sight: Sight) -> Callable[[Lidar], None]:
    return lambda lidar: setattr(lidar, "sight", sight)


def _go_silent(lidar: Lidar) -> None:
    lidar.silent = True


@pytest.mark.parametrize(
    ("disturb", "reason"),
    [
        (_go_blind(Sight.BLINDED), "the view of lidar is BLINDED"),
        (_go_blind(Sight.FROZEN), "the view of lidar is FROZEN"),
        (_go_blind(Sight.OFFLINE), "the view of lidar is OFFLINE"),
        (_go_silent, "nothing was heard of lidar for 0.5 s"),
    ],
)
@pytest.mark.parametrize("then", ["land", "continue"])
def test_without_a_view_it_brakes_and_the_step_ends_as_told(
    disturb: Callable[[Lidar], None], reason: str, then: str
) -> None:
    rig, lidar = cautious(more=f", on_timeout: {then}")
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 15.0)
    disturb(lidar)
    rig.fly()
    outcome = rig.runner.outcome
    if then == "land":
        assert (outcome.result, outcome.reason) == (Result.ABORTED, f"step 1 (goto): {reason}")
    else:
        assert outcome.result is Result.COMPLETED
    (ended,) = told(rig, EventKind.STEP_TIMED_OUT)
    assert ended.text == f"step 1 (goto) ended, {reason}, so {then}"
    assert EventKind.OBSTACLE_AHEAD not in rig.kinds()
    assert rig.vehicle.on_ground
    assert 21.0 < rig.vehicle.position_m[0] < 27.0, "6.3 m at 2 m/s2, and until it knew"
    check_smooth(rig, 2.1)


def test_a_view_that_comes_back_does_not_undo_the_stop() -> None:
    rig, lidar = cautious()
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 15.0)
    lidar.sight = Sight.BLINDED
    rig.fly(0.5)
    lidar.sight = None
    rig.fly()
    assert rig.runner.outcome.reason == "step 1 (goto): the view of lidar is BLINDED"


def test_one_of_two_sensors_is_not_enough() -> None:
    rig, _ = cautious()
    camera = Lidar(rig.bus, name="camera")
    rig.fly(until=lambda: rig.vehicle.position_m[0] > 15.0)
    camera.silent = True
    rig.fly()
    assert rig.runner.outcome.reason == "step 1 (goto): nothing was heard of camera for 0.5 s"


def test_a_step_that_does_not_ask_flies_blind() -> None:
    rig = Rig(FLY % "")
    lidar = Lidar(rig.bus, wall())
    lidar.sight = Sight.BLINDED
    rig.fly()
    assert rig.runner.outcome.result is Result.COMPLETED
    assert EventKind.WAYPOINT_REACHED in rig.kinds()


@pytest.mark.parametrize("value", ["0.2", "101", ".nan", "true", "near", "[3]"])
@pytest.mark.parametrize("step", ["goto", "survey"])
def test_a_distance_that_makes_no_sense_is_refused(step: str, value: str) -> None:
    way = "position_enu_m: [9, 0, 5]"
    if step == "survey":
        way = "rectangle: [[0, 0], [9, 9]], spacing_m: 3, altitude_m: 5"
    asked = f"{step}: {{{way}, stop_before_obstacle_m: {value}}}"
    with pytest.raises(ConfigError, match=rf"steps\[1\]\.{step}\.stop_before_obstacle_m is "):
        load_mission(f"name: x\nsteps: [takeoff: {{altitude_m: 5}}, {asked}, land: {{}}]")


def test_other_steps_have_no_such_key() -> None:
    with pytest.raises(ConfigError, match=r"unknown key steps\[1\]\.hold\.stop_before_obstacle_m"):
        load_mission(
            "name: x\nsteps: [takeoff: {altitude_m: 5}, "
            "hold: {seconds: 1, stop_before_obstacle_m: 3}, land: {}]"
        )


def test_a_vehicle_that_sees_nothing_is_refused() -> None:
    mission = load_mission(FLY % CAUTIOUS)
    complaint = r"step 1 \(goto\): stop_before_obstacle_m needs a depth camera or a lidar"
    with pytest.raises(ConfigError, match=complaint):
        mission.check(ENVELOPE, sees=False)
    mission.check(ENVELOPE, sees=True)
    mission.check(ENVELOPE)
    load_mission(FLY % "").check(ENVELOPE, sees=False)


def test_a_vehicle_whose_sensors_are_not_heard_stays_on_the_ground() -> None:
    rig = Rig(FLY % CAUTIOUS)
    rig.fly(40.0)
    reason = "not ready after 30 s: no obstacle sensor was heard"
    assert (rig.runner.outcome.result, rig.runner.outcome.reason) == (Result.FAILED, reason)
    assert rig.vehicle.requested == []


def test_a_collision_lands_it() -> None:
    rig = Rig(FLY % "")
    rig.fly_to_step(1)
    rig.fly(3.0)
    for _ in range(3):
        event = Event(
            rig.clock.now_ns(), Severity.CRITICAL, EventKind.COLLISION, "contact", "touched tree 3"
        )
        rig.bus.publish(EVENTS, event)
        rig.fly(0.2)
    rig.fly()
    outcome = rig.runner.outcome
    assert (outcome.result, outcome.reason) == (Result.ABORTED, "collision: touched tree 3")
    assert rig.vehicle.requested.count(Action.LAND) == 1
    assert not rig.vehicle.armed


@pytest.mark.parametrize("sight", [None, Sight.BLINDED])
def test_a_log_repeats_a_cautious_mission(tmp_path: Path, sight: Sight | None) -> None:
    rig, lidar = cautious(wall())
    manifest = describe_run(
        robot="fake", scenario="x", seed=1, deterministic=True, reproduce="", config={}
    )
    with RunRecorder(tmp_path / "run", rig.bus, manifest):
        rig.fly(until=lambda: rig.vehicle.position_m[0] > 15.0)
        lidar.sight = sight
        rig.fly()
    rerun = rerun_mission(LogReader(tmp_path / "run"), rig.mission, ENVELOPE)
    assert rerun.outcome == rig.runner.outcome
    for channel, again in ((CMD_TRAJECTORY, rerun.commands), (CMD_ACTION, rerun.requests)):
        said = [record.message for record in LogReader(tmp_path / "run").messages([channel.name])]
        assert list(again) == said
    assert len(rerun.commands) > 400


def test_the_sight_it_needs_is_as_documented() -> None:
    """docs/missions.md tells from how far off it stops with the mission's own acceleration."""
    page = (Path(__file__).parents[2] / "docs" / "missions.md").read_text(encoding="utf-8")
    assert "11 m" in page
    rig = Rig(FLY % CAUTIOUS, envelope=SafetyEnvelope())
    Lidar(rig.bus, wall(), reach_m=11.0 + 1.0)  # 0.2 s late, at 5 m/s
    rig.fly()
    check_smooth(rig, 2.2)
    assert off_wall_m(rig.vehicle.position_m) > 3.0
