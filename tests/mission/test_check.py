"""Before take-off: what can't be flown is told with its step, its value and the way out."""

import re

import pytest

from ghost.core.errors import ConfigError
from ghost.hal import SafetyEnvelope
from ghost.mission import load_mission
from tests.mission.rig import ENVELOPE, MISSIONS

HOME = (0.0, 0.0, 0.0)
# A notch from the north: (0, 30) is outside, though both its sides are inside.
NOTCHED = SafetyEnvelope(
    geofence_enu_m=[
        *([-40, -40], [40, -40], [40, 40], [5, 40], [5, 10], [-5, 10], [-5, 40], [-40, 40]),
    ]
)


def around(steps: str, defaults: str = "{}") -> str:
    return (
        f"name: x\ndefaults: {defaults}\nsteps: [takeoff: {{altitude_m: 5}}, {steps}, land: {{}}]"
    )


@pytest.mark.parametrize("path", sorted(MISSIONS.iterdir()), ids=lambda path: path.stem)
def test_the_shipped_missions_can_be_flown_from_anywhere_in_the_fence(path: str) -> None:
    mission = load_mission(MISSIONS / path)
    mission.check(ENVELOPE, HOME)
    mission.check(ENVELOPE, (-15.0, -20.0, 2.0))


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (
            "goto: {position_enu_m: [70, 0, 5]}",
            "step 1 (goto): waypoint 0, at (70.0, 0.0, 5.0), is 10.0 m outside the fence; move it",
        ),
        (
            "goto: {position_enu_m: [0, 0, 130]}",
            "step 1 (goto): waypoint 0, at (0.0, 0.0, 130.0), is outside the altitudes 0 to 120 m",
        ),
        (
            "survey: {rectangle: [[0, 0], [90, 9]], spacing_m: 3, altitude_m: 5}",
            "step 1 (survey): waypoint 1, at (90.0, 1.5, 5.0), is 30.0 m outside the fence",
        ),
        (
            "goto: {position_enu_m: [50, 0, 5], timeout_s: 5}",
            "step 1 (goto): needs 18.9 s, and timeout_s is 5; raise timeout_s or speed_mps",
        ),
        (
            "hold: {seconds: 9, timeout_s: 5}",
            "step 1 (hold): needs 9.0 s, and timeout_s is 5",
        ),
        (
            "goto: {position_enu_m: [50, 0, 5], speed_mps: 16}",
            "step 1 (goto): speed_mps 16 is above the envelope's 15; lower it",
        ),
    ],
)
def test_a_step_that_cannot_be_flown_is_named(steps: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load_mission(around(steps)).check(ENVELOPE, HOME)


def test_take_off_above_the_band_is_refused() -> None:
    mission = load_mission("name: x\nsteps: [takeoff: {altitude_m: 121}, land: {}]")
    with pytest.raises(ConfigError, match=r"step 0 \(takeoff\): altitude_m 121"):
        mission.check(ENVELOPE, HOME)


def test_beyond_reach_is_refused() -> None:
    mission = load_mission(around("goto: {position_enu_m: [50, 0, 5]}"))
    with pytest.raises(ConfigError, match="beyond the reach of 30 m"):
        mission.check(ENVELOPE, HOME, reach_m=30.0)


def test_the_path_between_waypoints_must_stay_inside_too() -> None:
    steps = """goto: {waypoints: [{east_m: -20, north_m: 30, altitude_m: 5},
                                  {east_m: 20, north_m: 30, altitude_m: 5}]}"""
    with pytest.raises(ConfigError, match=r"step 1 \(goto\): the path .* outside the fence"):
        load_mission(around(steps)).check(NOTCHED, HOME)


def test_the_bulge_of_a_corner_counts_and_stop_is_the_way_out() -> None:
    fence = SafetyEnvelope(geofence_enu_m=[[-1, -1], [20, -1], [20, 20], [-1, 20]])
    corners = [(19.9, 0), (19.9, 19.9), (0, 0)]
    way = ", ".join(f"{{east_m: {e}, north_m: {n}, altitude_m: 5}}" for e, n in corners)
    with pytest.raises(ConfigError, match="stop: true"):
        load_mission(around(f"goto: {{waypoints: [{way}]}}")).check(fence, HOME)
    load_mission(around(f"goto: {{waypoints: [{way}], stop: true}}")).check(fence, HOME)


def test_the_way_home_must_stay_inside() -> None:
    home = (-20.0, 30.0, 0.0)
    text = around(
        "goto: {waypoints: [{east_m: 0, north_m: 0, altitude_m: 5}, "
        "{east_m: 20, north_m: 30, altitude_m: 5}], stop: true}, return: {}"
    )
    with pytest.raises(ConfigError, match=r"step 2 \(return\): the way home"):
        load_mission(text).check(NOTCHED, home)


@pytest.mark.parametrize(
    ("defaults", "complaint"),
    [
        ("{climb_mps: 6}", "climb_mps 6 is above the envelope's 5"),
        ("{acceleration_mps2: 12}", "acceleration_mps2 12 needs more tilt"),
    ],
)
def test_defaults_must_fit_the_envelope(defaults: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load_mission(around("hold: {seconds: 1}", defaults)).check(ENVELOPE, HOME)


def test_frame_home_moves_everything_by_home() -> None:
    text = around("goto: {position_enu_m: [50, 0, 5]}")
    load_mission(text).check(ENVELOPE, (30.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match=r"at \(80\.0, 0\.0, 5\.0\)"):
        load_mission("frame: home\n" + text).check(ENVELOPE, (30.0, 0.0, 0.0))
