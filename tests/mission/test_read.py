"""Mission files: what is understood, and how the rest is refused."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.mission import load_mission
from ghost.mission.steps import (
    Frame,
    GoTo,
    Hold,
    Land,
    OnTimeout,
    Return,
    Survey,
    Takeoff,
    Until,
)

MISSIONS = Path(__file__).parents[2] / "ghost" / "scenarios" / "missions"
WAYPOINT = {"east_m": 1.0, "north_m": 2.0, "altitude_m": 3.0}


def mission(*steps: Any, **head: Any) -> str:
    middle = [{"takeoff": {"altitude_m": 5.0}}, *steps, {"land": {}}]
    return yaml.safe_dump({"name": "test", "steps": middle} | head)


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_mission(text)
    message = str(caught.value)
    assert message.startswith("mission: "), message
    return message.removeprefix("mission: ")


def test_every_key_arrives() -> None:
    found = load_mission(
        """
name: all
frame: home
defaults: {speed_mps: 4, climb_mps: 1.0, acceleration_mps2: 1.5, yaw_rate_dps: 45, acceptance_m: 1}
steps:
  - takeoff: {altitude_m: 5, timeout_s: 20, on_timeout: abort}
  - goto: {position_enu_m: [1, 2, 3], yaw: 90, stop: true}
  - goto:
      waypoints: [{east_m: 1, north_m: 2, altitude_m: 3}, {east_m: 4, north_m: 5, altitude_m: 6}]
      speed_mps: 2.5
      yaw: path
      on_timeout: continue
      until: {battery_below: 0.3, altitude_above_m: 9, elapsed_s: 1.5, event: SEEN}
  - hold: {seconds: 2.5}
  - survey: {rectangle: [[0, 0], [9, 6]], spacing_m: 2, altitude_m: 7, heading_deg: 180}
  - survey: {polygon: [[0, 0], [9, 0], [0, 9]], spacing_m: 2, altitude_m: 7, speed_mps: 1, yaw: 0}
  - return: {timeout_s: 60}
  - land: {timeout_s: 90}
"""
    )
    assert (found.name, found.frame) == ("all", Frame.HOME)
    takeoff, first, second, hold, rectangle, polygon, back, land = found.steps
    assert isinstance(takeoff, Takeoff)
    assert takeoff.terms.timeout_ns == 20_000_000_000
    assert takeoff.terms.on_timeout is OnTimeout.ABORT
    assert isinstance(first, GoTo)
    assert (first.waypoints_enu_m, first.speed_mps, first.stop) == (((1.0, 2.0, 3.0),), 4.0, True)
    assert first.yaw_rad == pytest.approx(math.pi / 2)
    assert isinstance(second, GoTo)
    assert second.waypoints_enu_m == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert (second.speed_mps, second.yaw_rad) == (2.5, None)
    assert second.terms.until == Until(0.3, 9.0, 1_500_000_000, "SEEN")
    assert isinstance(hold, Hold)
    assert hold.duration_ns == 2_500_000_000
    assert isinstance(rectangle, Survey)
    assert rectangle.polygon_enu_m == ((0.0, 0.0), (9.0, 0.0), (9.0, 6.0), (0.0, 6.0))
    assert rectangle.heading_rad == pytest.approx(math.pi)
    assert isinstance(polygon, Survey)
    assert (polygon.speed_mps, polygon.yaw_rad) == (1.0, 0.0)
    assert isinstance(back, Return)
    assert isinstance(land, Land)
    assert land.terms.timeout_ns == 90_000_000_000


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (
            {"goto": {"waypoints": [WAYPOINT | {"altitude": 3}]}},
            "unknown key steps[1].goto.waypoints[0].altitude; did you mean altitude_m?",
        ),
        (
            {"goto": {"waypoints": [WAYPOINT, WAYPOINT | {"altitude_m": "high"}]}},
            "steps[1].goto.waypoints[1].altitude_m is 'high'; expected a number",
        ),
        (
            {"goto": {"waypoints": [{"east_m": 1.0, "north_m": 1.0}]}},
            "steps[1].goto.waypoints[0].altitude_m is missing",
        ),
        ({"goto": {"position_enu_m": [0, 0]}}, "steps[1].goto.position_enu_m has 2 entries"),
        (
            {"goto": {"position_enu_m": [0, math.nan, 1]}},
            "steps[1].goto.position_enu_m[1] is nan; expected -100000 to 100000",
        ),
        ({"goto": {"position_enu_m": [0, 10**400, 1]}}, "steps[1].goto.position_enu_m[1] is 1000"),
        ({"goto": {}}, "steps[1].goto has neither position_enu_m nor waypoints; give one"),
        (
            {"goto": {"position_enu_m": [0, 0, 1], "waypoints": [WAYPOINT]}},
            "steps[1].goto has both position_enu_m and waypoints; give one",
        ),
        ({"goto": {"position_enu_m": [0, 0, 1], "yaw": "north"}}, "steps[1].goto.yaw is 'north'"),
        (
            {"goto": {"position_enu_m": [0, 0, 1], "stop": 1}},
            "steps[1].goto.stop is 1; expected tr",
        ),
        (
            {"goto": {"position_enu_m": [0, 0, 1], "speed_mps": 0}},
            "steps[1].goto.speed_mps is 0; e",
        ),
        ({"hold": {"seconds": True}}, "steps[1].hold.seconds is True; expected a number"),
        ({"hold": {"seconds": 5, "timeout_s": -1}}, "steps[1].hold.timeout_s is -1; expected 0.1"),
        ({"hold": {"seconds": 5, "on_timeout": "stop"}}, "steps[1].hold.on_timeout is 'stop'; exp"),
        ({"hold": {"seconds": 5, "until": {}}}, "steps[1].hold.until is empty"),
        (
            {"hold": {"seconds": 5, "until": {"altitude_above": 3}}},
            "unknown key steps[1].hold.until.altitude_above; did you mean altitude_above_m?",
        ),
        (
            {"hold": {"seconds": 5, "until": {"battery_below": 30}}},
            "steps[1].hold.until.battery_below is 30; expected 0 to 1",
        ),
        ({"hovr": {"seconds": 5}}, "unknown step steps[1].hovr; expected takeoff, goto"),
        ({"gotto": {}}, "unknown step steps[1].gotto; did you mean goto?"),
        ({"hold": {"seconds": 1}, "land": {}}, "steps[1] is {'hold'"),
        ("land", "steps[1] is 'land'; expected one step, such as land: {}"),
        ({"return": {"until": {"elapsed_s": 3}}}, "unknown key steps[1].return.until"),
        ({"takeoff": {"altitude_m": 5}}, "steps[1] takes off, but the vehicle is in the air"),
        (
            {"survey": {"polygon": [[0, 0], [1, 1]], "spacing_m": 1, "altitude_m": 5}},
            "steps[1].survey.polygon has 2 entries; expected 3 to 100",
        ),
        (
            {"survey": {"polygon": [[0, 0], [1, 1], [2, 2]], "spacing_m": 1, "altitude_m": 5}},
            "steps[1].survey.polygon: polygon",
        ),
        (
            {"survey": {"rectangle": [[0, 0], [9e4, 9e4]], "spacing_m": 1, "altitude_m": 5}},
            "steps[1].survey.rectangle: spacing_m 1.0 makes 90000 lines",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(step: Any, complaint: str) -> None:
    assert refusal(mission(step)).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: x\nsteps: []", "steps has 0 entries"),
        ("name: x", "steps is missing"),
        ("steps: [{land: {}}]", "name is missing"),
        ("name: x\nsteps: [{land: {}}]", "steps[0] needs a vehicle in the air"),
        ("name: x\nsteps: [{takeoff: {altitude_m: 5}}]", "steps[0] leaves the vehicle in the air"),
        ("name: x\nname: y\nsteps: []", "key 'name' stands twice, again in line 2"),
        ("- 1\n- 2", "the document is [1, 2]; expected keys and values"),
        ("name: x\nstep: []\nsteps: []", "unknown key step; did you mean steps?"),
        ("name: 5\nsteps: [{land: {}}]", "name is 5; expected a text"),
        ("name: x\nframe: sky\nsteps: [{land: {}}]", "frame is 'sky'; expected world or home"),
        (
            "name: x\ndefaults: {speed: 3}\nsteps: [1]",
            "unknown key defaults.speed; did you mean sp",
        ),
    ],
)
def test_a_mission_must_make_sense_as_a_whole(text: str, complaint: str) -> None:
    assert refusal(text).startswith(complaint)


@pytest.mark.parametrize("text", ["{", "a: !!python/object:os.system x", "x: 2026-13-01", "\x00"])
def test_what_is_no_yaml_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not YAML"):
        load_mission(text)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_be_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        load_mission(text)


def test_files_are_paths_and_name_themselves(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("name: x\nstepps: []\n")
    with pytest.raises(ConfigError, match=r"m\.yaml: unknown key stepps; did you mean steps\?"):
        load_mission(path)
    with pytest.raises(ConfigError, match=r"^cannot read .*none\.yaml: No such file or directory$"):
        load_mission(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"give a file as pathlib\.Path"):
        load_mission("m.yaml")


def test_a_mission_keeps_what_stood_in_its_file_wherever_it_is_flown(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(mission(frame="home"))
    found = load_mission(path)
    assert found.plain == yaml.safe_load(path.read_text())
    assert found.at((1.0, 2.0, 3.0)).plain == found.plain
    assert load_mission(mission(frame="home", defaults={})) == found  # it flies the same


@pytest.mark.parametrize("path", sorted(MISSIONS.iterdir()), ids=lambda path: path.stem)
def test_the_shipped_missions_load(path: Path) -> None:
    assert load_mission(path).name == path.stem
