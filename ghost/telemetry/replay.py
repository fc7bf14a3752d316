"""Play a log back onto a bus: the same messages, the same order, the same times."""

from collections.abc import Collection, Iterator
from pathlib import Path

from ghost.core.clock import SimClock
from ghost.core.errors import ClockError
from ghost.events import Bus
from ghost.telemetry.reader import LogReader, Record


class ReplayClock(SimClock):
    """Run time as a log tells it. Only the replay moves it; what is scheduled on it runs."""

    __slots__ = ()

    def advance_to(self, at_ns: int) -> None:
        raise ClockError(f"cannot advance to {at_ns} ns: the replay moves this clock")

    def follow(self, record: Record) -> None:
        """Let time pass until the moment at which record was published."""
        super().advance_to(record.stamp_ns)


class Replay:
    """A bus source: re-injects the chosen channels (all by default) in their total order.

    Make the bus on `clock`, subscribe, then run() to the end or step() message by message.
    """

    def __init__(
        self, log: LogReader | Path | str, channels: Collection[str] | None = None
    ) -> None:
        self.clock = ReplayClock()
        self._reader = log if isinstance(log, LogReader) else LogReader(log)
        self._records: Iterator[Record] = self._reader.messages(channels)

    def step(self, bus: Bus) -> Record | None:
        """Publish the next message; None when the log has ended."""
        record = next(self._records, None)
        if record is not None:
            self.clock.follow(record)
            bus.publish(record.channel, record.message)
        return record

    def run(self, bus: Bus) -> int:
        """Publish all that is left; how many messages that was."""
        count = 0
        while self.step(bus) is not None:
            count += 1
        return count
