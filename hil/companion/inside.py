"""Faults inside the unit's own interpreter: a slow disk, and a wall clock that jumps.

No machine lets a rig slow down one program's disk or step one program's clock, and stepping the
machine's own is out of the question. So the unit is started with a folder on its PYTHONPATH whose
sitecustomize wraps what Ghost calls, without a change to Ghost:

- os.fsync, os.fdatasync, os.write, os.pwrite, and the writes of files opened by open() wait before
  they do what they do, on regular files only;
- time.time, time.time_ns, time.clock_gettime for CLOCK_REALTIME, time.gmtime and time.localtime of
  now, datetime.now, utcnow and today are off by the step; monotonic clocks are not, as in reality.

What it can't show: code in C that writes or reads the clock by itself, the kernel's own write-back,
the times of files, date.today. A sitecustomize that the unit had before is not run. A unit that is
no Python program, or one started with -I or -E, doesn't see it: `is_loaded` tells.
"""

import mmap
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ghost.core.errors import ConfigError
from hil.companion.interpreter.sitecustomize import ORDERS, REPORT, VARIABLE

FOLDER = Path(__file__).parent / "interpreter"
LONGEST_STEP_NS = 2**62


class Inside:
    """Made before the unit starts; its orders are heard at once, as long as the unit runs."""

    def __init__(self, folder: Path, *, seed: int = 0) -> None:
        if not 0 <= seed < 2**63:
            raise ConfigError(f"seed is {seed!r}; expected 0 to 2**63 - 1")
        self.path = folder / "faults-inside"
        self._seed = seed
        self._sync_ns = self._write_ns = self._step_ns = 0
        self._probability = 0.0
        self._telling = threading.Lock()
        self.path.write_bytes(bytes(ORDERS.size + REPORT.size))
        with self.path.open("r+b") as stream:
            self._map = mmap.mmap(stream.fileno(), 0)
        self._tell()

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What the unit is to be started with."""
        paths = [str(FOLDER), *filter(None, [base.get("PYTHONPATH", "")])]
        return {**base, "PYTHONPATH": os.pathsep.join(paths), VARIABLE: str(self.path)}

    @property
    def is_loaded(self) -> bool:
        """Whether the unit reads its orders; else there is no fault, whatever is told."""
        return self._reported()[0] != 0

    @property
    def slow_operations(self) -> int:
        """How many the unit has waited for so far."""
        return self._reported()[1]

    @contextmanager
    def slow_disk(
        self, *, sync_ns: int = 0, write_ns: int = 0, probability: float = 1.0
    ) -> Iterator[None]:
        """Each sync and each write takes so much longer, or one in so many by the seed."""
        if min(sync_ns, write_ns) < 0 or not 0.0 <= probability <= 1.0:
            raise ConfigError(
                f"a disk slower by {sync_ns} and {write_ns} ns with a probability of "
                f"{probability}; expected 0 or more, and 0 to 1"
            )
        self._sync_ns, self._write_ns, self._probability = sync_ns, write_ns, probability
        self._tell()
        try:
            yield
        finally:
            self._sync_ns = self._write_ns = 0
            self._tell()

    def step_clock(self, by_ns: int) -> None:
        """The unit's wall clock is off by that from now on; 0 is right again."""
        if abs(by_ns) > LONGEST_STEP_NS:
            raise ConfigError(f"a step of {by_ns} ns; expected up to {LONGEST_STEP_NS} either way")
        self._step_ns = by_ns
        self._tell()

    def close(self) -> None:
        self._map.close()

    def _tell(self) -> None:
        with self._telling:
            ORDERS.pack_into(
                self._map, 0,
                self._seed, self._sync_ns, self._write_ns, self._probability, self._step_ns,
            )  # fmt: skip

    def _reported(self) -> tuple[int, int]:
        pid, slow = REPORT.unpack_from(self._map, ORDERS.size)
        return pid, slow
