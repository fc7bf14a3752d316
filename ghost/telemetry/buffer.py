"""A bounded buffer between the bus and a slow sink, with a policy for what gives way."""

from collections import Counter, deque
from enum import Enum
from threading import Lock
from typing import Any

from ghost.core.channels import Channel
from ghost.core.errors import ConfigError, MessageError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity, Sink

REPORT_PERIOD_NS = 1_000_000_000

Entry = tuple[Channel[Any], Any, int, int]


class DropPolicy(Enum):
    """What happens to a stream message when the buffer is full. Events are never dropped."""

    DROP_OLDEST = "drop oldest"
    DROP_NEWEST = "drop newest"
    NEVER = "never"


class BufferedSink:
    """Takes messages in the bus's thread and gives them to a sink when drained, in any thread.

    What was dropped is counted per channel and reported as TELEMETRY_BACKPRESSURE, at once and
    then at most once a second. Under NEVER the buffer outgrows its capacity, and says so too.
    """

    def __init__(
        self, sink: Sink, bus: Bus, *, name: str, capacity: int, policy: DropPolicy
    ) -> None:
        if capacity < 1:
            raise ConfigError(f"sink {name}: capacity is {capacity}; expected at least 1")
        self._sink = sink
        self._bus = bus
        self._name = name
        self._capacity = capacity
        self._policy = policy
        self._lock = Lock()
        self._entries: deque[Entry] = deque()
        self._unreported: Counter[str] = Counter()
        self._report_due_ns = -(2**63)
        self._refused: deque[tuple[str, str]] = deque()
        self.dropped: Counter[str] = Counter()
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        entry = (channel, message, stamp_ns, sequence)
        with self._lock:
            if len(self._entries) >= self._capacity:
                self._make_room(entry)
            else:
                self._entries.append(entry)
        if self._unreported and stamp_ns >= self._report_due_ns:
            self._report(stamp_ns)
        if self._refused:
            self._report_refused(stamp_ns)

    def drain(self) -> int:
        """Give everything buffered to the sink, in order; how many that was."""
        with self._lock:
            entries, self._entries = self._entries, deque()
        for entry in entries:
            try:
                self._sink.write(*entry)
            except MessageError as error:
                self._refused.append((entry[0].name, str(error)))
        return len(entries)

    def report(self) -> None:
        """Publish what was dropped or refused and not told yet, before the end of a run."""
        now_ns = self._bus.now_ns()
        if self._unreported:
            self._report(now_ns)
        self._report_refused(now_ns)

    def _make_room(self, entry: Entry) -> None:
        """Find a place in a full buffer. An event always has one, and costs nobody theirs."""
        if entry[0].message_type is Event:
            self._entries.append(entry)
        elif self._policy is DropPolicy.NEVER:
            self._entries.append(entry)
            self.overflowed += 1
            self._unreported[entry[0].name] += 0
        elif self._policy is DropPolicy.DROP_NEWEST:
            self._count_drop(entry)
        else:
            self._entries.append(entry)
            oldest = next(
                index
                for index, waiting in enumerate(self._entries)
                if waiting[0].message_type is not Event
            )
            self._count_drop(self._entries[oldest])
            del self._entries[oldest]

    def _count_drop(self, entry: Entry) -> None:
        self.dropped[entry[0].name] += 1
        self._unreported[entry[0].name] += 1

    def _report(self, now_ns: int) -> None:
        self._report_due_ns = now_ns + REPORT_PERIOD_NS
        by_channel = {name: self._unreported[name] for name in sorted(self._unreported)}
        self._unreported.clear()
        lost = sum(by_channel.values())
        self._bus.publish(
            EVENTS,
            Event(
                stamp_ns=now_ns,
                severity=Severity.WARN,
                kind=EventKind.TELEMETRY_BACKPRESSURE,
                source=self._name,
                text=f"{lost} messages dropped" if lost else f"{len(self)} messages waiting",
                payload={
                    "policy": self._policy.value,
                    "capacity": self._capacity,
                    "waiting": len(self),
                    "dropped": by_channel,
                    "dropped_in_all": sum(self.dropped.values()),
                    "overflowed": self.overflowed,
                },
            ),
        )

    def _report_refused(self, now_ns: int) -> None:
        """A message that the sink could not take is told in the bus's thread, as ever."""
        while self._refused:
            channel, reason = self._refused.popleft()
            self._bus.publish(
                EVENTS,
                Event(
                    stamp_ns=now_ns,
                    severity=Severity.ERROR,
                    kind=EventKind.SUBSCRIBER_FAILED,
                    source=self._name,
                    text=f"{self._name} failed on {channel}: {reason}",
                    payload={"channel": channel},
                ),
            )
