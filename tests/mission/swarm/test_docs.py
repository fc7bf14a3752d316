"""docs/swarm-missions.md: its example can be flown, its table has every key and true defaults."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ghost.hal import SafetyEnvelope
from ghost.mission.swarm import load_swarm_mission
from ghost.mission.swarm.steps import Defaults
from tests.mission.swarm.rig import row

PAGE = (Path(__file__).parents[3] / "docs" / "swarm-missions.md").read_text(encoding="utf-8")
KEYS = "name description vehicles frame separation on_loss defaults steps altitude_m shape"
KEYS += " spacing_m offsets_flu_m centre_enu_m heading_deg waypoints heading targets seconds"
KEYS += " places speed_mps timeout_s on_timeout"


def test_the_example_can_be_flown() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    load_swarm_mission(example).check(row(5), dict.fromkeys(row(5), SafetyEnvelope()))


@pytest.mark.parametrize("key", KEYS.split())
def test_every_key_is_in_the_table(key: str) -> None:
    assert re.search(rf"^\|[^|]*\|[^|]*`{key}`", PAGE, re.MULTILINE)


@pytest.mark.parametrize("entry", fields(Defaults), ids=lambda entry: entry.name)
def test_the_defaults_are_as_written(entry: object) -> None:
    name, value = entry.name, entry.default  # type: ignore[attr-defined]  # a Field
    (told,) = re.findall(rf"^\| (?:defaults)? ?\| `{name}` \|.*\| (\S+) \|$", PAGE, re.MULTILINE)
    assert float(told) == value
