"""Children of the rig: they end with it, whatever happens, and every wait for them has an end."""

import contextlib
import ctypes
import io
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ghost.core.errors import GhostError, StalledError

_PR_SET_PDEATHSIG = 1
END_S = 10.0


def spawn(
    words: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    dies_with_rig: bool = True,
    **pipes: Any,
) -> "subprocess.Popen[str]":
    """In a group of its own, so that Ctrl-C is the rig's to pass on, and dead when the rig is."""
    return subprocess.Popen(
        list(words),
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        text=True,
        start_new_session=True,
        preexec_fn=_die_with_parent if dies_with_rig else None,  # noqa: PLW1509 - one system call, no Python locks
        **pipes,
    )


def end(process: "subprocess.Popen[str]", how: signal.Signals = signal.SIGTERM) -> int:
    """Ask it to end; kill it when it doesn't."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(END_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait(END_S)


class Lines:
    """What a process says, line by line, kept in a file."""

    def __init__(self, process: "subprocess.Popen[str]", path: Path) -> None:
        self.said: list[str] = []
        self._fresh: SimpleQueue[str | None] = SimpleQueue()
        self._process = process
        self._path = path
        threading.Thread(target=self._read, daemon=True).start()

    def until(self, text: str, within_s: float) -> str:
        """The next line with that text in it."""
        end_s = time.monotonic() + within_s
        while True:
            try:
                line = self._fresh.get(timeout=max(end_s - time.monotonic(), 0.0))
            except Empty:
                raise StalledError(
                    f"{self._path.stem} did not say {text!r} in {within_s:g} s{self._last()}"
                ) from None
            if line is None:
                self._fresh.put(None)
                raise GhostError(f"{self._path.stem} ended before it said {text!r}{self._last()}")
            if text in line:
                return line

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    def _last(self) -> str:
        return f"; last it said: {' / '.join(self.said[-3:]) or 'nothing'}"

    def _read(self) -> None:
        stream = self._process.stdout or io.StringIO()
        with stream, self._path.open("w", encoding="utf-8") as file:
            for line in stream:
                self.said.append(line.rstrip("\n"))
                file.write(line)
                file.flush()
                self._fresh.put(self.said[-1])
        self._fresh.put(None)


class Servant:
    """A process that takes orders as lines of JSON, and answers so."""

    def __init__(
        self, words: Sequence[str], path: Path, *, ready_s: float, dies_with_rig: bool = True
    ) -> None:
        self.process = spawn(
            words,
            dies_with_rig=dies_with_rig,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._lines = Lines(self.process, path)
        self._orders = threading.Lock()
        try:
            self._lines.until('{"ready"', ready_s)
        except BaseException:
            self.close()
            raise

    def ask(self, answer: str, within_s: float = 5.0, **order: Any) -> Any:
        """Give an order, and wait for the answer with that key. A library that says something of
        its own may have left the line unended before it.
        """
        with self._orders:
            self.tell(**order)
            return self._hear(answer, within_s)

    def finish(self, answer: str, within_s: float) -> Any:
        """No more orders; what it says to that, when it is done."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            return self._hear(answer, within_s)
        finally:
            end(self.process)

    def tell(self, **order: Any) -> None:
        stdin = self.process.stdin
        if stdin is None or self.process.poll() is not None:
            raise GhostError(f"the process that was told {order} has ended")
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()

    def close(self) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        end(self.process)

    def _hear(self, answer: str, within_s: float) -> Any:
        key = f'{{"{answer}"'
        line = self._lines.until(key, within_s)
        return json.JSONDecoder().raw_decode(line[line.index(key) :])[0][answer]


def wait_until(is_so: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Seconds that it took; a StalledError that says what stalled."""
    began_s = time.monotonic()
    while not is_so():
        if time.monotonic() - began_s > within_s:
            raise StalledError(f"{what}: not within {within_s:g} s")
        time.sleep(0.005)
    return time.monotonic() - began_s


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
