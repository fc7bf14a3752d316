"""Run time: integer nanoseconds from one authority. Simulation moves it, hardware reads it."""

import heapq
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from ghost.core.errors import ClockError

Callback = Callable[[], None]
ErrorHandler = Callable[[BaseException, Callback], None]


class Clock(Protocol):
    """What everything above the backend knows of time."""

    def now_ns(self) -> int:
        """Nanoseconds since the run began; never decreases."""
        ...


class SystemClock:
    """Real run time: monotonic, zero when the run starts."""

    __slots__ = ("_start_ns",)

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()  # determinism: allow GD101 this is the real clock

    def now_ns(self) -> int:
        return time.monotonic_ns() - self._start_ns  # determinism: allow GD101 the real clock


@dataclass(slots=True)
class Timer:
    """A scheduled callback. Cancelling twice, or after it fired, is harmless."""

    callback: Callback
    period_ns: int = 0
    cancelled: bool = field(default=False, init=False)

    def cancel(self) -> None:
        self.cancelled = True


class SimClock:
    """Simulated time: stands still until advanced, then runs what is due in (time, FIFO) order."""

    __slots__ = ("_advancing", "_heap", "_now_ns", "_on_error", "_scheduled", "failures")

    def __init__(self, *, on_error: ErrorHandler | None = None) -> None:
        self._now_ns = 0
        self._heap: list[tuple[int, int, Timer]] = []
        self._scheduled = 0
        self._advancing = False
        self._on_error = on_error or _log_failure
        self.failures = 0

    def now_ns(self) -> int:
        return self._now_ns

    def call_at(self, at_ns: int, callback: Callback) -> Timer:
        return self._schedule(at_ns, Timer(callback))

    def call_after(self, delay_ns: int, callback: Callback) -> Timer:
        return self._schedule(self._now_ns + _integer(delay_ns, "delay_ns"), Timer(callback))

    def call_every(
        self, period_ns: int, callback: Callback, *, first_at_ns: int | None = None
    ) -> Timer:
        """Call at first_at_ns (by default one period from now) and every period after it."""
        if _integer(period_ns, "period_ns") <= 0:
            raise ClockError(f"period_ns is {period_ns}; a periodic callback needs one above 0")
        first = self._now_ns + period_ns if first_at_ns is None else first_at_ns
        return self._schedule(first, Timer(callback, period_ns))

    def advance(self, dt_ns: int) -> None:
        """Let dt_ns pass, running every callback due on the way."""
        self.advance_to(self._now_ns + _integer(dt_ns, "dt_ns"))

    def advance_to(self, at_ns: int) -> None:
        """Let time pass until at_ns, running every callback due on the way, at_ns included."""
        if self._advancing:
            raise ClockError(
                "advance inside a clock callback; schedule with call_at or call_after instead"
            )
        self._refuse_past(at_ns, "advance")
        heap = self._heap
        self._advancing = True
        try:
            while heap and heap[0][0] <= at_ns:
                due_ns, _, timer = heapq.heappop(heap)
                if timer.cancelled:
                    continue
                self._now_ns = due_ns
                if timer.period_ns:
                    # Before the call, from the due time: no drift, and a failure costs one beat.
                    self._schedule(due_ns + timer.period_ns, timer)
                self._run(timer.callback)
            self._now_ns = at_ns
        finally:
            self._advancing = False

    def _schedule(self, at_ns: int, timer: Timer) -> Timer:
        self._refuse_past(at_ns, "schedule")
        heapq.heappush(self._heap, (at_ns, self._scheduled, timer))
        self._scheduled += 1
        return timer

    def _refuse_past(self, at_ns: int, verb: str) -> None:
        if _integer(at_ns, "at_ns") < self._now_ns:
            raise ClockError(f"cannot {verb} to {at_ns} ns: it is already {self._now_ns} ns")

    def _run(self, callback: Callback) -> None:
        try:
            callback()
        except Exception as error:  # noqa: BLE001 - one bad callback must not stop time
            self.failures += 1
            self._on_error(error, callback)


def _integer(value: int, name: str) -> int:
    if type(value) is not int:
        raise ClockError(f"{name} is {value!r}; time is an int of nanoseconds")
    return value


def _log_failure(error: BaseException, callback: Callback) -> None:
    logging.getLogger(__name__).error("clock callback %r failed", callback, exc_info=error)
