"""Missions of a swarm on whole vehicles: physics, noise, estimators and autopilots. The truth is
what counts, and nobody who flies knows it.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ghost.cli import main
from ghost.core.errors import ConfigError
from ghost.deploy import Swarm, load_swarm
from ghost.deploy.choreography import Choreography
from ghost.deploy.layout import circle, grid
from ghost.events import EventKind
from ghost.mission import Result
from ghost.mission.swarm import load_swarm_mission

CROSSING = """
name: crossing
separation: {rule}
defaults: {{separation_m: 3.0, margin_m: 1.0, speed_mps: 3.0}}
steps:
  - takeoff: {{altitude_m: 3.0}}
  - goto: {{targets: opposite}}
  - land: {{}}
"""
SHAPES = """
name: shapes
steps:
  - takeoff: {altitude_m: 3.0}
  - form: {shape: wedge, spacing_m: 6.0, heading_deg: 0.0}
  - move:
      waypoints:
        - {east_m: 10.0, north_m: 0.0, altitude_m: 4.0}
        - {east_m: 10.0, north_m: 10.0, altitude_m: 4.0}
  - form: {shape: column, spacing_m: 6.0}
  - land: {}
"""


def fly(swarm: Swarm, look: Callable[[], None] = lambda: None, longest_s: float = 150.0) -> None:
    while not swarm.is_done:
        assert swarm.now_ns < longest_s * 1e9
        swarm.step()
        look()


def cross(count: int, rule: str, order: list[int] | None = None) -> tuple[Swarm, Choreography]:
    swarm = Swarm(seed=7)
    places = circle(count, 2.0 * 11.0 * math.sin(math.pi / count))
    for index in order or range(count):
        swarm.spawn("x500", vehicle_id=index + 1, place=places[index])
    return swarm, swarm.choreograph(load_swarm_mission(CROSSING.format(rule=rule)))


@pytest.mark.slow
def test_ten_cross_without_coming_nearer_than_the_set_distance() -> None:
    swarm, choreography = cross(10, "keep")
    with swarm:
        fly(swarm)
        assert choreography.runner.outcome.result is Result.COMPLETED
        assert swarm.went_well
        closest = choreography.monitor.closest
        assert closest is not None
        assert closest.distance_m >= 3.0
        assert choreography.monitor.encounters == 0
        assert EventKind.SEPARATION not in [event.kind for event in swarm.news]
        for drone in swarm.drones.values():
            start = np.array(drone.spawn.start.position_enu_m)
            away = drone.truth.position_enu_m[:2] + start[:2]
            assert math.hypot(*away) < 1.5  # at the place opposite


@pytest.mark.slow
def test_with_the_rule_off_the_monitor_catches_it() -> None:
    swarm, choreography = cross(10, "off")
    with swarm:
        fly(swarm)
        closest = choreography.monitor.closest
        assert closest is not None
        assert closest.distance_m < 1.0
        told = [event for event in swarm.news if event.kind == EventKind.SEPARATION]
        assert len(told) == choreography.monitor.encounters == 45


@pytest.mark.slow
def test_a_formation_holds_its_shape_and_changes_it() -> None:
    """Measured: 0.5 m off, most of which is what their GPS make them believe."""
    with Swarm(seed=3) as swarm:
        for place in grid(5):
            swarm.spawn("x500", place=place)
        choreography = swarm.choreograph(load_swarm_mission(SHAPES))
        runner = choreography.runner
        off_m = [0.0]

        def look() -> None:
            if runner.step_index in {2, 3} and not runner.outcome.over:
                for number in runner.deviation_m:
                    truth = swarm.drones[number].truth.position_enu_m
                    told = runner.setpoint_enu_m(number)
                    off_m.append(math.dist(truth[:2], told[:2]))

        fly(swarm, look)
        assert runner.outcome.result is Result.COMPLETED
        assert 0.05 < max(off_m) < 0.8
        closest = choreography.monitor.closest
        assert closest is not None
        assert closest.distance_m > 3.0


@pytest.mark.slow
def test_one_dies_in_a_crossing_and_the_others_keep_away_and_finish() -> None:
    swarm, choreography = cross(4, "keep")
    with swarm:
        swarm.step_until(lambda: choreography.runner.step_index == 1, within_s=30.0, what="up")
        swarm.step(2.5)
        last = np.array(swarm.drones[2].position_enu_m)
        swarm.remove(2)
        nearest_m = [math.inf]

        def look() -> None:
            places = [drone.truth.position_enu_m for drone in swarm.alive]
            nearest_m.append(min(math.dist(place[:2], last[:2]) for place in places))

        fly(swarm, look)
        assert choreography.runner.outcome.result is Result.INTERRUPTED
        assert choreography.runner.outcome.reason.startswith("3 of 4 finished; vehicle 2: no state")
        assert min(nearest_m) >= 3.0
        (told,) = [event for event in swarm.news if event.kind == EventKind.MEMBER_LOST]
        assert told.payload["vehicle"] == 2
        assert not swarm.went_well
        assert swarm.verdicts()[0].startswith("swarm: interrupted: 3 of 4")


@pytest.mark.slow
def test_it_is_the_same_flight_whatever_the_order_of_spawning() -> None:
    ends = []
    for order in ([0, 1, 2], [2, 0, 1]):
        swarm, choreography = cross(3, "keep", order)
        with swarm:
            swarm.step(14.0)
            assert choreography.runner.step_index == 1
            ends.append([drone.truth.position_enu_m.tobytes() for drone in swarm.alive])
    assert ends[0] == ends[1]


def test_a_swarm_flies_its_own_mission_or_each_theirs() -> None:
    mission = load_swarm_mission(CROSSING.format(rule="keep"))
    with Swarm(seed=1) as swarm:
        swarm.spawn("x500")
        swarm.choreograph(mission)
        with pytest.raises(ConfigError, match="it flies one"):
            swarm.choreograph(mission)


def test_a_file_names_the_mission_of_all(tmp_path: Path) -> None:
    file = tmp_path / "swarm.yaml"
    file.write_text("formation: shapes\nvehicles: [{robot: x500, count: 2}]\n", encoding="utf-8")
    with load_swarm(file) as swarm:
        swarm.start()
        assert swarm.choreography is not None
        assert swarm.choreography.runner.mission.name == "shapes"
    file.write_text("formation: nope\nvehicles: [{robot: x500}]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"swarm\.yaml: no shipped swarm named 'nope'"):
        load_swarm(file)


def test_the_command_flies_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mission = tmp_path / "up.yaml"
    mission.write_text("name: up\nsteps: [takeoff: {altitude_m: 1}, land: {}]\n", encoding="utf-8")
    out = tmp_path / "run"
    words = ["sitl", "x500", "--vehicles", "2", "--formation", str(mission), "--out", str(out)]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "closest approach: " in told
    assert "takeoff" in (out / "manifest.yaml").read_text(encoding="utf-8")
    assert f"--formation {mission}" in (out / "manifest.yaml").read_text(encoding="utf-8")
    assert main([*words[:-2], "--mission", "hover"]) != 0
