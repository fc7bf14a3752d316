"""The gate against an oracle, on commands of every kind, most of them wrong.

The oracle knows what was drawn, not what the constructor made of it, and shares no code with the
gate: exact fractions for the geometry, the documented order for the reasons. Where rounding
decides, it allows either verdict.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.core.clock import SimClock
from ghost.core.errors import shown
from ghost.hal import (
    AckStatus,
    ActuatorSpec,
    AttitudeCommand,
    BodyRateCommand,
    Command,
    CommandAck,
    CommandLevel,
    EnvelopeGate,
    MotorCommand,
    PositionCommand,
    RejectReason,
    SafetyEnvelope,
    TrajectoryCommand,
    VelocityCommand,
)

Numbers = tuple[float, ...]
Verdict = bool | None  # None: too close to call
Corners = Sequence[tuple[float, float]]
T = TypeVar("T")

START_NS = 10_000_000_000
MAX_AGE_NS, TIMEOUT_NS = 1_000, 2_000
INT64_END = 2**63
LARGEST = Fraction(1.7976931348623157e308)
CLOSE_M = 1e-8

MAX_RATE_RPS, MAX_SPEED_MPS, MAX_ACCELERATION_MPS2, MAX_DISTANCE_M = 20.0, 50.0, 90.0, 1_000.0
ENVELOPE_RATE_RPS, ENVELOPE_SPEED_MPS, ENVELOPE_CLIMB_MPS, ENVELOPE_TILT_RAD = 3.0, 8.0, 2.5, 0.5
LOWEST_M, HIGHEST_M = 2.0, 30.0
NOTCHED = [(0, 0), (10, 0), (10, 10), (8, 10), (8, 4), (2, 4), (2, 10), (0, 10)]


# What is drawn: a value, and the numbers that a reader would say it holds


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Drawn:
    """numbers is None when the value isn't what its field takes."""

    value: Any
    numbers: Numbers | None = None

    def __repr__(self) -> str:
        return f"Drawn({shown(self.value)})"


def pick(values: Sequence[T]) -> st.SearchStrategy[T]:
    """One of the values, none of which is hashed, as sampled_from would."""
    return st.integers(0, len(values) - 1).map(lambda index: values[index])


def _raise(*_: object) -> None:
    raise RuntimeError("hostile")


OPERATIONS = (
    *("repr", "str", "eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "len", "iter"),
    *("float", "int", "index", "complex", "abs", "neg", "add", "radd", "mul", "rmul"),
    *("array", "getattr", "getitem", "contains", "array_ufunc", "format"),
)
Hostile = type("Hostile", (), {f"__{name}__": _raise for name in OPERATIONS})
Untouchable = type("Untouchable", (), {"__getattribute__": _raise, "__repr__": _raise})
Unhashable = type("Unhashable", (type,), {"__eq__": _raise, "__hash__": _raise})
UnhashableKind = Unhashable("UnhashableKind", (), {})
FalseFloat = type("FalseFloat", (float,), {f"__{name}__": _raise for name in OPERATIONS})
LyingFloat = type(
    "LyingFloat",
    (float,),
    {"__abs__": lambda _: 0.0, "__lt__": lambda *_: False, "__gt__": lambda *_: False},
)
Derived = type("Derived", (VelocityCommand,), {})

NEITHER_NUMBER_NOR_ARRAY: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: np.True_,
    lambda: "1.0",
    lambda: b"1.0",
    lambda: Decimal(1),
    lambda: Fraction(1, 2),
    lambda: 1j,
    lambda: np.complex64(1),
    lambda: np.timedelta64(3, "ns"),
    lambda: float,
    lambda: {1.0: 2.0},
    lambda: {1.0},
    lambda: [[1.0], [1.0, 2.0]],
    lambda: np.datetime64("2026-01-01"),
    lambda: np.ma.masked,
    object,
    Hostile,
]
NAN_BITS = (0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0001, 0x7FF0_0000_0000_0001, 2**64 - 1)
NOT_FINITE = st.sampled_from(
    [math.inf, -math.inf, *np.array(NAN_BITS, np.uint64).view(np.float64).tolist()]
)
TINY = st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.2e-308, -1e-300])
IMPLAUSIBLE = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.just(-1e308))


def array_of(numbers: Numbers) -> st.SearchStrategy[Drawn]:
    """The right shape, in some form that carries numbers."""
    floats = np.array(numbers, np.float64)
    with np.errstate(all="ignore"):
        single, half = floats.astype(np.float32), floats.astype(np.float16)
        extended = floats.astype(np.longdouble)
    forms = [
        Drawn(floats, numbers),
        Drawn(list(numbers), numbers),
        Drawn(numbers, numbers),
        Drawn(np.repeat(floats, 2)[::2], numbers),
        Drawn(floats.astype(">f8"), numbers),
        Drawn(extended, numbers),
        Drawn(single, tuple(single.tolist())),
        Drawn(half, tuple(half.tolist())),
    ]
    if all(abs(number) < 2**31 for number in numbers):  # false for NaN
        whole = floats.astype(np.int64)
        forms += [
            Drawn(whole, tuple(whole.tolist())),
            Drawn([int(number) for number in whole], tuple(whole.tolist())),
            Drawn(whole.astype(np.int32), tuple(whole.tolist())),
        ]
    return pick(forms)


def no_array_for(numbers: Numbers) -> st.SearchStrategy[Drawn]:
    floats, size = np.array(numbers, np.float64), len(numbers)
    wrong: list[Any] = [
        *(floats[:-1], floats[np.newaxis], floats[:, np.newaxis], floats[:0], floats[0]),
        *(np.append(floats, 0.0), np.array(1.0), np.zeros((0, size)), np.zeros((size, 0)), 1.0, 7),
        *(np.ones(size, bool), [True] * size, np.ones(size, complex), floats.astype(object)),
        *(np.ones(size, str), ["1"] * size, np.zeros(size, "datetime64[ns]"), [None] * size),
        *(np.zeros(size, "timedelta64[s]"), np.zeros(size, "V8"), np.zeros(size, "f8,f8")),
        *([Decimal(1)] * size, [10**400] * size, [10**30] * size, [1j] * size, [Hostile()] * size),
    ]
    return pick([*wrong, *(make() for make in NEITHER_NUMBER_NOR_ARRAY)]).map(Drawn)


def scalar_of(number: float) -> st.SearchStrategy[Drawn]:
    forms = [Drawn(number, (number,)), Drawn(np.float64(number), (number,))]
    with np.errstate(all="ignore"):
        rounded: list[Any] = [np.float32(number), np.float16(number), np.longdouble(number)]
    forms += [Drawn(each, (float(each),)) for each in rounded]
    if abs(number) < 2**31:  # false for NaN
        whole = int(number)
        forms += [Drawn(kind(whole), (whole,)) for kind in (int, np.int64, np.int32)]
    return pick(forms)


HUGE_INTEGER = st.sampled_from([10**300, -(10**308), 2**1024, -(10**400), 10**5000])
HUGE_SCALAR = HUGE_INTEGER.map(lambda huge: Drawn(huge, (huge,)))
NO_SCALAR = st.sampled_from(
    [
        *NEITHER_NUMBER_NOR_ARRAY,
        lambda: np.array(1.0),
        lambda: np.ones(1),
        lambda: [1.0],
        lambda: CommandLevel.POSITION,
        lambda: FalseFloat(0.5),
        lambda: LyingFloat(1e9),
        lambda: LyingFloat("nan"),
    ]
).map(lambda make: Drawn(make()))

# Stamps and sequences: relative to now and to the last one accepted, or something else altogether
NO_INT64 = st.one_of(
    st.sampled_from([*NEITHER_NUMBER_NOR_ARRAY, lambda: CommandLevel.POSITION]).map(
        lambda make: Drawn(make())
    ),
    st.sampled_from([1.0, math.nan, math.inf, np.float64(3), np.array(3), [3], "3"]).map(Drawn),
    st.sampled_from([-1, INT64_END, -INT64_END, 10**5000, np.int8(-1), np.uint64(INT64_END)]).map(
        Drawn
    ),
)
EXTREME_INT64 = pick(
    [
        Drawn(0, (0,)),
        Drawn(np.int64(0), (0,)),
        Drawn(INT64_END - 1, (INT64_END - 1,)),
        Drawn(np.uint64(INT64_END - 1), (INT64_END - 1,)),
    ]
)
ODD_INT64: st.SearchStrategy[Any] = st.one_of(NO_INT64, EXTREME_INT64)
AGE_NS: st.SearchStrategy[Any] = st.sampled_from(
    [0, 0, 0, 0, 1, 500, MAX_AGE_NS, MAX_AGE_NS + 1, -1, 10**9]
)
STEP: st.SearchStrategy[Any] = st.sampled_from([1, 1, 1, 1, 1, 2, 1000, 0, -1])


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a command: how many numbers, within what physical limits."""

    name: str
    size: int
    low: float
    high: float
    typical: float

    def numbers(self) -> st.SearchStrategy[Numbers]:
        """Such as a vehicle is told, up to the limits."""
        low, high = max(self.low, -self.typical), min(self.high, self.typical)
        number = st.one_of(
            st.floats(low, high),
            st.integers(math.ceil(low), math.floor(high)).map(float),
            TINY.map(lambda tiny: max(tiny, self.low)),
            st.sampled_from(
                [limit for limit in (self.low, self.high, 0.0) if math.isfinite(limit)]
            ),
        )
        return st.tuples(*[number] * max(self.size, 1))

    def right(self) -> st.SearchStrategy[Drawn]:
        if self.name == "attitude":
            return attitudes().flatmap(array_of)
        return self.numbers().flatmap(array_of if self.size else lambda one: scalar_of(*one))

    def wrong(self) -> st.SearchStrategy[Drawn]:
        size, form = max(self.size, 1), array_of if self.size else lambda one: scalar_of(*one)
        too_low, too_high = math.nextafter(self.low, -9e9), math.nextafter(self.high, 9e9)
        odd = st.one_of(NOT_FINITE, IMPLAUSIBLE, st.sampled_from([too_low, too_high]))
        among = st.tuples(self.numbers(), odd, st.integers(0, size - 1)).map(
            lambda parts: (*parts[0][: parts[2]], parts[1], *parts[0][parts[2] + 1 :])
        )
        no_good = no_array_for((0.5,) * size) if self.size else st.one_of(NO_SCALAR, HUGE_SCALAR)
        return st.one_of(no_good, among.flatmap(form), st.tuples(*[odd] * size).flatmap(form))


def attitudes() -> st.SearchStrategy[Numbers]:
    part = st.one_of(st.floats(-1, 1).filter(lambda value: abs(value) > 1e-9), TINY)
    norm = st.one_of(st.just(1.0), st.floats(0.998, 1.002))
    tilted = st.tuples(st.floats(0, math.pi), st.floats(-4, 4), st.floats(-4, 4)).map(
        lambda angles: _tilted(*angles)
    )
    any_way = st.tuples(part, part, part, part).filter(lambda parts: math.hypot(*parts) > 1e-9)
    return st.tuples(st.one_of(any_way, tilted), norm).map(
        lambda drawn: tuple(part / math.hypot(*drawn[0]) * drawn[1] for part in drawn[0])
    )


def _tilted(tilt_rad: float, towards_rad: float, heading_rad: float) -> Numbers:
    c, s = math.cos(heading_rad / 2), math.sin(heading_rad / 2)
    x = math.sin(tilt_rad / 2) * math.cos(towards_rad)
    y = math.sin(tilt_rad / 2) * math.sin(towards_rad)
    w = math.cos(tilt_rad / 2)
    return (w * c, x * c + y * s, y * c - x * s, w * s)


POSITION = Field("position_enu_m", 3, -MAX_DISTANCE_M, MAX_DISTANCE_M, 25.0)
VELOCITY = Field("velocity_enu_mps", 3, -MAX_SPEED_MPS, MAX_SPEED_MPS, 12.0)
ACCELERATION = Field("acceleration_enu_mps2", 3, -MAX_ACCELERATION_MPS2, MAX_ACCELERATION_MPS2, 5)
YAW = Field("yaw_rad", 0, -math.inf, math.inf, 7.0)
YAW_RATE = Field("yaw_rate_rps", 0, -MAX_RATE_RPS, MAX_RATE_RPS, 5.0)
THRUST = Field("thrust", 0, 0.0, 1.0, 1.0)
FIELDS: dict[Any, tuple[Field, ...]] = {
    MotorCommand: (Field("motors", 4, 0.0, 1.0, 1.0),),
    BodyRateCommand: (Field("rate_flu_rps", 3, -MAX_RATE_RPS, MAX_RATE_RPS, 5.0), THRUST),
    AttitudeCommand: (Field("attitude", 4, -math.inf, math.inf, 1.0), THRUST, YAW_RATE),
    VelocityCommand: (VELOCITY, YAW, YAW_RATE),
    PositionCommand: (POSITION, YAW),
    TrajectoryCommand: (POSITION, VELOCITY, ACCELERATION, YAW, YAW_RATE),
}
LEVEL_OF = dict(zip(FIELDS, CommandLevel, strict=True))


@dataclass(frozen=True, slots=True)
class Order:
    """A command to be built when its time has come."""

    kind: Any
    age_ns: int | Drawn
    step: int | Drawn
    fields: dict[str, Drawn]


@st.composite
def orders(draw: st.DrawFn, *, max_faults: int = 2) -> Order:
    kind = draw(st.sampled_from(list(FIELDS)))
    named = {each.name: each for each in FIELDS[kind]}
    faults = draw(st.sets(st.sampled_from(["stamp", "sequence", *named]), max_size=max_faults))
    return Order(
        kind,
        draw(ODD_INT64 if "stamp" in faults else AGE_NS),
        draw(ODD_INT64 if "sequence" in faults else STEP),
        {
            name: draw(each.wrong() if name in faults else each.right())
            for name, each in named.items()
        },
    )


NO_COMMANDS: list[Callable[[], Any]] = [
    *NEITHER_NUMBER_NOR_ARRAY,
    Untouchable,
    lambda: Hostile,
    lambda: VelocityCommand,
    UnhashableKind,
    lambda: UnhashableKind,
    lambda: Derived(START_NS, 0, np.zeros(3), 0.0),
    lambda: {"stamp_ns": START_NS, "sequence": 0},
    lambda: np.zeros(3),
    lambda: CommandAck(0, 0, 0, AckStatus.ACCEPTED, RejectReason.NONE, "", None),
    *(lambda kind=kind: kind.__new__(kind) for kind in FIELDS),  # never initialised
]


@dataclass(frozen=True, slots=True)
class Place:
    """What the position source says; None for usable_m when it is no position at all."""

    says: Callable[[], Any]
    usable_m: Numbers | None = None
    silent: bool = False


def _says(value: Any, usable_m: Numbers | None = None) -> Place:
    return Place(lambda: value, usable_m)


NOWHERE = Place(lambda: None, silent=True)
BROKEN_PLACES = [
    Place(_raise),
    *map(_says, (math.nan, "here", [1.0, 2.0, 3.0], Hostile(), Untouchable(), True, np.True_)),
    *map(_says, (np.zeros(2), np.zeros(4), np.zeros((1, 3)), np.array(1.0), np.zeros(0))),
    *(_says(np.array(bad)) for bad in ([math.nan, 1, 5], [1, math.inf, 5], [1, 1, -math.nan])),
    *(_says(np.ones(3, kind)) for kind in (object, complex, bool, str, "datetime64[s]", "V8")),
]


@st.composite
def places(draw: st.DrawFn) -> Place:
    fine = st.one_of(st.floats(-25, 25), st.integers(-12, 12).map(float))
    up = st.one_of(st.floats(-5, 40), st.sampled_from([LOWEST_M, HIGHEST_M, 5.0, 5.0]))
    east, north, altitude = draw(fine), draw(fine), draw(up)
    far = draw(st.sampled_from([1.0] * 8 + [1e4, 1e300]))
    exact = np.array([east * far, north * far, altitude])
    if far > 1e5:
        return _says(exact, tuple(exact.tolist()))
    single = exact.astype(np.float32)
    usable = [_says(each, tuple(map(float, each))) for each in (exact, exact, single)]
    usable.append(_says(exact.astype(int), tuple(map(float, exact.astype(int)))))
    return draw(st.one_of(st.just(NOWHERE), pick(usable), pick(BROKEN_PLACES)))


@st.composite
def fences(draw: st.DrawFn) -> Corners | None:
    """None, a notched square, or a star with a corner in each direction: concave, mostly."""
    radii = draw(st.lists(st.integers(2, 20), min_size=3, max_size=9))
    turn_rad = 2 * math.pi / len(radii)
    star = [
        (radius * math.cos(index * turn_rad), radius * math.sin(index * turn_rad))
        for index, radius in enumerate(radii)
    ]
    corners = draw(pick([None, NOTCHED, star]))
    return corners and corners[:: draw(st.sampled_from([1, -1]))]


# The oracle


@dataclass(slots=True)
class Oracle:
    """What the documents say of the gate, in their order."""

    fence: Corners | None
    lookahead_ns: int
    levels: tuple[CommandLevel, ...]
    place: Place
    armed_at_ns: int | None = None
    killed: bool = False
    last_ns: int = -1
    last_stamp_ns: int = -1
    last_sequence: int = -1

    def allowed(
        self, order: Order, stamp: Drawn, sequence: Drawn, now_ns: int
    ) -> set[RejectReason]:
        """The one right reason; or several, where rounding decides."""
        allowed = set()
        for reason, verdict in self._verdicts(order, stamp, sequence, now_ns):
            if verdict is not False:
                allowed.add(reason)
            if verdict:
                return allowed
        return allowed | {RejectReason.NONE}

    def _verdicts(
        self, order: Order, stamp: Drawn, sequence: Drawn, now_ns: int
    ) -> Iterator[tuple[RejectReason, Verdict]]:
        drawn = order.fields
        yield (
            RejectReason.MALFORMED,
            any(each.numbers is None for each in (stamp, sequence, *drawn.values())),
        )
        told = {name: each.numbers or () for name, each in drawn.items()}
        yield (
            RejectReason.NOT_FINITE,
            any(_not_finite(one) for all_ in told.values() for one in all_),
        )
        ranges = [_out_of_range(each, told[each.name]) for each in FIELDS[order.kind]]
        yield RejectReason.OUT_OF_RANGE, _any(ranges)
        (stamp_ns,), (number,) = stamp.numbers or (), sequence.numbers or ()
        yield RejectReason.STALE, not 0 <= now_ns - stamp_ns <= MAX_AGE_NS
        yield (
            RejectReason.OUT_OF_ORDER,
            stamp_ns < self.last_stamp_ns or number <= self.last_sequence,
        )
        yield RejectReason.UNSUPPORTED_LEVEL, LEVEL_OF[order.kind] not in self.levels
        yield RejectReason.KILLED, self.killed
        yield RejectReason.NOT_ARMED, self.armed_at_ns is None
        if "position_enu_m" in told:
            target = [Fraction(one) for one in told["position_enu_m"]]
            yield RejectReason.GEOFENCE, self._leaves_fence(target, None)
            yield RejectReason.ALTITUDE, _above_or_below_m(target) > 0
        elif order.kind is VelocityCommand and not self.place.silent:
            yield RejectReason.GEOFENCE, self.place.usable_m is None
            seconds = Fraction(self.lookahead_ns, 10**9)
            here = [Fraction(one) for one in self.place.usable_m or ()]
            velocity = limited(VELOCITY, told["velocity_enu_mps"])
            target = [
                one + Fraction(speed) * seconds for one, speed in zip(here, velocity, strict=True)
            ]
            yield RejectReason.GEOFENCE, self._leaves_fence(target, here)
            beyond_m, was_m = _above_or_below_m(target), max(_above_or_below_m(here), Fraction(0))
            yield RejectReason.ALTITUDE, _farther(beyond_m, was_m, stays=target[2] == here[2])

    def _leaves_fence(self, target: list[Fraction], here: list[Fraction] | None) -> Verdict:
        if self.fence is None:
            return False
        outside_m = _outside_m(self.fence, *target[:2])
        if outside_m == 0:
            return False
        if here is None:
            return True if outside_m > CLOSE_M else None
        return _farther(outside_m, _outside_m(self.fence, *here[:2]), stays=target == here)


def _any(verdicts: list[Verdict]) -> Verdict:
    return True if True in verdicts else None if None in verdicts else False


def _farther(beyond_m: Fraction, was_m: Fraction, *, stays: bool) -> Verdict:
    """Whether a target is outside and no nearer to the inside than here."""
    close_m = Fraction(CLOSE_M) + was_m * Fraction(1e-12)
    if abs(beyond_m) <= close_m:
        return None
    if beyond_m < 0 or (beyond_m < was_m - close_m and not stays):
        return False
    return True if stays or beyond_m > was_m + close_m else None


def _not_finite(number: float) -> bool:
    return number != number or not -LARGEST <= number <= LARGEST  # noqa: PLR0124 - NaN, by its law


def _out_of_range(judged: Field, numbers: Numbers) -> Verdict:
    if judged.name != "attitude":
        return not all(judged.low <= number <= judged.high for number in numbers)
    squared = sum(Fraction(number) ** 2 for number in numbers)
    for bound in (Fraction(999, 1000), Fraction(1001, 1000)):
        if abs(squared - bound**2) < Fraction(1, 10**12):
            return None
    return not Fraction(999, 1000) ** 2 <= squared <= Fraction(1001, 1000) ** 2


def _above_or_below_m(target: list[Fraction]) -> Fraction:
    return max(Fraction(LOWEST_M) - target[2], target[2] - Fraction(HIGHEST_M))


def _outside_m(corners: Corners, east: Fraction, north: Fraction) -> Fraction:
    """The distance to the fence from outside, 0 inside and on the edge: exact but for one root."""
    ring = [(Fraction(e), Fraction(n)) for e, n in (*corners, corners[0])]
    inside, squared_m = False, []
    for (e0, n0), (e1, n1) in pairwise(ring):
        to_e, to_n, edge_e, edge_n = east - e0, north - n0, e1 - e0, n1 - n0
        along = (to_e * edge_e + to_n * edge_n) / (edge_e**2 + edge_n**2)
        along = min(max(along, Fraction(0)), Fraction(1))
        squared_m.append((to_e - along * edge_e) ** 2 + (to_n - along * edge_n) ** 2)
        upwards, side = edge_n > 0, edge_e * to_n - edge_n * to_e
        if (n0 <= north) != (n1 <= north) and (side > 0) == upwards:
            inside = not inside
    nearest = min(squared_m)
    if inside or nearest == 0:
        return Fraction(0)
    # By integers: a float would lose the 1e300s.
    return Fraction(math.isqrt(int(nearest * 10**30)), 10**15) or Fraction(1, 10**15)


def limited(told: Field, numbers: Numbers) -> Numbers:
    """What may be applied of what was told."""
    if told.name == "velocity_enu_mps":
        speed = math.hypot(*numbers[:2])
        scale = min(1.0, ENVELOPE_SPEED_MPS / speed) if speed else 1.0
        up = min(max(numbers[2], -ENVELOPE_CLIMB_MPS), ENVELOPE_CLIMB_MPS)
        return (numbers[0] * scale, numbers[1] * scale, up)
    if told.name in ("yaw_rate_rps", "rate_flu_rps"):
        return tuple(min(max(one, -ENVELOPE_RATE_RPS), ENVELOPE_RATE_RPS) for one in numbers)
    return numbers


def tilt_rad(attitude: Numbers) -> float:
    """By the body's z axis, seen from the world."""
    w, x, y, z = (part / math.hypot(*attitude) for part in attitude)
    up = (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
    return math.atan2(math.hypot(*up[:2]), up[2])


# The gate and the oracle side by side


class Recorder:
    def __init__(self, levels: tuple[CommandLevel, ...]) -> None:
        self.spec = ActuatorSpec(
            levels, 4, MAX_RATE_RPS, MAX_SPEED_MPS, MAX_ACCELERATION_MPS2, MAX_DISTANCE_M
        )
        self.got: list[Command] = []

    def send(self, command: Command) -> CommandAck:
        self.got.append(command)
        return CommandAck(
            0,
            command.stamp_ns,
            command.sequence,
            AckStatus.ACCEPTED,
            RejectReason.NONE,
            "",
            command,
        )


@dataclass(slots=True)
class Bout:
    """Both of them, told the same."""

    oracle: Oracle
    clock: SimClock = field(default_factory=SimClock)
    sink: Recorder = field(init=False)
    gate: EnvelopeGate = field(init=False)

    def __post_init__(self) -> None:
        self.clock.advance(START_NS)
        self.sink = Recorder(self.oracle.levels)
        envelope = SafetyEnvelope(
            geofence_enu_m=self.oracle.fence,
            min_altitude_m=LOWEST_M,
            max_altitude_m=HIGHEST_M,
            max_speed_mps=ENVELOPE_SPEED_MPS,
            max_climb_mps=ENVELOPE_CLIMB_MPS,
            max_tilt_rad=ENVELOPE_TILT_RAD,
            max_rate_rps=ENVELOPE_RATE_RPS,
            max_command_age_ns=MAX_AGE_NS,
            command_timeout_ns=TIMEOUT_NS,
            lookahead_ns=self.oracle.lookahead_ns,
        )
        self.gate = EnvelopeGate(self.sink, envelope, self.clock, position=self.here)

    def here(self) -> Any:
        return self.oracle.place.says()

    def do(self, verb: str) -> None:
        """Arm, disarm, kill or reset, and compare what is to be seen of it."""
        oracle = self.oracle
        answer = getattr(self.gate, verb)()
        if verb == "arm":
            assert answer is not oracle.killed
            if not oracle.killed and oracle.armed_at_ns is None:
                oracle.armed_at_ns = self.clock.now_ns()
                oracle.last_ns = oracle.last_stamp_ns = oracle.last_sequence = -1
        else:
            oracle.armed_at_ns = None
            oracle.killed = verb == "kill" or (oracle.killed and verb == "disarm")
            if verb == "reset":
                oracle.last_ns = oracle.last_stamp_ns = oracle.last_sequence = -1
        self.compare_state()

    def compare_state(self) -> None:
        oracle = self.oracle
        assert self.gate.armed == (oracle.armed_at_ns is not None)
        assert self.gate.killed == oracle.killed
        silent_ns = self.clock.now_ns() - max(oracle.armed_at_ns or 0, oracle.last_ns)
        late = oracle.armed_at_ns is not None and silent_ns > TIMEOUT_NS
        assert self.gate.command_timed_out() == late

    def send(self, order: Order) -> RejectReason:
        oracle, now_ns = self.oracle, self.clock.now_ns()
        stamp, sequence = order.age_ns, order.step
        if isinstance(stamp, int):
            stamp = Drawn(now_ns - stamp, (now_ns - stamp,))
        if isinstance(sequence, int):
            number = oracle.last_sequence + sequence
            sequence = Drawn(number, (number,) if 0 <= number < INT64_END else None)
        allowed = oracle.allowed(order, stamp, sequence, now_ns)
        values = {name: drawn.value for name, drawn in order.fields.items()}
        command = order.kind(stamp_ns=stamp.value, sequence=sequence.value, **values)
        seen = len(self.sink.got)
        ack = self.gate.send(command)
        assert type(ack) is CommandAck
        assert ack.reason in allowed
        assert ack.stamp_ns == now_ns
        assert (ack.command_stamp_ns, ack.command_sequence) == (
            *(stamp.numbers or (-1,)),
            *(sequence.numbers or (-1,)),
        )
        if ack.reason is RejectReason.NONE:
            assert ack.applied is self.sink.got[-1]
            assert len(self.sink.got) == seen + 1
            compare_applied(order, command, ack)
            oracle.last_ns = now_ns
            oracle.last_stamp_ns, oracle.last_sequence = ack.command_stamp_ns, ack.command_sequence
        else:
            assert (ack.status, ack.applied) == (AckStatus.REJECTED, None)
            assert ack.detail
            assert len(self.sink.got) == seen
        self.compare_state()
        return ack.reason


def compare_applied(order: Order, command: Command, ack: CommandAck) -> None:
    applied: Any = ack.applied
    assert type(applied) is order.kind
    assert (applied.stamp_ns, applied.sequence) == (ack.command_stamp_ns, ack.command_sequence)
    assert (applied is command) == (ack.status is AckStatus.ACCEPTED)
    changed = False
    for each in FIELDS[order.kind]:
        told = order.fields[each.name].numbers or ()
        got = tuple(np.atleast_1d(np.asarray(getattr(applied, each.name), object)).tolist())
        if each.name == "attitude":
            assert tilt_rad(got) <= ENVELOPE_TILT_RAD + 1e-9
            assert math.hypot(*got) == pytest.approx(1.0, abs=1.1e-3)
            assert tilt_rad(told) > ENVELOPE_TILT_RAD - 1e-9 or got == told
        else:
            assert got == pytest.approx(limited(each, told), rel=1e-12, abs=1e-12)
        if each.name == "velocity_enu_mps":
            assert math.hypot(*got[:2]) <= ENVELOPE_SPEED_MPS * (1 + 1e-15)
        elif each.name in ("yaw_rate_rps", "rate_flu_rps"):
            assert got == limited(each, told)
        changed |= got != told
    assert changed == (ack.status is AckStatus.SATURATED)


@st.composite
def bouts(draw: st.DrawFn) -> Bout:
    every = tuple(CommandLevel)
    some = st.sets(st.sampled_from(every), min_size=1).map(tuple)
    return Bout(
        Oracle(
            fence=draw(fences()),
            lookahead_ns=draw(st.sampled_from([0, 1, 500_000_000, 3_000_000_000])),
            levels=draw(st.one_of(st.just(every), st.just(every), some)),
            place=draw(places()),
        )
    )


VERBS = st.sampled_from(["arm", "disarm", "kill", "reset"])


@given(bouts(), orders(max_faults=0))
def test_a_well_formed_command_is_judged_as_documented(bout: Bout, order: Order) -> None:
    bout.do("arm")
    bout.send(order)


@given(bouts(), st.lists(VERBS, max_size=3), orders())
def test_any_command_is_judged_as_documented(bout: Bout, verbs: list[str], order: Order) -> None:
    for verb in verbs:
        bout.do(verb)
    bout.send(order)


@given(bouts(), orders(max_faults=8))
def test_a_command_wrong_all_over_is_judged_as_documented(bout: Bout, order: Order) -> None:
    bout.do("arm")
    bout.send(order)


@given(
    bouts(),
    st.lists(
        st.one_of(
            orders(max_faults=0),
            orders(max_faults=1),
            VERBS,
            st.just("arm"),
            st.sampled_from([1, 500, MAX_AGE_NS, TIMEOUT_NS, TIMEOUT_NS + 1]),
            places(),
        ),
        max_size=12,
    ),
)
def test_so_is_a_whole_sequence_of_them(bout: Bout, steps: list[Order | str | int | Place]) -> None:
    bout.do("arm")
    for step in steps:
        if isinstance(step, Order):
            bout.send(step)
        elif isinstance(step, str):
            bout.do(step)
        elif isinstance(step, int):
            bout.clock.advance(step)
            bout.compare_state()
        else:
            bout.oracle.place = step


@given(bouts(), st.booleans(), pick(NO_COMMANDS))
def test_what_is_no_command_is_malformed_and_nothing_of_it_is_asked(
    bout: Bout, armed: bool, make: Callable[[], Any]
) -> None:
    bout.do("arm" if armed else "disarm")
    ack = bout.gate.send(make())
    assert (ack.status, ack.reason) == (AckStatus.REJECTED, RejectReason.MALFORMED)
    assert (ack.stamp_ns, ack.command_stamp_ns, ack.command_sequence) == (START_NS, -1, -1)
    assert ack.applied is None
    assert bout.sink.got == []


@pytest.mark.parametrize("place", BROKEN_PLACES)
@pytest.mark.parametrize("fence", [None, NOTCHED])
def test_a_broken_position_source_does_not_lift_the_fence(
    fence: Corners | None, place: Place
) -> None:
    bout = Bout(Oracle(fence, 0, tuple(CommandLevel), place))
    bout.do("arm")
    ack = bout.gate.send(VelocityCommand(START_NS, 0, np.zeros(3), 0.0))
    assert ack.reason is RejectReason.GEOFENCE
    assert "position" in ack.detail
    ack = bout.gate.send(PositionCommand(START_NS, 0, np.array([1.0, 1.0, 5.0]), 0.0))
    assert ack.reason is RejectReason.NONE


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("stamp_ns", lambda: np.timedelta64(3, "s")),
        ("yaw_rad", lambda: np.timedelta64("NaT")),
        ("yaw_rad", Untouchable),
        ("velocity_enu_mps", Untouchable),
    ],
)
def test_a_command_can_be_built_from_the_worst(name: str, make: Callable[[], Any]) -> None:
    values: dict[str, Any] = {"stamp_ns": 0, "velocity_enu_mps": np.zeros(3), "yaw_rad": 0.0}
    VelocityCommand(sequence=0, **(values | {name: make()}))


# The sink's answers

UnprintableError = type("UnprintableError", (OSError,), {"__str__": _raise, "__repr__": _raise})


def _fail() -> None:
    raise UnprintableError


@pytest.mark.parametrize(
    "answer",
    [_fail, Hostile, Untouchable, object, lambda: None, lambda: True, lambda: CommandAck, _raise],
)
def test_a_sink_may_answer_anything(answer: Callable[[], Any]) -> None:
    bout = Bout(Oracle(None, 0, tuple(CommandLevel), NOWHERE))
    bout.do("arm")
    bout.sink.send = lambda _: answer()  # type: ignore[method-assign,assignment]  # a careless adapter
    for _ in range(2):  # not counted for order
        ack = bout.gate.send(VelocityCommand(START_NS, 0, np.zeros(3), 0.0))
        assert (ack.status, ack.reason) == (AckStatus.REJECTED, RejectReason.SINK_FAILED)
        assert ack.applied is None
        assert ack.detail


# The oracle itself must be worth its word


@pytest.mark.parametrize(
    ("east", "north", "outside_m"),
    [(1, 9, 0), (5, 8, 3), (5, 4, 0), (2, 7, 0), (8, 4, 0), (13, 14, 5), (-1, 0, 1), (5, 2, 0)],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_the_oracle_knows_the_notch(east: int, north: int, outside_m: int, turn: int) -> None:
    assert _outside_m(NOTCHED[::turn], Fraction(east), Fraction(north)) == outside_m


def test_the_oracle_has_seen_every_reason() -> None:
    """Or the tests above would be judging next to nothing."""
    seen: set[RejectReason] = set()

    @settings(derandomize=True, max_examples=300)
    @given(bouts(), st.lists(VERBS, max_size=1), st.lists(orders(max_faults=1), max_size=4))
    def look(bout: Bout, verbs: list[str], told: list[Order]) -> None:
        for verb in ("arm", *verbs):
            bout.do(verb)
        seen.update(bout.send(order) for order in told)

    look()
    assert seen == set(RejectReason) - {RejectReason.SINK_FAILED, RejectReason.WRONG_MODE}
