"""Runs in the unit's interpreter before anything of the unit does, and gives it a slow disk and a
wall clock that jumps. Orders are read from a mapped file at each call: see hil/companion/inside.py,
which has the same layout. Without the variable, nothing is changed. The standard library only.
"""

import builtins
import datetime as dt
import hashlib
import io
import mmap
import os
import stat
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

VARIABLE = "GHOST_RIG_FAULTS"
ORDERS = struct.Struct("<qqqdq")
"""Seed, nanoseconds of a slow sync and of a slow write, how probable they are, clock offset."""
REPORT = struct.Struct("<qq")
"""Pid of the interpreter that reads them, and how many operations it made slow."""

_WRITING = frozenset("wax+")
_REAL_DATETIME = dt.datetime
_real_time_ns = time.time_ns
_real_open = io.open


class Orders:
    def __init__(self, path: str) -> None:
        number = os.open(path, os.O_RDWR)
        try:
            self._map = mmap.mmap(number, ORDERS.size + REPORT.size)
        finally:
            os.close(number)
        self._operations = self._slow = 0
        self._report()

    @property
    def clock_offset_ns(self) -> int:
        offset_ns: int = ORDERS.unpack_from(self._map)[4]
        return offset_ns

    def delay(self, *, is_sync: bool) -> None:
        seed, sync_ns, write_ns, probability, _ = ORDERS.unpack_from(self._map)
        slow_ns = sync_ns if is_sync else write_ns
        if not slow_ns:
            return
        self._operations += 1
        lot = hashlib.blake2b(f"{seed}/{self._operations}".encode(), digest_size=8).digest()
        if int.from_bytes(lot, "little") < probability * 2**64:
            self._slow += 1
            self._report()
            time.sleep(slow_ns / 1e9)

    def _report(self) -> None:
        REPORT.pack_into(self._map, ORDERS.size, os.getpid(), self._slow)


def install(orders: Orders) -> None:
    _slow_disk(orders)
    _jumping_clock(orders)


def _slow_disk(orders: Orders) -> None:
    def slowed(real: Callable[..., Any], *, is_sync: bool) -> Callable[..., Any]:
        def call(number: Any, *values: Any) -> Any:
            if _is_file(number):  # a serial port is written with os.write, too
                orders.delay(is_sync=is_sync)
            return real(number, *values)

        return call

    for name in ("fsync", "fdatasync"):
        setattr(os, name, slowed(getattr(os, name), is_sync=True))
    for name in ("write", "pwrite", "writev"):
        setattr(os, name, slowed(getattr(os, name), is_sync=False))
    io.open = builtins.open = _slow_open(orders)


def _slow_open(orders: Orders) -> Any:
    class SlowFile(io.FileIO):
        def write(self, data: Any, /) -> int:
            if _is_file(self):
                orders.delay(is_sync=False)
            return super().write(data)

    def slow_open(  # noqa: PLR0917 - open() has them
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        is_text = "b" not in mode
        is_sound = buffering != 0 if is_text else (encoding, errors, newline) == (None,) * 3
        if not _WRITING & frozenset(mode) or not is_sound:
            return _real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = SlowFile(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        whole = io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
        if not is_text:
            return whole
        is_by_line = buffering == 1 or raw.isatty()
        return io.TextIOWrapper(whole, io.text_encoding(encoding), errors, newline, is_by_line)

    return slow_open


def _jumping_clock(orders: Orders) -> None:
    def now_ns() -> int:
        return _real_time_ns() + orders.clock_offset_ns

    def with_now(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda seconds=None: real(time.time() if seconds is None else seconds)

    real_clock, real_clock_ns = time.clock_gettime, time.clock_gettime_ns
    wall = time.CLOCK_REALTIME
    time.time_ns = now_ns
    time.time = lambda: now_ns() / 1e9
    time.clock_gettime = lambda clock: now_ns() / 1e9 if clock == wall else real_clock(clock)
    time.clock_gettime_ns = lambda clock: now_ns() if clock == wall else real_clock_ns(clock)
    time.gmtime, time.localtime = with_now(time.gmtime), with_now(time.localtime)

    class AnyDatetime(type):
        """Those that C code makes are datetimes as well."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, _REAL_DATETIME)

    class Datetime(_REAL_DATETIME, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(dt.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    Datetime.__name__ = Datetime.__qualname__ = "datetime"
    Datetime.__module__ = "datetime"
    dt.datetime = Datetime  # type: ignore[misc]


def _is_file(file: Any) -> bool:
    number = file if isinstance(file, int) else file.fileno()
    return stat.S_ISREG(os.fstat(number).st_mode)


if VARIABLE in os.environ:
    try:
        install(Orders(os.environ[VARIABLE]))
    except OSError as error:  # the rig sees that nobody reads its orders
        sys.stderr.write(f"{VARIABLE}: {error}\n")
