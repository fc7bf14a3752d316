"""One direction of a link: what comes is taken apart, meets its faults and waits its turn."""

import heapq
from collections import deque
from dataclasses import dataclass

from firmware_bridge.frame import Frame
from ghost.core.random import RandomSource
from hil.proxy.faults import Direction, Fault, ids_of
from hil.proxy.journal import Entry, Journal, LaneCounts, named
from hil.proxy.split import Piece, StreamSplitter, split_datagram
from hil.proxy.stages import Parcel, Stage, stage_of

REMEMBERED_FRAMES = 4096
UNFINISHED_NS = 100_000_000
"""The beginning of a frame waits no longer for more bytes: it was none, or lost its end. The
longest frame takes 49 ms at 57,600 baud.
"""


@dataclass(slots=True)
class _Active:
    number: int
    ids: frozenset[int] | None
    stage: Stage
    last_ns: int = 0
    """When the last of what went through it leaves."""


@dataclass(frozen=True, slots=True)
class _Floor:
    """Of a fault that is over: nothing that it meant overtakes what it still delays."""

    ids: frozenset[int] | None
    until_ns: int


class Lane:
    def __init__(self, direction: Direction, journal: Journal) -> None:
        self.direction = direction
        self.counts = LaneCounts()
        self._journal = journal
        self._splitter = StreamSplitter()
        self._heard_ns = 0
        self._active: list[_Active] = []
        self._floors: list[_Floor] = []
        self._outbox: list[tuple[int, int, bytes]] = []
        self._put = 0
        self._history: deque[Frame] = deque(maxlen=REMEMBERED_FRAMES)
        self._now_ns = 0

    def begin(self, number: int, fault: Fault, random: RandomSource, now_ns: int) -> None:
        def note(action: str, parcel: Parcel, detail: str) -> None:
            setattr(self.counts, action, getattr(self.counts, action) + 1)
            whose = named(parcel.frame)
            self._journal.add(Entry(self._now_ns, action, self.direction, number, *whose, detail))

        history = list(self.recorded(fault.messages))
        stage = stage_of(fault.effect, random, note, history, now_ns)
        if stage is not None:
            self._active.append(_Active(number, ids_of(fault.messages), stage))

    def end(self, number: int, now_ns: int) -> None:
        """What the fault held back goes on through those that are left."""
        self._now_ns = now_ns
        for at, active in enumerate(self._active):
            if active.number == number:
                self._post(self._through(active.stage.finish(now_ns), at + 1))
                del self._active[at]
                self._floors.append(_Floor(active.ids, active.last_ns))
                return

    def recorded(self, patterns: tuple[str, ...]) -> tuple[bytes, ...]:
        ids = ids_of(patterns)
        return tuple(frame.raw for frame in self._history if _is_among(frame, ids))

    def take(self, data: bytes, now_ns: int, *, is_stream: bool) -> None:
        self._now_ns = self._heard_ns = now_ns
        self.counts.bytes += len(data)
        pieces = self._splitter.feed(data) if is_stream else split_datagram(data)
        for piece in pieces:
            if piece.frame is not None:
                self.counts.frames += 1
                self._history.append(piece.frame)
        self._take(pieces, now_ns)

    def forget(self) -> None:
        """Its beginning was opened anew: what was half read belongs to nothing."""
        self._splitter = StreamSplitter()

    def give_due(self, now_ns: int) -> list[bytes]:
        """What leaves now."""
        self._now_ns = now_ns
        if self._splitter.tail and now_ns - self._heard_ns >= UNFINISHED_NS:
            unfinished = Piece(self._splitter.tail, None)
            self.forget()
            self._take([unfinished], now_ns)
        for at, active in enumerate(self._active):
            due_ns = active.stage.due_ns
            if due_ns is not None and due_ns <= now_ns:
                self._post(self._through(active.stage.give_due(now_ns), at + 1))
        due: list[bytes] = []
        while self._outbox and self._outbox[0][0] <= now_ns:
            due.append(heapq.heappop(self._outbox)[2])
        return due

    @property
    def due_ns(self) -> int | None:
        dues = [active.stage.due_ns for active in self._active]
        if self._outbox:
            dues.append(self._outbox[0][0])
        if self._splitter.tail:
            dues.append(self._heard_ns + UNFINISHED_NS)
        return min((due for due in dues if due is not None), default=None)

    def _take(self, pieces: list[Piece], now_ns: int) -> None:
        self._floors = [floor for floor in self._floors if floor.until_ns > now_ns]
        if self._active or self._floors:
            parcels = [Parcel(piece.raw, piece.frame, now_ns) for piece in pieces]
            self._post(self._through(parcels, 0))
        elif pieces:  # without a fault a datagram stays one
            self._post([Parcel(b"".join(piece.raw for piece in pieces), None, now_ns)])

    def _through(self, parcels: list[Parcel], first: int) -> list[Parcel]:
        for active in self._active[first:]:
            passed: list[Parcel] = []
            for parcel in parcels:
                if not _is_among(parcel.frame, active.ids):
                    passed.append(parcel)
                    continue
                for one in active.stage.take(parcel):
                    active.last_ns = max(active.last_ns, one.leaves_ns)
                    passed.append(one)
            parcels = passed
        return parcels

    def _post(self, parcels: list[Parcel]) -> None:
        for parcel in parcels:
            leaves_ns = parcel.leaves_ns
            for floor in self._floors:
                if _is_among(parcel.frame, floor.ids):
                    leaves_ns = max(leaves_ns, floor.until_ns)
            self._put += 1
            heapq.heappush(self._outbox, (leaves_ns, self._put, parcel.raw))


def _is_among(frame: Frame | None, ids: frozenset[int] | None) -> bool:
    return ids is None or (frame is not None and frame.message_id in ids)
