"""A proxy as the rig holds it: the process that carries the link, and orders to it."""

import multiprocessing
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ghost.core.errors import GhostError, LinkError, StalledError
from hil.proxy.faults import Direction, Fault, Schedule, ids_of
from hil.proxy.journal import Counts, Entry, read_journal

START_S = 30.0
ANSWER_S = 5.0
END_S = 2.0


@dataclass(frozen=True, slots=True)
class Handle:
    """What was applied or played; numbers are the faults' in the journal."""

    numbers: tuple[int, ...]
    _proxy: "Proxy"

    def clear(self) -> None:
        """End it now; what has not begun yet never does."""
        self._proxy._ask("clear", self.numbers)  # noqa: SLF001 - two halves of one

    @property
    def is_over(self) -> bool:
        return not self._proxy._ask("unfinished", self.numbers)  # noqa: SLF001

    def wait(self, timeout_s: float) -> None:
        """Until all of it is over."""
        end_s = time.monotonic() + timeout_s
        while not self.is_over:
            if time.monotonic() >= end_s:
                raise StalledError(f"faults {self.numbers} are not over after {timeout_s:g} s")
            time.sleep(0.01)


class Proxy:
    """unit and vehicle are the proxy's own ends: "pty", or a URL such as udpin://127.0.0.1:0.
    Started when it is made; a with block, or close(), ends it.
    """

    def __init__(
        self, *, unit: str, vehicle: str, seed: int = 0, journal: Path | None = None
    ) -> None:
        self._orders = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="ghost-proxy-")
        folder = Path(self._folder.name)
        self._journal_path = folder / "journal.jsonl" if journal is None else journal.absolute()
        self._kept: tuple[Entry, ...] | None = None
        self._output = folder / "output"
        self._pipe, theirs = multiprocessing.Pipe()
        with self._output.open("wb") as output, theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hil.proxy", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            settings = {
                "unit": unit,
                "vehicle": vehicle,
                "seed": seed,
                "folder": str(folder),
                "journal": str(self._journal_path),
            }
            self.unit_url, self.vehicle_url = self._exchange(settings, "start", START_S)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def apply(self, fault: Fault) -> Handle:
        return self.play(Schedule((fault,)))

    def play(self, schedule: Schedule) -> Handle:
        return Handle(self._ask("play", schedule), self)

    def clear(self) -> None:
        """Every fault ends; what it held back leaves."""
        self._ask("clear", None)

    @property
    def counts(self) -> Counts:
        counts: Counts = self._ask("counts")
        return counts

    @property
    def journal(self) -> tuple[Entry, ...]:
        """What was done so far; after the end, all of it."""
        if self._kept is not None:
            return self._kept
        if self._process.poll() is None:
            self._ask("flush")
        return tuple(read_journal(self._journal_path))

    def recorded(self, direction: Direction, messages: Collection[str] = ()) -> tuple[bytes, ...]:
        """The latest frames that came in for this direction, as they were."""
        ids_of(messages)
        frames: tuple[bytes, ...] = self._ask("recorded", direction, tuple(messages))
        return frames

    def close(self) -> None:
        with self._orders:
            try:
                if self._process.poll() is None:
                    self._pipe.send(("stop",))
                    self._process.wait(END_S)
            except (OSError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait(END_S)
            finally:
                self._pipe.close()
                if self._kept is None and self._journal_path.exists():
                    self._kept = tuple(read_journal(self._journal_path))
                self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, verb: str, *values: Any) -> Any:
        return self._exchange((verb, *values), verb, ANSWER_S)

    def _exchange(self, order: Any, what: str, timeout_s: float) -> Any:
        with self._orders:
            if self._pipe.closed:
                raise LinkError(f"the proxy was closed before {what!r}")
            try:
                self._pipe.send(order)
                if not self._pipe.poll(timeout_s):
                    # Its answer may still come, and would be taken for that to the next order.
                    self._process.kill()
                    raise StalledError(
                        f"the proxy (pid {self.pid}) did not answer {what!r} in {timeout_s:g} s"
                    )
                answer = self._pipe.recv()
            except (EOFError, OSError):
                raise LinkError(self._death(what)) from None
        if isinstance(answer, GhostError):
            raise answer
        return answer

    def _death(self, what: str) -> str:
        try:
            code: int | None = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            code = None
        said = self._output.read_text(encoding="utf-8", errors="replace").strip()
        last = said.rpartition("\n")[2] or "nothing"
        return f"the proxy ended (exit code {code}) before it answered {what!r}; it said: {last}"
