"""What a proxy may do to a link, as data: an effect, where it holds, and when."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import ClassVar

from firmware_bridge.targets import NAMES
from ghost.core.errors import ConfigError

LONGEST_PACKET_BYTES = 280


class Direction(StrEnum):
    TO_VEHICLE = "to_vehicle"
    TO_UNIT = "to_unit"
    BOTH = "both"

    @property
    def lanes(self) -> "tuple[Direction, ...]":
        both = (Direction.TO_VEHICLE, Direction.TO_UNIT)
        return both if self is Direction.BOTH else (self,)


class Side(StrEnum):
    UNIT = "unit"
    VEHICLE = "vehicle"


@dataclass(frozen=True, slots=True)
class Cut:
    """Nothing passes. In one direction it is a half-open link."""

    kind: ClassVar[str] = "cut"


@dataclass(frozen=True, slots=True)
class Loss:
    kind: ClassVar[str] = "loss"
    probability: float

    def __post_init__(self) -> None:
        _check_probability(self.kind, self.probability)


@dataclass(frozen=True, slots=True)
class Duplicate:
    kind: ClassVar[str] = "duplicate"
    probability: float
    copies: int = 1

    def __post_init__(self) -> None:
        _check_probability(self.kind, self.probability)
        _check_integer(self.kind, "copies", self.copies, 1, 1000)


@dataclass(frozen=True, slots=True)
class Delay:
    """Later by delay_ns and up to jitter_ns more, in the order in which they came."""

    kind: ClassVar[str] = "delay"
    delay_ns: int = 0
    jitter_ns: int = 0

    def __post_init__(self) -> None:
        _check_integer(self.kind, "delay_ns", self.delay_ns, 0, 3600 * 10**9)
        _check_integer(self.kind, "jitter_ns", self.jitter_ns, 0, 3600 * 10**9)


@dataclass(frozen=True, slots=True)
class Reorder:
    """A chosen frame lets one to `depth` others past it, or goes after hold_ns where none come."""

    kind: ClassVar[str] = "reorder"
    probability: float
    depth: int = 3
    hold_ns: int = 500_000_000

    def __post_init__(self) -> None:
        _check_probability(self.kind, self.probability)
        _check_integer(self.kind, "depth", self.depth, 1, 1000)
        _check_integer(self.kind, "hold_ns", self.hold_ns, 1, 60 * 10**9)


@dataclass(frozen=True, slots=True)
class Corrupt:
    """So many different bits of a frame flipped, wherever they are."""

    kind: ClassVar[str] = "corrupt"
    probability: float
    bits: int = 1

    def __post_init__(self) -> None:
        _check_probability(self.kind, self.probability)
        _check_integer(self.kind, "bits", self.bits, 1, 64)


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A slow wire behind a queue; what finds the queue full is lost."""

    kind: ClassVar[str] = "bandwidth"
    bytes_per_s: int
    queue_bytes: int = 16_384

    def __post_init__(self) -> None:
        _check_integer(self.kind, "bytes_per_s", self.bytes_per_s, 1, 10**9)
        _check_integer(self.kind, "queue_bytes", self.queue_bytes, LONGEST_PACKET_BYTES, 1 << 24)


@dataclass(frozen=True, slots=True)
class Inject:
    """Packets of somebody else, one each period, from the first again after the last. With
    renumber each gets the next sequence number of its sender, as a living one's would have.
    """

    kind: ClassVar[str] = "inject"
    packets: tuple[bytes, ...]
    period_ns: int = 100_000_000
    renumber: bool = True

    def __post_init__(self) -> None:
        if not self.packets or not all(isinstance(one, bytes) and one for one in self.packets):
            raise ConfigError("inject has no packets, or empty ones; hil.proxy.traffic makes some")
        _check_integer(self.kind, "period_ns", self.period_ns, 100_000, 3600 * 10**9)


@dataclass(frozen=True, slots=True)
class Replay:
    """The last `count` frames that went this way before it began, byte for byte, once more."""

    kind: ClassVar[str] = "replay"
    count: int = 50
    period_ns: int = 20_000_000

    def __post_init__(self) -> None:
        _check_integer(self.kind, "count", self.count, 1, 4096)
        _check_integer(self.kind, "period_ns", self.period_ns, 100_000, 3600 * 10**9)


@dataclass(frozen=True, slots=True)
class Unplug:
    """The port itself is gone: a pty hung up, a connection closed, a socket nobody holds."""

    kind: ClassVar[str] = "unplug"
    side: Side = Side.UNIT


Effect = Cut | Loss | Duplicate | Delay | Reorder | Corrupt | Bandwidth | Inject | Replay | Unplug


@dataclass(frozen=True, slots=True)
class Fault:
    """messages are names, or patterns such as SET_POSITION_TARGET*; empty means everything. at_ns
    counts from when it is applied or its schedule is played; with no duration it lasts until it is
    cleared.
    """

    effect: Effect
    direction: Direction = Direction.BOTH
    messages: tuple[str, ...] = ()
    at_ns: int = 0
    duration_ns: int | None = None

    def __post_init__(self) -> None:
        kind = self.effect.kind
        _check_integer(kind, "at_ns", self.at_ns, 0, 10**15)
        if self.duration_ns is not None:
            _check_integer(kind, "duration_ns", self.duration_ns, 1, 10**15)
        if isinstance(self.effect, Inject | Unplug) and self.messages:
            raise ConfigError(f"{kind} chooses among no messages; leave `messages` out")
        ids_of(self.messages)


@dataclass(frozen=True, slots=True)
class Schedule:
    faults: tuple[Fault, ...]

    @property
    def end_ns(self) -> int | None:
        """When the last one is over; None where one lasts until it is cleared."""
        ends = [
            fault.at_ns + fault.duration_ns
            for fault in self.faults
            if fault.duration_ns is not None
        ]
        return max(ends, default=0) if len(ends) == len(self.faults) else None


def ids_of(patterns: Iterable[str]) -> frozenset[int] | None:
    """The message ids that the patterns mean; None where there are none, and so all are meant."""
    found: list[int] = []
    wanted = tuple(patterns)
    for pattern in wanted:
        ids = [number for number, name in NAMES.items() if fnmatchcase(name, pattern)]
        if not ids:
            raise ConfigError(
                f"no MAVLink message is named {pattern!r}; expected one like HEARTBEAT, or a "
                "pattern like SET_POSITION_TARGET*"
            )
        found.extend(ids)
    return frozenset(found) if wanted else None


def _check_probability(kind: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{kind} has a probability of {value!r}; expected 0 to 1")


def _check_integer(kind: str, name: str, value: int, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise ConfigError(f"{kind} has {name} = {value!r}; expected an integer, {low} to {high}")
