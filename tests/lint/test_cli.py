"""`python -m ghost.lint` as people and CI run it."""

import subprocess
import sys
from pathlib import Path

import pytest


def ghost_lint(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ghost.lint", *map(str, args)]
    root = Path(__file__).parents[2]
    return subprocess.run(
        command,
        cwd=cwd,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_clean_code_is_silent(tmp_path: Path) -> None:
    write(tmp_path / "adapter.py", "step_ns = 4_000_000\n")
    result = ghost_lint(".", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_finding_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "sim" / "adapter.py", "import time\n\nnow = time.monotonic()\n")
    result = ghost_lint("sim", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stdout == (
        "sim/adapter.py:3:7: GD101 time.monotonic reads the wall clock; "
        "use the run's clock (ghost.core SimClock.now_ns) instead\n"
    )


def test_the_float_field_message(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "class A:\n    dt: float\n")
    result = ghost_lint("a.py", cwd=tmp_path)
    assert "float time field; use int nanoseconds and an _ns suffix" in result.stdout


def test_the_arithmetic_messages(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "x = y**2\nx = y.sum()\n")
    assert ghost_lint("a.py", cwd=tmp_path).stdout == (
        "a.py:1:5: GD501 ** rounds as the machine's libm does; "
        "use x * x, math.sqrt or ghost.core.exact instead\n"
        "a.py:2:5: GD502 .sum() adds in the machine's order; use a loop or math.fsum instead\n"
    )


def test_an_excuse_with_a_reason_is_silent(tmp_path: Path) -> None:
    excuse = "# determinism: allow GD102 the person watching needs a pause"
    write(tmp_path / "a.py", f"import time\ntime.sleep(1)  {excuse}\n")
    assert ghost_lint("a.py", cwd=tmp_path).returncode == 0


def test_an_excuse_that_excuses_nothing_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "x = 1  # determinism: allow GD102 left over\n")
    result = ghost_lint("a.py", cwd=tmp_path)
    assert (result.returncode, "a.py:1:8: GD002" in result.stdout) == (1, True)


def test_caches_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / ".venv" / "lib.py", "import time\ntime.sleep(1)\n")
    assert ghost_lint(".", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("missing.py", "ghost.lint: missing.py: no such file or folder\n"),
        ("bad.py", "ghost.lint: bad.py:1: not valid Python: invalid syntax\n"),
    ],
)
def test_a_bad_path_is_a_usage_error(tmp_path: Path, name: str, complaint: str) -> None:
    write(tmp_path / "bad.py", "x = = 1\n")
    result = ghost_lint(name, cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", complaint)


def test_no_path_is_a_usage_error(tmp_path: Path) -> None:
    assert ghost_lint(cwd=tmp_path).returncode == 2


def test_help_teaches_and_list_names_every_rule(tmp_path: Path) -> None:
    assert "# determinism: allow GD101" in ghost_lint("--help", cwd=tmp_path).stdout
    listed = ghost_lint("--list", cwd=tmp_path).stdout
    assert all(code in listed for code in ("GD001", "GD101", "GD202", "GD302", "GD401", "GD502"))
