"""What the documents say of the gate.

The oracle knows what was drawn, not what the constructor made of it, and shares no code with the
gate: exact fractions for the geometry, the documented order for the reasons. Where rounding
decides, it allows either verdict.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ghost.hal import CommandLevel, RejectReason, VelocityCommand
from tests.hal.drawn import (
    ENVELOPE_CLIMB_MPS,
    ENVELOPE_RATE_RPS,
    ENVELOPE_SPEED_MPS,
    FIELDS,
    HIGHEST_M,
    LEVEL_OF,
    LOWEST_M,
    MAX_AGE_NS,
    VELOCITY,
    Corners,
    Drawn,
    Field,
    Numbers,
    Order,
    Place,
)

Verdict = bool | None  # None: too close to call

LARGEST = Fraction(1.7976931348623157e308)
CLOSE_M = 1e-8


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
        outside_m = distance_outside_m(self.fence, *target[:2])
        if outside_m == 0:
            return False
        if here is None:
            return True if outside_m > CLOSE_M else None
        return _farther(outside_m, distance_outside_m(self.fence, *here[:2]), stays=target == here)


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


def distance_outside_m(corners: Corners, east: Fraction, north: Fraction) -> Fraction:
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
