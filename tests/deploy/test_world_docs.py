"""docs/worlds.md is as the code is."""

import re
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from ghost.deploy.world import load_world, read_solids
from ghost.simulation.scenery import Scenery

PAGE = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text(encoding="utf-8")
(YARD,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SHIPPED = ("empty", "forest", "room", "warehouse")
KINDS = ("box", "cylinder", "wall", "pole", "pad", "forest", "mesh", "urdf")


def yard(folder: Path, text: str = YARD) -> Scenery:
    path = folder / "yard.yaml"
    path.write_text(text, encoding="utf-8")
    return load_world(str(path))


def test_the_world_of_the_example_is_read(tmp_path: Path) -> None:
    assert len(yard(tmp_path).solids) == 45


def test_every_shipped_world_is_in_the_table() -> None:
    told = re.findall(r"^\| `(\w+)` \| [^|]* \|$", PAGE, re.MULTILINE)
    assert tuple(told) == SHIPPED


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_kind_is_in_the_table(tmp_path: Path, kind: str) -> None:
    """The refusal of a key like no other lists all there are."""
    with pytest.raises(ConfigError) as caught:
        read_solids([{kind: {"QQQQ": 1}}], "solids", tmp_path)
    known = str(caught.value).partition("; expected ")[2].split(", ")
    assert set(known) == keys_in(kind) | keys_in("every kind")


def keys_in(where: str) -> set[str]:
    """Of the rows that stand under this word in the table of keys."""
    part, found = "", set()
    for first, keys in re.findall(r"^\|([^|]*)\|([^|]*)\|[^|]*\|[^|]*\|$", PAGE, re.MULTILINE):
        part = first.strip() or part
        if part == where:
            found |= set(re.findall(r"`(\w+)`", keys))
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("height_m: 2.5", "hight_m: 2.5"),
        ("- pole:", "- pol:"),
        ("[4, 3, 6]", "[4, 3, -6]"),
        ("to_m: [20, -20]", "to_m: [-20, -20]"),
        ("name: tower", "name: fence"),
        ("count: 40", "count: 4000"),
        (
            "pole: {at_m: [5, -8], height_m: 9}",
            "mesh: {file: crane.obj, position_enu_m: [5, 0, 0]}",
        ),
    ],
)
def test_the_refusals_are_as_written(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yard(tmp_path, YARD.replace(old, new))
    assert f"ghost: {caught.value}".replace(f"{tmp_path}/", "") in PAGE.splitlines()
