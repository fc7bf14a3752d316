"""docs/missions.md: its example can be flown, its table names every key, its defaults are true."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ghost.hal import SafetyEnvelope
from ghost.mission import load_mission
from ghost.mission.steps import Defaults

PAGE = (Path(__file__).parents[2] / "docs" / "missions.md").read_text(encoding="utf-8")
KEYS = "name frame defaults steps altitude_m position_enu_m waypoints yaw stop seconds polygon"
KEYS += " rectangle spacing_m heading_deg timeout_s on_timeout until battery_below"
KEYS += " altitude_above_m elapsed_s event stop_before_obstacle_m"


def test_the_example_can_be_flown() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    load_mission(example).check(SafetyEnvelope(), (0.0, 0.0, 0.0))


@pytest.mark.parametrize("key", KEYS.split())
def test_every_key_is_in_the_table(key: str) -> None:
    assert re.search(rf"^\|[^|]*\|[^|]*`{key}`", PAGE, re.MULTILINE)


@pytest.mark.parametrize("entry", fields(Defaults), ids=lambda entry: entry.name)
def test_the_defaults_are_as_written(entry: object) -> None:
    name, value = entry.name, entry.default  # type: ignore[attr-defined]  # a Field
    (row,) = re.findall(rf"^\| (?:defaults)? ?\| `{name}` \|.*\| (\S+) \|$", PAGE, re.MULTILINE)
    assert float(row) == value
