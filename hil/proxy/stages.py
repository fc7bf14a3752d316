"""Effects at work. A stage is given each parcel in turn and says what goes on; one that holds
something back, or sends of its own, says when it wants to be asked again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from firmware_bridge.frame import Frame, Framer
from ghost.core.random import RandomSource
from hil.proxy.faults import (
    Bandwidth,
    Corrupt,
    Cut,
    Delay,
    Duplicate,
    Effect,
    Inject,
    Loss,
    Reorder,
    Replay,
    Unplug,
)
from hil.proxy.traffic import renumbered


@dataclass(frozen=True, slots=True)
class Parcel:
    raw: bytes
    frame: Frame | None
    """None for bytes that belong to no frame: those are cut or late, never chosen by lot."""
    leaves_ns: int


Note = Callable[[str, Parcel, str], None]
"""Told what was done to what, and the figure that goes with it."""


class Stage(Protocol):
    def take(self, parcel: Parcel) -> list[Parcel]: ...

    @property
    def due_ns(self) -> int | None:
        """When give_due has something; None for never."""
        ...

    def give_due(self, now_ns: int) -> list[Parcel]: ...

    def finish(self, now_ns: int) -> list[Parcel]:
        """Its fault is over: what it held back."""
        ...


def stage_of(
    effect: Effect, random: RandomSource, note: Note, history: list[bytes], now_ns: int
) -> Stage | None:
    """What a replay may take is in history, oldest first. None for what is done to a side."""
    match effect:
        case Reorder():
            return _Held(effect, random, note)
        case Inject():
            return _Source(effect.packets, effect.period_ns, now_ns, note, effect.renumber)
        case Replay():
            return _Source(tuple(history[-effect.count :]), effect.period_ns, now_ns, note, None)
        case Unplug():
            return None
        case Delay():
            return _Each(_Late(effect, random, note).take)
        case Bandwidth():
            return _Each(_Slow(effect, note).take)
        case _:
            return _Each(_lots(effect, random, note))


def _lots(
    effect: Cut | Loss | Duplicate | Corrupt, random: RandomSource, note: Note
) -> Callable[[Parcel], list[Parcel]]:
    match effect:
        case Cut():
            return lambda parcel: _cut(parcel, note)
        case Loss():
            return lambda parcel: _lose(parcel, effect, random, note)
        case Duplicate():
            return lambda parcel: _duplicate(parcel, effect, random, note)
        case Corrupt():
            return lambda parcel: _corrupt(parcel, effect, random, note)


def _cut(parcel: Parcel, note: Note) -> list[Parcel]:
    note("dropped", parcel, "")
    return []


def _lose(parcel: Parcel, effect: Loss, random: RandomSource, note: Note) -> list[Parcel]:
    if parcel.frame is None or random.uniform() >= effect.probability:
        return [parcel]
    note("dropped", parcel, "")
    return []


def _duplicate(parcel: Parcel, effect: Duplicate, random: RandomSource, note: Note) -> list[Parcel]:
    if parcel.frame is None or random.uniform() >= effect.probability:
        return [parcel]
    note("duplicated", parcel, f"copies={effect.copies}")
    return [parcel] * (1 + effect.copies)


def _corrupt(parcel: Parcel, effect: Corrupt, random: RandomSource, note: Note) -> list[Parcel]:
    if parcel.frame is None or random.uniform() >= effect.probability:
        return [parcel]
    raw = bytearray(parcel.raw)
    # Different bits, or two flips of one would leave the frame sound.
    places = list(range(len(raw) * 8))
    chosen = [places.pop(random.integers(0, len(places))) for _ in range(effect.bits)]
    for place in chosen:
        raw[place // 8] ^= 1 << place % 8
    note("corrupted", parcel, f"bits={','.join(map(str, sorted(chosen)))}")
    return [replace(parcel, raw=bytes(raw))]


class _Each:
    """What is decided for each parcel at once."""

    due_ns: int | None = None

    def __init__(self, take: Callable[[Parcel], list[Parcel]]) -> None:
        self.take = take

    def give_due(self, now_ns: int) -> list[Parcel]:
        del now_ns
        return []

    def finish(self, now_ns: int) -> list[Parcel]:
        del now_ns
        return []


class _Late:
    def __init__(self, effect: Delay, random: RandomSource, note: Note) -> None:
        self._effect = effect
        self._random = random
        self._note = note
        self._last_ns = 0

    def take(self, parcel: Parcel) -> list[Parcel]:
        late_ns = self._effect.delay_ns
        if self._effect.jitter_ns and parcel.frame is not None:
            late_ns += self._random.integers(0, self._effect.jitter_ns + 1)
        self._last_ns = max(self._last_ns, parcel.leaves_ns + late_ns)
        self._note("delayed", parcel, f"delay_ns={self._last_ns - parcel.leaves_ns}")
        return [replace(parcel, leaves_ns=self._last_ns)]


class _Slow:
    def __init__(self, effect: Bandwidth, note: Note) -> None:
        self._effect = effect
        self._note = note
        self._free_ns = 0

    def take(self, parcel: Parcel) -> list[Parcel]:
        rate = self._effect.bytes_per_s
        starts_ns = max(self._free_ns, parcel.leaves_ns)
        waiting_bytes = (starts_ns - parcel.leaves_ns) * rate // 10**9
        if waiting_bytes + len(parcel.raw) > self._effect.queue_bytes:
            self._note("dropped", parcel, f"queue_bytes={waiting_bytes}")
            return []
        self._free_ns = starts_ns + len(parcel.raw) * 10**9 // rate
        self._note("delayed", parcel, f"delay_ns={self._free_ns - parcel.leaves_ns}")
        return [replace(parcel, leaves_ns=self._free_ns)]


@dataclass(slots=True)
class _Waiting:
    parcel: Parcel
    until_ns: int
    to_pass: int


class _Held:
    def __init__(self, effect: Reorder, random: RandomSource, note: Note) -> None:
        self._effect = effect
        self._random = random
        self._note = note
        self._held: list[_Waiting] = []

    @property
    def due_ns(self) -> int | None:
        return min((one.until_ns for one in self._held), default=None)

    def take(self, parcel: Parcel) -> list[Parcel]:
        if parcel.frame is None:
            return [parcel]
        is_chosen = self._random.uniform() < self._effect.probability
        to_pass = self._random.integers(
            1, self._effect.depth + 1
        )  # drawn in any case, to keep step
        if is_chosen:
            self._note("reordered", parcel, f"behind={to_pass}")
            until_ns = parcel.leaves_ns + self._effect.hold_ns
            self._held.append(_Waiting(parcel, until_ns, to_pass))
            return []
        passed, overtaken = [parcel], len(self._held)
        while True:  # who is let go overtakes those that were held before it
            for one in self._held[:overtaken]:
                one.to_pass -= 1
            ready = [at for at, one in enumerate(self._held) if one.to_pass <= 0]
            if not ready:
                return passed
            overtaken = ready[0]
            passed.append(_not_before(self._held.pop(overtaken).parcel, parcel.leaves_ns))

    def give_due(self, now_ns: int) -> list[Parcel]:
        return [
            _not_before(one, now_ns) for one in self._release(lambda one: one.until_ns <= now_ns)
        ]

    def finish(self, now_ns: int) -> list[Parcel]:
        return [_not_before(one, now_ns) for one in self._release(lambda _: True)]

    def _release(self, is_ready: Callable[[_Waiting], bool]) -> list[Parcel]:
        ready = [one.parcel for one in self._held if is_ready(one)]
        self._held = [one for one in self._held if not is_ready(one)]
        return ready


class _Source:
    """Sends of its own; what passes is left alone. A replay ends with its last packet, traffic of
    others goes on.
    """

    def __init__(
        self,
        packets: tuple[bytes, ...],
        period_ns: int,
        now_ns: int,
        note: Note,
        renumber: bool | None,
    ) -> None:
        self._packets = packets
        self._period_ns = period_ns
        self._note = note
        self._renumber = renumber
        self._sent = 0
        self.due_ns: int | None = now_ns if packets else None

    def take(self, parcel: Parcel) -> list[Parcel]:
        return [parcel]

    def give_due(self, now_ns: int) -> list[Parcel]:
        given: list[Parcel] = []
        while self.due_ns is not None and self.due_ns <= now_ns:
            given.append(self._next(now_ns))
            self._sent += 1
            is_over = self._renumber is None and self._sent == len(self._packets)
            self.due_ns = None if is_over else self.due_ns + self._period_ns
        return given

    def finish(self, now_ns: int) -> list[Parcel]:
        del now_ns
        self.due_ns = None
        return []

    def _next(self, now_ns: int) -> Parcel:
        raw = self._packets[self._sent % len(self._packets)]
        if self._renumber:
            raw = renumbered(raw, self._sent)
        frame = next(iter(Framer().feed_datagram(raw)), None)
        parcel = Parcel(raw, frame, now_ns)
        self._note("replayed" if self._renumber is None else "injected", parcel, "")
        return parcel


def _not_before(parcel: Parcel, at_ns: int) -> Parcel:
    return replace(parcel, leaves_ns=max(parcel.leaves_ns, at_ns))
