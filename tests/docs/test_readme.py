"""The README's flight, flown as it says, must come to what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import ghost

ROOT = Path(ghost.__file__).parents[1]


def test_the_flight_comes_to_what_the_readme_says(tmp_path: Path) -> None:
    (promised,) = re.findall(r"```\n(outcome .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = subprocess.run(
        [sys.executable, "-m", "ghost.cli", "deploy", "sim", "x500", "--out", tmp_path / "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    assert promised in printed
    assert (tmp_path / "run" / "report.html").exists()


def test_every_make_target_is_in_the_readme_as_the_makefile_puts_it() -> None:
    targets = re.findall(r"^([a-z]+):.*## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    readme = (ROOT / "README.md").read_text()
    missing = [
        f"make {name}" for name, about in targets if f"| `make {name}` | {about} |" not in readme
    ]
    assert missing == ["make help"]
