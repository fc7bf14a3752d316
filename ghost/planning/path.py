"""Smooth paths through waypoints, within limits by construction.

Each leg is straight: a smooth step up to speed, a stretch at speed, a smooth step down. At a
corner the vehicle stops, or flies through it on the bulge that `ghost.planning.corner` describes.
Every piece is a quintic that starts and ends without acceleration, so the whole is C2.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from ghost.core.errors import ConfigError
from ghost.planning.corner import (
    Bend,
    Leg,
    bend_between,
    direction_through,
    max_squared_speed,
)
from ghost.planning.limits import Limits
from ghost.planning.trajectory import Piece, Trajectory, quintic
from ghost.planning.vectors import ZERO, Vector, dot, horizontal, length, minus, plus, times
from ghost.planning.yaw import turns_along

_SAME_M = 1e-3
"""Waypoints nearer to each other than this are one."""
_SHORTEST = 1e-8
"""In seconds: a piece below this changes less than anybody can measure, and is left out."""
_STEP = 1.5
"""The peak acceleration of a smooth step of speed, over its mean."""
_FARTHEST_M = 1e6


def plan_path(
    position_enu_m: Vector,
    waypoints_enu_m: Sequence[Vector],
    limits: Limits,
    *,
    velocity_enu_mps: Vector = ZERO,
    stop: bool = False,
    start_yaw_rad: float | None = None,
    yaw_rad: float | None = None,
) -> Trajectory:
    """From a position and velocity through every waypoint to rest at the last.

    stop halts at every waypoint: straight lines, no bulges. yaw_rad is a yaw to turn to and keep;
    None looks along the path. A start too fast, or too far off the first leg, to be flown into it
    is braked to rest first, straight ahead; without waypoints that is the whole path.
    """
    for vector in (position_enu_m, velocity_enu_mps, *waypoints_enu_m):
        if len(vector) != 3 or not all(abs(part) <= _FARTHEST_M for part in vector):
            raise ConfigError(f"cannot plan with {vector}; expected 3 numbers within 1000 km")
    route = _Route(position_enu_m, limits)
    places = _apart(position_enu_m, waypoints_enu_m)
    legs = _legs(position_enu_m, places, limits)
    first = _entry(legs, velocity_enu_mps, limits, stop=stop)
    if first is None:
        route.brake(velocity_enu_mps)
        places = _apart(route.position_enu_m, waypoints_enu_m)
        legs = _legs(route.position_enu_m, places, limits)
        first = _Corner(ZERO, 0.0)
    passed_ns = route.follow(legs, _corners(legs, first, limits, stop=stop))
    waypoint_ns = _at_each_waypoint(route.position_before_legs, waypoints_enu_m, passed_ns)
    turns = turns_along(
        [leg.direction for leg in legs],
        [route.legs_from_ns, *passed_ns],
        limits.max_yaw_rate_rps,
        start_yaw_rad=start_yaw_rad,
        yaw_rad=yaw_rad,
    )
    last = turns[-1]
    return Trajectory(
        max(route.now_ns, last.start_ns + last.duration_ns),
        route.finished(),
        turns,
        waypoint_ns,
    )


class _Corner:
    """A waypoint's velocity, and its share of the legs beside it."""

    __slots__ = ("after", "before", "direction", "squared_speed")

    def __init__(self, direction: Vector, squared_speed: float) -> None:
        self.direction = direction
        self.squared_speed = squared_speed
        self.before: Bend | None = None
        self.after: Bend | None = None

    @property
    def speed_mps(self) -> float:
        return math.sqrt(self.squared_speed)


class _Route:
    """Puts pieces one after the other. Time is kept exact, and rounded where a piece begins."""

    def __init__(self, position_enu_m: Vector, limits: Limits) -> None:
        self.position_enu_m = position_enu_m
        self.position_before_legs = position_enu_m
        self.legs_from_ns = 0
        self._limits = limits
        self._exact = 0.0
        self._pieces: list[Piece] = []

    @property
    def now_ns(self) -> int:
        return math.ceil(self._exact * 1e9)

    def finished(self) -> tuple[Piece, ...]:
        """One piece at rest where there is nothing to fly."""
        if not self._pieces:
            self._add(1e-3, ZERO, ZERO, ZERO)
        return tuple(self._pieces)

    def brake(self, velocity_mps: Vector) -> None:
        seconds = _STEP * length(velocity_mps) / self._limits.max_acceleration_mps2
        self._add(seconds, velocity_mps, ZERO, times(velocity_mps, 0.5 * seconds))
        self.position_before_legs = self.position_enu_m
        self.legs_from_ns = self.now_ns

    def follow(self, legs: list[Leg], corners: list[_Corner]) -> list[int]:
        """When the end of each leg is reached."""
        passed_ns = []
        for leg, start, end in zip(legs, corners, corners[1:], strict=False):
            self.position_enu_m = leg.start_enu_m
            way_m = leg.length_m
            if start.after is not None:
                way_m -= self._bend(leg, start, start.after, leaving=True)
            into = end.before
            if into is not None:
                way_m -= self._way_m(into, end.speed_mps)
            self._straight(leg, way_m, start.speed_mps, end.speed_mps)
            if into is not None:
                self._bend(leg, end, into, leaving=False)
            passed_ns.append(self.now_ns)
        return passed_ns

    def _way_m(self, bend: Bend, speed_mps: float) -> float:
        return bend.reach * speed_mps * speed_mps / self._limits.max_acceleration_mps2

    def _bend(self, leg: Leg, corner: _Corner, bend: Bend, *, leaving: bool) -> float:
        speed_mps = corner.speed_mps
        way_m = self._way_m(bend, speed_mps)
        on_leg = times(leg.direction, speed_mps)
        at_corner = times(corner.direction, speed_mps)
        start, end = (at_corner, on_leg) if leaving else (on_leg, at_corner)
        seconds = bend.stretch * speed_mps / self._limits.max_acceleration_mps2
        self._add(seconds, start, end, times(leg.direction, way_m))
        return way_m

    def _straight(self, leg: Leg, way_m: float, start_mps: float, end_mps: float) -> None:
        """As fast as the leg allows, or as far as there is way to get up to speed and down."""
        acceleration = self._limits.max_acceleration_mps2 / _STEP
        squares = 2.0 * way_m * acceleration + start_mps * start_mps + end_mps * end_mps
        peak_mps = min(leg.max_speed_mps, math.sqrt(0.5 * squares))
        peak_mps = max(peak_mps, start_mps, end_mps)
        up, down = (peak_mps - start_mps) / acceleration, (peak_mps - end_mps) / acceleration
        up_m, down_m = 0.5 * (start_mps + peak_mps) * up, 0.5 * (peak_mps + end_mps) * down
        rest_m = way_m - up_m - down_m
        start, peak, end = (times(leg.direction, speed) for speed in (start_mps, peak_mps, end_mps))
        self._add(up, start, peak, times(leg.direction, up_m))
        self._add(rest_m / peak_mps, peak, peak, times(leg.direction, rest_m))
        self._add(down, peak, end, times(leg.direction, down_m))

    def _add(self, seconds: float, start_mps: Vector, end_mps: Vector, by_m: Vector) -> None:
        if seconds < _SHORTEST:
            return
        rate_hz = 1.0 / seconds
        east, north, up = (
            quintic(self.position_enu_m[axis], start_mps[axis], end_mps[axis], by_m[axis], rate_hz)
            for axis in range(3)
        )
        start_ns = math.floor(self._exact * 1e9 + 0.5)
        self._pieces.append(Piece(start_ns, rate_hz, (east, north, up)))
        self._exact += seconds
        self.position_enu_m = plus(self.position_enu_m, by_m)


def _apart(position_enu_m: Vector, waypoints_enu_m: Sequence[Vector]) -> list[Vector]:
    """The waypoints without those that are where the one before is."""
    places = [position_enu_m]
    for waypoint in waypoints_enu_m:
        if length(minus(waypoint, places[-1])) >= _SAME_M:
            places.append(waypoint)
    return places[1:]


def _at_each_waypoint(
    position_enu_m: Vector, waypoints_enu_m: Sequence[Vector], passed_ns: list[int]
) -> tuple[int, ...]:
    """A waypoint that is where the one before is, is passed with it."""
    at_ns, found, place = 0, [], position_enu_m
    remaining = iter(passed_ns)
    for waypoint in waypoints_enu_m:
        if length(minus(waypoint, place)) >= _SAME_M:
            at_ns, place = next(remaining), waypoint
        found.append(at_ns)
    return tuple(found)


def _legs(position_enu_m: Vector, places: list[Vector], limits: Limits) -> list[Leg]:
    legs = []
    start = position_enu_m
    for end in places:
        way = minus(end, start)
        length_m = length(way)
        direction = times(way, 1.0 / length_m)
        sideways, upright = horizontal(direction), abs(direction[2])
        speed_mps = min(
            limits.max_speed_mps / sideways if sideways > 0.0 else math.inf,
            limits.max_climb_mps / upright if upright > 0.0 else math.inf,
        )
        legs.append(Leg(start, direction, length_m, speed_mps))
        start = end
    return legs


def _entry(
    legs: list[Leg], velocity_mps: Vector, limits: Limits, *, stop: bool
) -> "_Corner | None":
    """How the first leg is entered at the velocity of the start; None to brake first."""
    speed_mps = length(velocity_mps)
    if speed_mps * _STEP / limits.max_acceleration_mps2 < _SHORTEST:
        return _Corner(ZERO, 0.0)
    if not legs:
        return None
    direction = times(velocity_mps, 1.0 / speed_mps)
    if dot(direction, legs[0].direction) < 0.5:
        return None
    corner = _Corner(direction, speed_mps * speed_mps)
    corner.after = bend_between(legs[0], direction)
    if corner.squared_speed > max_squared_speed(legs[0], corner.after, limits):
        return None
    slowed = _corners(legs, corner, limits, stop=stop)
    return corner if slowed[0].squared_speed >= speed_mps * speed_mps else None


def _corners(legs: list[Leg], first: _Corner, limits: Limits, *, stop: bool) -> list[_Corner]:
    """The start, each waypoint and the end, as fast as they and the legs between them allow."""
    inner = [
        _Corner(ZERO, 0.0) if stop else _corner(before, after, limits)
        for before, after in pairwise(legs)
    ]
    start = _Corner(first.direction, first.squared_speed)
    start.after = first.after
    corners = [start, *inner, _Corner(ZERO, 0.0)]
    # Half of each leg is left for the change of speed; bends have a quarter at either end.
    gains = [leg.length_m * limits.max_acceleration_mps2 / _STEP for leg in legs]
    for index, gain in enumerate(gains):
        reachable = corners[index].squared_speed + gain
        corners[index + 1].squared_speed = min(corners[index + 1].squared_speed, reachable)
    for index in range(len(gains) - 1, -1, -1):
        reachable = corners[index + 1].squared_speed + gains[index]
        corners[index].squared_speed = min(corners[index].squared_speed, reachable)
    return corners


def _corner(before: Leg, after: Leg, limits: Limits) -> _Corner:
    direction = direction_through(before, after)
    if direction is None:
        return _Corner(ZERO, 0.0)
    into, out = bend_between(before, direction), bend_between(after, direction)
    squared = min(max_squared_speed(before, into, limits), max_squared_speed(after, out, limits))
    corner = _Corner(direction, squared)
    corner.before, corner.after = into, out
    return corner
