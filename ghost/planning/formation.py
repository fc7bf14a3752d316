"""Shapes, and how they move: places around a centre that travels and turns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ghost.core.errors import ConfigError
from ghost.core.exact import arctangent2, sine_cosine
from ghost.planning.limits import Limits
from ghost.planning.path import plan_path
from ghost.planning.trajectory import Trajectory, TrajectoryPoint, Turn, wrapped
from ghost.planning.vectors import Vector, horizontal, minus, plus, times

_STEEPEST = 0.1
_CENTRE, _TURNING, _INWARD = 0.5, 0.4, 0.3
"""Shares of the acceleration: the centre's own, and of a slot for the begin and end of a turn and
for staying on its arc. The last two are at right angles, so that they make up the other half.
"""


class Shape(StrEnum):
    """LINE is abreast, COLUMN one behind the other, WEDGE has its tip in front."""

    LINE = "line"
    COLUMN = "column"
    WEDGE = "wedge"
    CIRCLE = "circle"
    GRID = "grid"


def offsets_of(shape: Shape, count: int, spacing_m: float) -> tuple[Vector, ...]:
    """Forward, left and up of the centre, with spacing_m between neighbours. Their mean is 0."""
    if count < 1 or not 0.0 < spacing_m < math.inf:
        raise ConfigError(
            f"a {shape} of {count}, {spacing_m} m apart; expected 1 or more, and above 0 m"
        )
    numbers = range(count)
    if shape is Shape.LINE:
        flat = [(0.0, -spacing_m * index) for index in numbers]
    elif shape is Shape.COLUMN:
        flat = [(-spacing_m * index, 0.0) for index in numbers]
    elif shape is Shape.WEDGE:
        arm_m = spacing_m * math.sqrt(0.5)
        rows = [((index + 1) // 2, 1.0 if index % 2 else -1.0) for index in numbers]
        flat = [(-arm_m * row, arm_m * row * side) for row, side in rows]
    elif shape is Shape.GRID:
        wide = math.ceil(math.sqrt(count) - 1e-9)
        flat = [(-spacing_m * (index // wide), -spacing_m * (index % wide)) for index in numbers]
    else:
        half, _ = sine_cosine(math.pi / count)
        radius_m = 0.5 * spacing_m / half if count > 1 else 0.0
        around = [sine_cosine(2.0 * math.pi * index / count) for index in numbers]
        flat = [(radius_m * cosine, radius_m * sine) for sine, cosine in around]
    return centred([(forward_m, left_m, 0.0) for forward_m, left_m in flat])


def centred(offsets_m: Sequence[Vector]) -> tuple[Vector, ...]:
    middle = mean_of(offsets_m)
    return tuple(minus(offset, middle) for offset in offsets_m)


def mean_of(places_m: Sequence[Vector]) -> Vector:
    east, north, up = (math.fsum(place[axis] for place in places_m) for axis in range(3))
    return times((east, north, up), 1.0 / len(places_m))


def slot_at(centre_enu_m: Vector, heading_rad: float, offset_m: Vector) -> Vector:
    return plus(centre_enu_m, _turned(offset_m, *sine_cosine(heading_rad)))


def offset_at(centre_enu_m: Vector, heading_rad: float, place_enu_m: Vector) -> Vector:
    """The offset of which this place is the slot."""
    sine, cosine = sine_cosine(heading_rad)
    return _turned(minus(place_enu_m, centre_enu_m), -sine, cosine)


def nearest_pair(places_m: Sequence[Vector]) -> tuple[int, int, float] | None:
    """The two that are nearest to each other, seen from above, and how near; None for one alone."""
    found: tuple[int, int, float] | None = None
    for first in range(len(places_m)):
        for second in range(first + 1, len(places_m)):
            away_m = horizontal(minus(places_m[second], places_m[first]))
            if found is None or away_m < found[2]:
                found = (first, second, away_m)
    return found


@dataclass(frozen=True, slots=True)
class March:
    """A centre's trajectory, whose yaw is the formation's heading, and the slots around it."""

    centre: Trajectory

    @property
    def duration_ns(self) -> int:
        return self.centre.duration_ns

    def slot(self, at_ns: int, offset_m: Vector) -> TrajectoryPoint:
        centre = self.centre.sample(at_ns)
        sine, cosine = sine_cosine(centre.yaw_rad)
        east_m, north_m, up_m = _turned(offset_m, sine, cosine)
        rate = centre.yaw_rate_rps
        across = (-north_m, east_m, 0.0)
        inward = times((east_m, north_m, 0.0), -rate * rate)
        return TrajectoryPoint(
            plus(centre.position_enu_m, (east_m, north_m, up_m)),
            plus(centre.velocity_enu_mps, across, rate),
            plus(centre.acceleration_enu_mps2, inward),
            centre.yaw_rad,
            rate,
        )


def plan_march(
    centre_enu_m: Vector,
    heading_rad: float,
    waypoints_enu_m: Sequence[Vector],
    limits: Limits,
    *,
    reach_m: float,
    to_heading_rad: float | None = None,
) -> March:
    """Through the waypoints to rest. reach_m is how far from the centre the farthest slot is.

    limits.max_speed_mps is the centre's. In a turn a slot may be faster by four tenths of it, and
    acceleration is shared so that none exceeds the limit. to_heading_rad is a heading to turn to;
    None is along the legs.
    """
    slow = replace(limits, max_acceleration_mps2=_CENTRE * limits.max_acceleration_mps2)
    path = plan_path(
        centre_enu_m, waypoints_enu_m, slow, start_yaw_rad=heading_rad, yaw_rad=heading_rad
    )
    if to_heading_rad is not None:
        wanted = [(to_heading_rad, 0)]
    else:
        wanted = _along(centre_enu_m, waypoints_enu_m, path.waypoint_ns)
    turns = _swings(heading_rad, wanted, limits, reach_m)
    last = turns[-1]
    duration_ns = max(path.duration_ns, last.start_ns + last.duration_ns)
    return March(replace(path, duration_ns=duration_ns, turns=turns))


def _along(
    start_enu_m: Vector, waypoints_enu_m: Sequence[Vector], passed_ns: Sequence[int]
) -> list[tuple[float, int]]:
    """The heading of each leg that has one, and when the leg begins."""
    found, place, at_ns = [], start_enu_m, 0
    for waypoint, next_ns in zip(waypoints_enu_m, passed_ns, strict=True):
        way = minus(waypoint, place)
        size_m = horizontal(way)
        if size_m > max(_STEEPEST * abs(way[2]), 1e-3):
            found.append((arctangent2(way[1], way[0]), at_ns))
        place, at_ns = waypoint, next_ns
    return found


def _swings(
    from_rad: float, wanted: list[tuple[float, int]], limits: Limits, reach_m: float
) -> tuple[Turn, ...]:
    """Turns that no slot is too slow for, each around the time it is wanted at. A smooth turn's
    rate peaks at 1.5 times its mean, and its acceleration at 6 times angle over duration squared.
    """
    acceleration = limits.max_acceleration_mps2
    rate_rps = limits.max_yaw_rate_rps
    if reach_m > 0.0:
        rate_rps = min(
            rate_rps,
            0.4 * limits.max_speed_mps / reach_m,
            math.sqrt(_INWARD * acceleration / reach_m),
        )
    turns = [Turn(0, 1, from_rad, 0.0)]
    now_rad, free_ns = from_rad, 1
    for target_rad, at_ns in wanted:
        by_rad = wrapped(target_rad - now_rad)
        if by_rad == 0.0:
            continue
        at_rate_s = 1.5 * abs(by_rad) / rate_rps
        at_acceleration_s = math.sqrt(6.0 * abs(by_rad) * reach_m / (_TURNING * acceleration))
        duration_ns = math.ceil(max(at_rate_s, at_acceleration_s) * 1e9)
        start_ns = max(free_ns, at_ns - duration_ns // 2)
        turns.append(Turn(start_ns, duration_ns, now_rad, by_rad))
        now_rad += by_rad
        free_ns = start_ns + duration_ns
    return tuple(turns)


def _turned(vector: Vector, sine: float, cosine: float) -> Vector:
    east, north, up = vector
    return (east * cosine - north * sine, east * sine + north * cosine, up)
