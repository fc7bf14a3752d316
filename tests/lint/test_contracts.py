"""The real contracts of pyproject.toml, run on a fake tree that breaks or keeps each of them."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# One forbidden import per row of the design's table: the file, its import, what is reported.
FORBIDDEN = [
    ("ghost/core/clock.py", "import yaml", "yaml"),
    ("ghost/core/deep/er.py", "import ghost.hal", "ghost.hal"),
    ("ghost/hal/gate.py", "import time", "time"),
    ("ghost/hal/messages.py", "import pybullet", "pybullet"),
    ("ghost/hal/queues.py", "from collections import deque", "collections"),
    ("ghost/events/bus.py", "import ghost.telemetry", "ghost.telemetry"),
    ("ghost/state/vehicle.py", "import ghost.events", "ghost.events"),
    ("ghost/telemetry/log.py", "import ghost.simulation.backend", "ghost.simulation.backend"),
    ("ghost/telemetry/cloud.py", "from google.cloud import storage", "google"),
    ("ghost/estimation/ekf.py", "import ghost.control", "ghost.control"),
    ("ghost/perception/see.py", "import cv2", "cv2"),
    ("ghost/mission/fly.py", "def f():\n    import ghost.simulation", "ghost.simulation"),
    ("ghost/planning/path.py", "import ghost.autopilot", "ghost.autopilot"),
    ("ghost/autopilot/mixer.py", "import ghost.simulation.backend", "ghost.simulation.backend"),
    ("ghost/simulation/pybullet/a.py", "import ghost.simulation.gazebo", "ghost.simulation.gazebo"),
    ("ghost/simulation/gazebo_px4/a.py", "import pybullet", "pybullet"),
    ("ghost/simulation/gazebo_px4/b.py", "import jsbsim", "jsbsim"),
    (
        "ghost/simulation/backend.py",
        "import ghost.simulation.lightweight",
        "ghost.simulation.lightweight",
    ),
    ("ghost/sitl/bridge.py", "import ghost.hardware", "ghost.hardware"),
    ("ghost/px4/process.py", "import ghost.hal", "ghost.hal"),
    ("ghost/mission/start.py", "import ghost.px4.process", "ghost.px4.process"),
    ("ghost/hardware/real.py", "import pymavlink", "pymavlink"),
    ("ghost/deploy/session.py", "import ghost.cli", "ghost.cli"),
    ("ghost/cli/fly.py", "import ghost.control", "ghost.control"),
    ("ghost/lint/extra.py", "import ghost.core.clock", "ghost.core.clock"),
    ("ghost/lint/more.py", "import ghost.lint.contracts", "ghost.lint.contracts"),
    ("ghost/report/page.py", "import ghost.deploy", "ghost.deploy"),
    ("ghost/mission/tell.py", "import ghost.report", "ghost.report"),
    ("ghost/verify/order.py", "import ghost.deploy", "ghost.deploy"),
    ("ghost/mission/judge.py", "import ghost.verify", "ghost.verify"),
    ("ghost/conformance/check.py", "import ghost.autopilot", "ghost.autopilot"),
    ("ghost/telemetry/rig.py", "import hil", "hil"),
    ("ghost/scenarios/load.py", "import yaml", "yaml"),
    ("ghost/deploy/tool.py", "import importlinter", "importlinter"),
    ("firmware_bridge/link.py", "import ghost.hal", "ghost.hal"),
    ("hil/rig.py", "import ghost.cli", "ghost.cli"),
    ("hil/probe.py", "import pymavlink", "pymavlink"),
]

ALLOWED = {
    "ghost/core/clock.py": "import heapq\nimport numpy\nfrom ghost import __doc__",
    "ghost/core/errors.py": "",
    "ghost/hal/gate.py": "from collections.abc import Mapping\nimport enum, ghost.core.clock",
    "ghost/events/bus.py": "import ghost.hal.gate\nimport time",
    "ghost/telemetry/log.py": "import mcap, ghost.events\nfrom google.protobuf import message",
    "ghost/control/pid.py": "import ghost.state",
    "ghost/state/vehicle.py": "import ghost.hal",
    "ghost/mission/fly.py": "import ghost.planning",
    "ghost/planning/path.py": "import ghost.control.pid, ghost.mapping",
    "ghost/mapping/grid.py": "import ghost.perception",
    "ghost/perception/see.py": "",
    "ghost/simulation/adapter.py": "",
    "ghost/simulation/pybullet/a.py": "import pybullet\nimport ghost.simulation.adapter",
    "ghost/deploy/session.py": "import ghost.simulation.pybullet, ghost.telemetry, yaml",
    "ghost/report/page.py": "import ghost.telemetry",
    "ghost/verify/order.py": "import ghost.telemetry",
    "ghost/conformance/check.py": "import ghost.deploy, ghost.simulation.adapter",
    "ghost/cli/fly.py": "import ghost.deploy, ghost.report, ghost.verify, argparse",
    "firmware_bridge/link.py": "import pymavlink, serial, ghost.core",
    "hil/rig.py": "import ghost.deploy, firmware_bridge, docker",
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    run = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", run, "--no-logo", "--no-cache"],
        cwd=folder,
        # Wide, so that no line of the report is folded.
        env={**os.environ, "COLUMNS": "300", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def plant(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        for package in list(file.relative_to(folder).parents)[:-1]:
            (folder / package / "__init__.py").touch()
        file.write_text(f"{text}\n", encoding="utf-8")


def plant_ghost(folder: Path, files: Mapping[str, str]) -> None:
    """A fake ghost under our real contracts, with the real contract types."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "ghost" / "lint", folder / "ghost" / "lint")
    plant(folder, {"firmware_bridge/x.py": "", "hil/x.py": "", **files})
    (folder / "ghost" / "__init__.py").touch()


@pytest.fixture(scope="module")
def broken_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("broken")
    targets = ("simulation/gazebo", "simulation/lightweight", "control", "hardware")
    files = {f"ghost/{target}/__init__.py": "" for target in targets}
    plant_ghost(folder, {**files, **{file: text for file, text, _ in FORBIDDEN}})
    result = lint_imports(folder)
    assert result.returncode == 1, result.stdout
    return result.stdout


@pytest.mark.parametrize(("file", "text", "imported"), FORBIDDEN)
def test_each_row_of_the_table_fires(
    broken_report: str, file: str, text: str, imported: str
) -> None:
    importer = file.removesuffix(".py").replace("/", ".")
    *before, statement = text.splitlines()
    report = f"{importer}:{len(before) + 1} imports {imported}: {statement.strip()}"
    assert report in broken_report


def test_every_contract_can_break(broken_report: str) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}
    kept = {name for name in names if f"{name} KEPT" in broken_report}
    assert kept == set()


def test_what_the_table_allows_passes(tmp_path: Path) -> None:
    plant_ghost(tmp_path, ALLOWED)
    result = lint_imports(tmp_path)
    assert result.returncode == 0, result.stdout


CUSTOM = """\
[tool.importlinter]
root_packages = ["drone"]
include_external_packages = true
contract_types = ["allowed_imports: ghost.lint.contracts.AllowedImports"]

[[tool.importlinter.contracts]]
name = "wings stay clean"
type = "allowed_imports"
source_modules = ["drone.wings", "drone.not_written_yet"]
allow = ["drone.body", "numpy"]
"""


@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("import numpy\nfrom drone.body import x", None),
        ("from . import flap", None),
        ("import numpy\nimport os", "drone.wings.left:2 imports os: import os"),
        ("import drone.tail  # type: ignore[x]", "drone.wings.left:1 imports drone.tail"),
    ],
)
def test_a_contract_of_ones_own(tmp_path: Path, statement: str, report: str | None) -> None:
    (tmp_path / "pyproject.toml").write_text(CUSTOM, encoding="utf-8")
    empty = dict.fromkeys(("drone/body/x.py", "drone/tail/x.py", "drone/wings/flap.py"), "")
    plant(tmp_path, {**empty, "drone/wings/left.py": statement})
    shutil.copytree(ROOT / "ghost" / "lint", tmp_path / "ghost" / "lint")
    result = lint_imports(tmp_path)
    assert result.returncode == (0 if report is None else 1), result.stdout
    if report:
        assert report in result.stdout
        assert "allowed: itself, drone.body, numpy" in result.stdout
