"""Vehicles in one simulation, by the few lines that docs/sitl.md shows."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from ghost.core.errors import ConfigError, GhostError, RefusedError
from ghost.deploy import MissingHalError, Swarm, load_mission
from ghost.deploy.layout import Place, circle, grid, read_layout
from ghost.events import Event, EventKind
from ghost.hal import FlightMode, VelocityCommand
from ghost.telemetry import LogReader, read_manifest

SETTLED_S = 3.0
HOP = """
name: hop
frame: home
steps:
  - takeoff: {altitude_m: 1.5}
  - land: {}
"""


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("log.mcap"))
    }


def events(folder: Path) -> list[Event]:
    return [record.message for record in LogReader(folder).messages(["/events"])]


def fly_ten(out: Path, order: list[int]) -> dict[str, str]:
    with Swarm(scenario="gusty", seed=5, out=out) as swarm:
        places = grid(10)
        for number in order:
            robot, simulator = ("hexa", "pybullet") if number == 4 else ("x500", None)
            swarm.spawn(robot, vehicle_id=number, place=places[number - 1], simulator=simulator)
        swarm.step(SETTLED_S)
        for number in order:
            swarm.drones[number].take_off(2.0)
        swarm.step(1.0)
        assert all(drone.truth.position_enu_m[2] > 0.3 for drone in swarm.alive)
    return hashes(out)


def test_ten_vehicles_repeat_to_the_byte_whatever_the_order_of_registration(tmp_path: Path) -> None:
    order = list(range(1, 11))
    first = fly_ten(tmp_path / "first", order)
    assert fly_ten(tmp_path / "shuffled", order[7:] + order[6::-1]) == first
    assert len(first) == 11
    assert len(set(first.values())) == 11
    assert read_manifest(tmp_path / "first").deterministic


def test_a_few_lines_fly_two_vehicles() -> None:
    with Swarm(seed=3) as swarm:
        scout, freighter = swarm.spawn("x500"), swarm.spawn("hexa")
        swarm.step(SETTLED_S)
        scout.take_off(4.0)
        with pytest.raises(RefusedError, match="vehicle 2 refuses HOLD: disarmed; arm first"):
            freighter.hold()
        swarm.step_until(lambda: scout.position_enu_m[2] > 3.8, within_s=8.0, what="the climb")
        assert freighter.truth.position_enu_m[2] < 0.5
        with pytest.raises(GhostError, match=r"the moon: not in 0\.1 s of simulated time"):
            swarm.step_until(lambda: False, within_s=0.1, what="the moon")
        stale = VelocityCommand(0, 0, np.array([1.0, 0.0, 0.0]), 0.0)
        assert not scout.send(stale).accepted


def test_each_flies_its_mission_and_leaves_its_log(tmp_path: Path) -> None:
    (tmp_path / "hop.yaml").write_text(HOP)
    mission = load_mission(tmp_path / "hop.yaml")
    with Swarm(seed=1, out=tmp_path / "run") as swarm:
        for _ in range(2):
            swarm.spawn("x500", mission=mission)
        swarm.run(lambda: swarm.is_done or swarm.now_ns > 40_000_000_000)
        assert swarm.went_well, swarm.verdicts()
    for number in (1, 2):
        kinds = [event.kind for event in events(tmp_path / "run" / f"vehicle-{number:03}")]
        assert EventKind.MISSION_FINISHED in kinds
    told = events(tmp_path / "run")
    finished = [one.source for one in told if one.kind == EventKind.MISSION_FINISHED]
    assert sorted(finished) == ["vehicle 1: mission", "vehicle 2: mission"]


def test_who_is_removed_in_flight_falls_and_the_log_says_when(tmp_path: Path) -> None:
    with Swarm(seed=1, out=tmp_path) as swarm:
        one, two = swarm.spawn("x500"), swarm.spawn("x500")
        swarm.step(SETTLED_S)
        one.take_off(2.0)
        two.take_off(2.0)
        swarm.step(3.0)
        swarm.remove(2)
        swarm.step(2.0)
        assert two.lost == "removed"
        assert swarm.alive == [one]
        assert one.status is not None
        assert one.status.mode in (FlightMode.TAKEOFF, FlightMode.HOLD)
        assert two.truth.position_enu_m[2] < 0.5 < one.truth.position_enu_m[2]
    first = next(event for event in events(tmp_path) if event.kind == EventKind.VEHICLE_LOST)
    assert (first.stamp_ns, first.source) == (6_000_000_000, "vehicle 2")


def test_who_is_removed_before_the_start_was_never_there() -> None:
    with Swarm() as swarm:
        swarm.spawn("x500")
        swarm.spawn("x500")
        swarm.remove(1)
        assert swarm.spawn("x500").vehicle_id == 1
        swarm.start()
        with pytest.raises(GhostError, match="flies already; spawn everybody before"):
            swarm.spawn("x500")


def test_what_can_not_fly_in_a_swarm_is_refused_at_once() -> None:
    with Swarm() as swarm:
        with pytest.raises(MissingHalError, match="robot ground_station can't fly in a swarm"):
            swarm.spawn("ground_station")
        with pytest.raises(ConfigError, match="firmware is 'ardupilot'; expected embedded or px4"):
            swarm.spawn("x500", firmware="ardupilot")
        with pytest.raises(ConfigError, match="vehicle id 255; expected 1 to 254"):
            swarm.spawn("x500", vehicle_id=255)
        with pytest.raises(ConfigError, match="no simulator named 'unreal'"):
            swarm.spawn("x500", simulator="unreal")
        with pytest.raises(GhostError, match="vehicle 1 doesn't fly yet; start the swarm first"):
            _ = swarm.spawn("x500").state


def test_neighbours_stand_a_spacing_apart() -> None:
    def least_m(places: tuple[Place, ...]) -> float:
        spots = [place[0] for place in places]
        return min(
            math.hypot(ax - bx, ay - by)
            for index, (ax, ay, _) in enumerate(spots)
            for bx, by, _ in spots[:index]
        )

    for count in (2, 3, 10, 254):
        assert least_m(grid(count, 4.0)) == pytest.approx(4.0)
        assert least_m(circle(count, 4.0)) == pytest.approx(4.0, abs=1e-4)


def test_a_layout_of_ones_own_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    path.write_text("vehicles: [{position_enu_m: [1, 2, 0], heading_deg: 90}]")
    assert read_layout(str(path), 1) == (((1.0, 2.0, 0.0), 90.0),)
    with pytest.raises(ConfigError, match="has places for 1 vehicles, and there are 2"):
        read_layout(str(path), 2)
    path.write_text("vehicles: [{postion_enu_m: [1, 2, 0]}]")
    with pytest.raises(ConfigError, match=r"unknown key vehicles\[0\].postion_enu_m; did you mean"):
        read_layout(str(path), 1)
    for wrong in (0.0, float("nan")):
        with pytest.raises(ConfigError, match=r"spacing is .* m; expected above 0"):
            read_layout("grid", 1, wrong)


def test_a_simulator_with_a_pilot_of_its_own_is_none_for_a_swarm() -> None:
    with Swarm() as swarm, pytest.raises(ConfigError, match="gazebo_px4 flies its vehicle itself"):
        swarm.spawn("x500", simulator="gazebo_px4")
