"""Reading is strict: each error names the path to its key. The check names step and way out."""

from math import pi

import pytest

from ghost.core.errors import ConfigError
from ghost.hal import SafetyEnvelope
from ghost.mission.steps import Frame, OnTimeout
from ghost.mission.swarm import SwarmMission, load_swarm_mission
from ghost.mission.swarm.steps import (
    Form,
    GoTo,
    Heading,
    Hold,
    Land,
    Move,
    OnLoss,
    Places,
    Return,
    Takeoff,
    Terms,
)
from ghost.planning.formation import Shape
from tests.mission.swarm.rig import row

UP, DOWN = "takeoff: {altitude_m: 5}", "land: {}"


def mission(*steps: str, head: str = "") -> SwarmMission:
    return load_swarm_mission(f"name: x\n{head}\nsteps:\n" + "".join(f"- {s}\n" for s in steps))


def test_a_mission_is_read_as_written() -> None:
    read = load_swarm_mission(
        """
name: all
vehicles: 3
frame: world
separation: off
on_loss: return
defaults: {separation_m: 2.0, margin_m: 0.5, speed_mps: 2.0}
steps:
  - takeoff: {altitude_m: 4.0, timeout_s: 60}
  - form: {shape: wedge, spacing_m: 5.0, heading_deg: 90.0, centre_enu_m: [1, 2, 6]}
  - form: {offsets_flu_m: [[0, 0, 0], [0, 5, 0], [0, -5, 1]], speed_mps: 1.0}
  - move:
      waypoints: [{east_m: 9, north_m: 0, altitude_m: 6}]
      heading: keep
      on_timeout: continue
  - move: {waypoints: [{east_m: 0, north_m: 0, altitude_m: 6}], heading: 180}
  - goto: {targets: {1: [0, 0, 6], 3: [9, 0, 6]}}
  - goto: {targets: opposite}
  - hold: {seconds: 2.5}
  - return: {places: own}
  - land: {}
"""
    )
    assert read.steps == (
        Takeoff(4.0, Terms(60_000_000_000)),
        Form(Shape.WEDGE, 5.0, (), (1.0, 2.0, 6.0), 90.0 * (pi / 180.0), 2.0),
        Form(None, 0.0, ((0.0, 0.0, 0.0), (0.0, 5.0, 0.0), (0.0, -5.0, 1.0)), speed_mps=1.0),
        Move(((9.0, 0.0, 6.0),), 2.0, Heading.KEEP, Terms(on_timeout=OnTimeout.CONTINUE)),
        Move(((0.0, 0.0, 6.0),), 2.0, 180.0 * (pi / 180.0)),
        GoTo({1: (0.0, 0.0, 6.0), 3: (9.0, 0.0, 6.0)}, 2.0),
        GoTo(None, 2.0),
        Hold(2_500_000_000),
        Return(Places.OWN, 2.0),
        Land(),
    )
    assert (read.vehicles, read.frame, read.keeps_apart) == (3, Frame.WORLD, False)
    assert (read.on_loss, read.defaults.distance_m) == (OnLoss.RETURN, 2.5)


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([UP], "steps has 1 entries"),
        ([DOWN, UP], r"steps\[0\] is no takeoff"),
        ([UP, UP, DOWN], r"steps\[1\] takes off again"),
        ([UP, DOWN, DOWN], r"steps\[1\] lands, and a step follows"),
        ([UP, "return: {}", "hold: {seconds: 1}", DOWN], r"steps\[1\] returns; after it"),
        ([UP, "hold: {seconds: 1}"], r"steps\[1\] leaves the swarm in the air"),
        ([UP, "from: {}", DOWN], r"unknown step steps\[1\].from; did you mean form"),
        ([UP, "land", DOWN], r"steps\[1\] is 'land'; expected one step"),
        ([UP, "form: {spacing_m: 5}", DOWN], r"steps\[1\].form has both or neither"),
        ([UP, "form: {shape: line}", DOWN], "a shape needs it"),
        ([UP, "form: {shape: ring, spacing_m: 5}", DOWN], r"form.shape is 'ring'; expected line"),
        ([UP, "form: {shape: line, spacing: 5}", DOWN], "did you mean spacing_m"),
        ([UP, "move: {}", DOWN], r"steps\[1\].move.waypoints is missing"),
        (
            [UP, "move: {waypoints: [{east_m: 0, north_m: 0, up_m: 1}]}", DOWN],
            r"unknown key steps\[1\].move.waypoints\[0\].up_m",
        ),
        (
            [UP, "move: {waypoints: [{east_m: 0, north_m: 0, altitude_m: 1}], heading: n}", DOWN],
            "move.heading is 'n'; expected path or keep",
        ),
        ([UP, "goto: {targets: {0: [0, 0, 5]}}", DOWN], "goto.targets: vehicle is 0"),
        ([UP, "goto: {targets: {1: [0, 0]}}", DOWN], r"goto.targets\[1\] has 2 entries"),
        ([UP, "goto: {targets: {}}", DOWN], "expected opposite, or vehicles"),
        ([UP, "return: {on_timeout: continue}", DOWN], "return.on_timeout is 'continue'"),
    ],
)
def test_what_is_not_understood_is_refused(steps: list[str], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        mission(*steps)


@pytest.mark.parametrize(
    ("head", "error"),
    [
        ("separation: maybe", "separation is 'maybe'; expected keep or off"),
        ("vehicles: 300", "vehicles is 300; expected an integer, 1 to 254"),
        ("defaults: {separation: 3}", "did you mean separation_m"),
        ("on_loss: hover", "on_loss is 'hover'"),
    ],
)
def test_the_head_is_strict_too(head: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        mission(UP, DOWN, head=head)


def test_text_that_is_a_name_is_told_from_a_mission() -> None:
    with pytest.raises(ConfigError, match=r"is no mission; give a file as pathlib\.Path"):
        load_swarm_mission("shapes")


FENCE = SafetyEnvelope(geofence_enu_m=[[-20, -20], [20, -20], [20, 20], [-20, 20]])


@pytest.mark.parametrize(
    ("steps", "head", "error"),
    [
        ([UP, DOWN], "vehicles: 4", "the swarm has 2 vehicles; expected 4"),
        (
            [UP, "form: {shape: line, spacing_m: 3.5}", DOWN],
            "",
            r"step 1 \(form\): vehicles . and . are 3.50 m apart, .*, and 4 m are kept",
        ),
        (
            [UP, "form: {offsets_flu_m: [[0, 0, 0], [0, 0, 9]]}", DOWN],
            "",
            "are 0.00 m apart, seen from above",
        ),
        ([UP, "form: {offsets_flu_m: [[0, 0, 0]]}", DOWN], "", "1 offsets for 2 vehicles"),
        (
            [UP, "goto: {targets: {1: [0, 9, 5], 2: [2, 9, 5]}}", DOWN],
            "",
            r"step 1 \(goto\): vehicles 1 and 2 are 2.00 m apart",
        ),
        ([UP, "goto: {targets: {7: [0, 9, 5]}}", DOWN], "", "no vehicle 7; the swarm has 1, 2"),
        (
            [UP, "move: {waypoints: [{east_m: 18, north_m: 0, altitude_m: 5}]}", DOWN],
            "",
            "of vehicle 2, at .* is .* m outside the fence",
        ),
        (["takeoff: {altitude_m: 200}", DOWN], "", "is outside the altitudes 0 to 120 m"),
        (
            [UP, "form: {shape: line, spacing_m: 5, speed_mps: 12}", DOWN],
            "",
            "may take up to 18 m/s to keep up, above the envelope's 15 of vehicle 1",
        ),
    ],
)
def test_what_cannot_be_flown_is_refused_before_take_off(
    steps: list[str], head: str, error: str
) -> None:
    read = mission(*steps, head=f"frame: world\n{head}")
    with pytest.raises(ConfigError, match=error):
        read.check(row(2), dict.fromkeys((1, 2), FENCE))


def test_with_the_rule_off_nearness_is_allowed() -> None:
    read = mission(UP, "form: {shape: line, spacing_m: 1}", DOWN, head="separation: off")
    read.check(row(2, 1.0), dict.fromkeys((1, 2), FENCE))


def test_positions_count_from_the_middle_of_home() -> None:
    read = mission(
        UP,
        "form: {shape: line, spacing_m: 5, centre_enu_m: [1, 2, 5]}",
        "move: {waypoints: [{east_m: 3, north_m: 0, altitude_m: 5}]}",
        "goto: {targets: {2: [0, 0, 5]}}",
        DOWN,
    )
    moved = read.at({1: (10.0, 0.0, 1.0), 2: (20.0, 10.0, 3.0)})
    form, move, goto = moved.steps[1:4]
    assert isinstance(form, Form)
    assert isinstance(move, Move)
    assert isinstance(goto, GoTo)
    assert form.centre_enu_m == (16.0, 7.0, 7.0)
    assert move.waypoints_enu_m == ((18.0, 5.0, 7.0),)
    assert goto.targets_enu_m == {2: (15.0, 5.0, 7.0)}
