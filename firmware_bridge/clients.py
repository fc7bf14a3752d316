"""The other ends of a router: each with its own queue, none able to delay another."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.frame import Framer

MOST_WAITING_BYTES = 65_536
LONGEST_FULL_NS = 10_000_000_000
MOST_NEIGHBOURS = 256

ClientNews = Callable[[str, bool, str], None]
"""Told by name when a client comes or goes, and why."""


class Neighbours:
    """The systems and components that were heard over one port."""

    def __init__(self) -> None:
        self._sources: set[tuple[int, int]] = set()
        self._systems: set[int] = set()

    def learn(self, system: int, component: int) -> None:
        if len(self._sources) < MOST_NEIGHBOURS:
            self._sources.add((system, component))
            self._systems.add(system)

    def has(self, system: int, component: int) -> bool:
        """Component 0 is any."""
        if component == 0:
            return system in self._systems
        return (system, component) in self._sources


@dataclass(slots=True)
class PortCounts:
    received: int = 0
    received_bytes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    dropped: int = 0
    """Frames for which there was no room, or no way."""
    denied: int = 0
    """Frames that the guard kept from the flight controller."""


class Client:
    """One peer. write takes what it can of a frame without waiting, and says how much."""

    def __init__(self, name: str, write: Callable[[bytes], int], *, is_stream: bool) -> None:
        self.name = name
        self.counts = PortCounts()
        self.neighbours = Neighbours()
        self.framer = Framer()
        self.came_ns = 0
        self.heard_ns = 0
        self.failure = ""
        """Why it is done for; empty while it isn't."""
        self._write = write
        self._is_stream = is_stream
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._is_begun = False
        """Whether a part of the first frame is out: the rest has to follow."""
        self._full_since_ns: int | None = None

    @property
    def has_stayed(self) -> bool:
        """Whether it was heard after it came: a forged sender often isn't."""
        return self.heard_ns > self.came_ns

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        return self._waiting_bytes

    def send(self, raw: bytes, now_ns: int) -> None:
        """Now, or when there is room; the oldest make way for the newest."""
        if self.failure:
            self.counts.dropped += 1
            return
        self._waiting.append(raw)
        self._waiting_bytes += len(raw)
        if len(self._waiting) == 1:
            self.flush()
        while self._waiting_bytes > MOST_WAITING_BYTES:
            self._drop(1 if self._is_begun else 0)
            if self._full_since_ns is None:
                self._full_since_ns = now_ns

    def flush(self) -> None:
        while self._waiting:
            raw = self._waiting[0]
            try:
                taken = self._write(raw)
            except OSError as error:
                if self._is_stream:
                    self.failure = error.strerror or str(error)
                    return
                self._drop(0)  # nobody there for this datagram; there may be for the next
                continue
            self._waiting_bytes -= taken
            self.counts.sent_bytes += taken
            if taken:
                self._full_since_ns = None
            if taken < len(raw):
                self._waiting[0] = raw[taken:]
                self._is_begun = self._is_begun or taken > 0
                return
            self._waiting.popleft()
            self._is_begun = False
            self.counts.sent += 1

    def give_up_if_stuck(self, now_ns: int) -> None:
        since_ns = self._full_since_ns
        if since_ns is not None and now_ns - since_ns >= LONGEST_FULL_NS:
            self.failure = f"took nothing for {LONGEST_FULL_NS / 1e9:g} s"

    def _drop(self, place: int) -> None:
        self._waiting_bytes -= len(self._waiting[place])
        del self._waiting[place]
        self.counts.dropped += 1
