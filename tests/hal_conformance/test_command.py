"""`ghost conform` as people run it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def conform(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ghost.cli", "conform", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_line_for_each_check_with_its_figure() -> None:
    done = conform("x500", "--mode", "sim", "--only", "hover thrust")
    assert done.returncode == 0, done.stderr
    heading, line, summary = done.stdout.splitlines()
    assert heading == "optional:"
    assert line.startswith("  hover thrust  [PASS]  19.6")
    assert line.endswith(" N for 19.61 N of weight")
    assert summary == "1 passed, 0 failed, 0 skipped"


def test_all_skipped_is_told_by_the_exit_code() -> None:
    done = conform("x500", "--only", "rotors*speed")
    assert done.returncode == 75
    assert "[SKIP]  not declared: ROTOR_SPEED" in done.stdout


def test_a_failed_check_says_what_was_seen_and_expected(tmp_path: Path) -> None:
    """A robot whose battery hardly feels the motors: its own description breaks the promise."""
    text = (ROOT / "robots" / "x500" / "robot.yaml").read_text(encoding="utf-8")
    text = text.replace("name: x500", "name: idler").replace("w: 200.0", "w: 0.00001")
    (tmp_path / "idler").mkdir()
    (tmp_path / "idler" / "robot.yaml").write_text(text, encoding="utf-8")
    done = conform("idler", "--robots", str(tmp_path), "--only", "battery drains")
    assert done.returncode == 1
    assert "[FAIL]" in done.stdout
    assert "; expected " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("x500", "--only", "no such check"), "no check matches"),
        (("ground_station",), "has no simulation HAL"),
        (("x500", "--simulator", "none"), "no simulator named 'none'"),
        (("x501",), "no robot named 'x501'"),
        (("x500", "--timeout", "0"), "--timeout is 0; expected above 0"),
        (("x500", "--timeout", "nan"), "--timeout is nan; expected above 0"),
    ],
)
def test_what_cannot_be_checked_is_one_line(arguments: tuple[str, ...], reason: str) -> None:
    done = conform(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("ghost: ")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr
