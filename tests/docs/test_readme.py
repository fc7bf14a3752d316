"""The README's example, run as it stands, must print what the README says it prints."""

import re
import subprocess
import sys
from pathlib import Path

import ghost

ROOT = Path(ghost.__file__).parents[1]


def run(*arguments: str, cwd: Path) -> str:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


def test_the_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (printed,) = re.findall(r"```\n(run .*?)```", readme, re.DOTALL)
    (tmp_path / "first_log.py").write_text(example)
    assert run("first_log.py", cwd=tmp_path) == ""
    assert run("-m", "ghost.cli", "log", "info", "runs/first-log", cwd=tmp_path) == printed
