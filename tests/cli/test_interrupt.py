"""Ctrl-C before there is a flight that could answer it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

FLY = ("-m", "ghost.cli", "deploy", "sim", "x500", "--mission", "slow.yaml")


def start(desk: Path, *options: str) -> subprocess.Popen[str]:
    """A flight of a mission that comes from a pipe, so that reading it takes as long as we like."""
    os.mkfifo(desk / "slow.yaml")
    return subprocess.Popen(
        [sys.executable, *options, *FLY],
        cwd=desk,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs tests in the background may have it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Python notices a signal between two of its steps: one that comes right before a step that
    blocks waits for its end. So it is pressed again, as anybody would.
    """
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=3)
    raise AssertionError("ten times Ctrl-C, and it is still there")


@pytest.mark.parametrize("module", ["numpy.version", "ghost.core.errors", "ghost.telemetry"])
def test_ctrl_c_while_importing_is_one_line(tmp_path: Path, module: str) -> None:
    with start(tmp_path, "-X", "importtime") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.endswith(f" {module}\n"):
                break
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=30)
    lines = [line for line in complaint.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, said, lines) == (130, "", ["ghost: interrupted"])


def test_ctrl_c_while_reading_is_one_line_and_leaves_no_run(tmp_path: Path) -> None:
    with start(tmp_path) as process, (tmp_path / "slow.yaml").open("w"):  # once it is being read
        said, complaint = interrupted(process)
    assert (process.returncode, said, complaint) == (130, "", "ghost: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["slow.yaml"]
