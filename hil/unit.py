"""The unit under test: the `ghost deploy run` that flies in the field, as a process of its own."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ghost.core.errors import GhostError, StalledError
from hil.process import END_S, Lines, end, spawn

HOVER = """\
name: hover
frame: home
steps:
  - takeoff: {{altitude_m: {altitude_m}}}
  - hold: {{seconds: {seconds}}}
  - land: {{}}
"""
DONE_S = 20.0


class Unit:
    """link is where it listens or dials; mission is YAML. Options are the command's own."""

    def __init__(
        self,
        desk: Path,
        link: str,
        *,
        mission: str = HOVER.format(altitude_m=2.0, seconds=30.0),
        robot: str = "x500",
        options: Sequence[str] = ("--hil", "--allow-arming"),
        env: Mapping[str, str] | None = None,
        out: Path | None = None,
    ) -> None:
        desk.mkdir(parents=True, exist_ok=True)
        (desk / "mission.yaml").write_text(mission, encoding="utf-8")
        self.desk = desk
        self.folder = desk / "run" if out is None else out
        words = [sys.executable, "-m", "ghost.cli", "deploy", "run", robot, "--link", link]
        words += ["--mission", "mission.yaml", "--out", str(self.folder.absolute()), *options]
        self.process = spawn(
            words, cwd=desk, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._lines = Lines(self.process, desk / "unit.txt")

    @property
    def said(self) -> str:
        return self._lines.text

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def until(self, text: str, within_s: float = 30.0) -> str:
        """The next line with that text in it."""
        return self._lines.until(text, within_s)

    def until_hovering(self, within_s: float = 40.0) -> None:
        """It holds, and has the vehicle: a pilot's HOLD before that would change nothing."""
        self.until("step 1 (hold) started", within_s)
        self.until("-> OFFBOARD", within_s)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(how)

    def kill(self) -> None:
        """As a crash, or a computer that lost its power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(END_S)

    def wait(self, within_s: float = DONE_S) -> int:
        """Its exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise StalledError(f"the unit under test did not end in {within_s:g} s") from None

    def expect(self, text: str) -> None:
        if text not in self.said:
            last = " / ".join(self._lines.said[-5:])
            raise GhostError(
                f"the unit under test did not say {text!r}; at the end it said: {last}"
            )

    def close(self) -> None:
        end(self.process, signal.SIGKILL)
