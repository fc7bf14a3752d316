"""The adapter of docs/write-an-adapter.md, installed as a stranger would, passes every check."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "write-an-adapter.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example in it, and its entry point."""
    page = PAGE.read_text(encoding="utf-8")
    source = tmp_path_factory.mktemp("source")
    for name, language in (("pyproject.toml", "toml"), ("tiny_simulator.py", "python")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
        (source / name).write_text(block, encoding="utf-8")
    target = tmp_path_factory.mktemp("installed")
    offline = ("--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check")
    run("-m", "pip", "install", "--quiet", *offline, "--target", str(target), str(source))
    return target


def run(*arguments: str, path: Path | None = None) -> str:
    environment = dict(os.environ) if path is None else {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_conforms(installed: Path) -> None:
    arguments = ("conform", "x500", "--mode", "sim", "--simulator", "tiny")
    printed = run("-m", "ghost.cli", *arguments, path=installed)
    mandatory, optional = printed.split("optional:")
    assert mandatory.count("[PASS]") >= 20
    assert mandatory.count("[PASS]") == mandatory.count("  [")
    assert optional.count("[PASS]") >= 20
    assert "[FAIL]" not in printed


def test_it_is_short_and_repeatable_on_any_machine(installed: Path) -> None:
    module = installed / "tiny_simulator.py"
    assert len(module.read_text(encoding="utf-8").splitlines()) < 100
    run("-m", "ghost.lint", str(module))
