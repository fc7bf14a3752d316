"""A PX4 that Ghost started: its folder, what it says, and its end."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ghost.core.errors import LinkError
from ghost.px4 import tied
from ghost.px4.installation import Installation
from ghost.px4.instance import Px4Instance

BOOTED = b"Startup script returned successfully"
_POLITE_S, _LAST_S = 1.0, 10.0
_TAIL_BYTES = 600
_DYING_S = 0.5


class Px4Process:
    """Runs from when it is made until close(), or until Ghost's own end, whichever that is.

    It must be made in a thread that lives as long: the kernel ends it with that.
    """

    def __init__(
        self,
        installation: Installation,
        instance: Px4Instance,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.instance = instance
        self.folder = folder.resolve()
        self.output = self.folder / "px4.out"
        self.folder.mkdir(parents=True, exist_ok=True)
        order = installation.order(instance, self.folder, environment)
        tie = (sys.executable, "-I", "-S", tied.__file__, str(os.getpid()))
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                (*tie, *order.command),
                cwd=self.folder,
                env=dict(order.environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_booted(self) -> bool:
        return BOOTED in self.output.read_bytes()

    def ulogs(self) -> list[Path]:
        """PX4's own logs, oldest first."""
        return sorted(self.folder.glob("log/**/*.ulg"))

    def refuse_if_ended(self) -> None:
        if self._process.poll() is not None:
            raise LinkError(f"{self.instance} ended: {self.state()}")

    def state(self) -> str:
        """For an error text: how it ended or that it runs, and what it said last."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING_S)  # whose connection broke is ending, most likely
        code = self._process.poll()
        if code is None:
            how = f"process {self.pid} runs"
        elif code < 0:
            how = f"its process was ended by {signal.Signals(-code).name}"
        else:
            how = f"its process ended with code {code}"
        return f"{how}; {self.output} ends with {self._tail()!r}"

    def close(self) -> None:
        """End it and whatever it started: its session is its own. Harmless when closed."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        self._process.stdin.close()
        for number, patience_s in ((signal.SIGTERM, _POLITE_S), (signal.SIGKILL, _LAST_S)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)

    def _tail(self) -> str:
        said = self.output.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        return " | ".join(line.strip() for line in said.splitlines()[-4:] if line.strip())
