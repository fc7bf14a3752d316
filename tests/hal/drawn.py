"""Commands of every kind, most of them wrong: each value drawn beside the numbers that a reader
would say it holds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from ghost.core.errors import shown
from ghost.hal import (
    AckStatus,
    AttitudeCommand,
    BodyRateCommand,
    CommandAck,
    CommandLevel,
    MotorCommand,
    PositionCommand,
    RejectReason,
    TrajectoryCommand,
    VelocityCommand,
)

Numbers = tuple[float, ...]
Corners = Sequence[tuple[float, float]]
T = TypeVar("T")

START_NS = 10_000_000_000
MAX_AGE_NS, TIMEOUT_NS = 1_000, 2_000
INT64_END = 2**63

MAX_RATE_RPS, MAX_SPEED_MPS, MAX_ACCELERATION_MPS2, MAX_DISTANCE_M = 20.0, 50.0, 90.0, 1_000.0
ENVELOPE_RATE_RPS, ENVELOPE_SPEED_MPS, ENVELOPE_CLIMB_MPS, ENVELOPE_TILT_RAD = 3.0, 8.0, 2.5, 0.5
LOWEST_M, HIGHEST_M = 2.0, 30.0
NOTCHED = [(0, 0), (10, 0), (10, 10), (8, 10), (8, 4), (2, 4), (2, 10), (0, 10)]


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


def hostile(*_: object) -> None:
    raise RuntimeError("hostile")


OPERATIONS = (
    *("repr", "str", "eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "len", "iter"),
    *("float", "int", "index", "complex", "abs", "neg", "add", "radd", "mul", "rmul"),
    *("array", "getattr", "getitem", "contains", "array_ufunc", "format"),
)
Hostile = type("Hostile", (), {f"__{name}__": hostile for name in OPERATIONS})
Untouchable = type("Untouchable", (), {"__getattribute__": hostile, "__repr__": hostile})
Unhashable = type("Unhashable", (type,), {"__eq__": hostile, "__hash__": hostile})
UnhashableKind = Unhashable("UnhashableKind", (), {})
FalseFloat = type("FalseFloat", (float,), {f"__{name}__": hostile for name in OPERATIONS})
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
    Place(hostile),
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
