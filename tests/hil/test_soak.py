"""A soak: the same flights for a seed, gone on with where it stopped, and what grows is told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from ghost.deploy import load_scenario
from hil.soak import JOURNAL, Flown, drifts, fly, main, read_journal
from hil.troubles import troubled

CALM = Flown(0, "x500", "hover", "completed", 20.0, 1.0, [], 70.0, 1, 10)
LONG = [replace(CALM, index=index) for index in range(40)]


def test_troubles_can_be_flown_and_differ(tmp_path: Path) -> None:
    drawn = [troubled(RandomSource(1).child(f"flight/{index}"), index) for index in range(40)]
    for scenario in drawn:
        (tmp_path / "one.yaml").write_text(json.dumps(scenario))
        load_scenario(str(tmp_path / "one.yaml"))
    kinds = {event["fault"] for scenario in drawn for event in scenario["events"]}
    assert kinds == {"silent", "frozen", "noise", "charge", "strength", "healed"}
    assert {len(scenario["events"]) for scenario in drawn} >= {0, 2, 4}


@pytest.mark.slow
def test_a_soak_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(tmp_path), "--seed", "2", "--hours"]
    assert main([*words, "0.001"]) == 0
    first = read_journal(tmp_path / JOURNAL, 2)
    (tmp_path / "again").mkdir()
    again = fly(tmp_path / "again", 2, 0)
    assert (again.robot, again.mission, again.simulated_s) == (
        first[0].robot,
        first[0].mission,
        first[0].simulated_s,
    )
    with (tmp_path / JOURNAL).open("a") as journal:
        journal.write('{"seed": 2, "ind')  # it was cut off
    capsys.readouterr()
    assert main([*words, "0.001"]) == 0
    assert f"going on after {len(first)} flights" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="is of another seed; give each its own --out"):
        read_journal(tmp_path / JOURNAL, 3)


def test_what_grows_is_told() -> None:
    assert drifts(LONG) == []
    assert drifts(LONG[:3]) == []
    leaking = [replace(one, memory_mb=70.0 + one.index) for one in LONG]
    assert drifts(leaking) == ["memory grew by 20.0 MB over 40 flights"]
    forgetful = [replace(one, files=10 + one.index // 10) for one in LONG]
    assert drifts(forgetful) == ["files went from 11 to 13"]
    tired = [replace(one, wall_s=1.0 + one.index / 10) for one in LONG]
    assert drifts(tired) == ["a simulated second takes 1.82 times as long as at the beginning"]


@pytest.mark.parametrize("hours", ["0", "-1", "nan"])
def test_hours_are_more_than_none(
    hours: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--hours", hours, "--out", str(tmp_path)]) == 1
    assert "expected above 0" in capsys.readouterr().err
