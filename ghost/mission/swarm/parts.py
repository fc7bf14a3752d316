"""What a step makes them fly: where each should be, and how fast, at any time of the step."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from ghost.mission.swarm.steps import Defaults, Flown, Form, GoTo, Heading, Hold, Move, Places
from ghost.planning import Limits, TrajectoryPoint, Vector
from ghost.planning.assignment import assign
from ghost.planning.formation import (
    March,
    mean_of,
    offset_at,
    offsets_of,
    plan_march,
    slot_at,
)
from ghost.planning.trajectory import Turn, wrapped
from ghost.planning.vectors import ZERO, distance, horizontal, length, minus, plus, times

_SHARE = 0.7
"""Of the acceleration that a plan takes; the rest is for keeping up with it."""
_PEAK_SPEED, _PEAK_ACCELERATION = 1.875, 5.7735
"""Of a smooth step, in way over duration and way over duration squared."""
_GENTLY = 1.2
"""Metres per second and metre: how fast an end is approached."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where all are between two steps. Heading is the formation's."""

    places_enu_m: Mapping[int, Vector]
    yaws_rad: Mapping[int, float]
    heading_rad: float


@dataclass(frozen=True, slots=True)
class Aim:
    """What one wants to do next. late_m is how far it is from where it should be by now."""

    velocity_enu_mps: Vector
    yaw_rad: float
    yaw_rate_rps: float = 0.0
    late_m: float = 0.0


class Part(Protocol):
    @property
    def duration_ns(self) -> int:
        """How long it takes when nothing comes in between."""
        ...

    @property
    def ending(self) -> Scene: ...

    def aim(self, number: int, place_enu_m: Vector, at_ns: int, rate: float) -> Aim:
        """Of a vehicle at a place. Time in the part passes at a rate, while all wait for one."""
        ...


def plan_part(
    step: Flown, scene: Scene, defaults: Defaults, homes_enu_m: Mapping[int, Vector]
) -> Part:
    """What the step is for those in the scene; the check and the flight share it."""
    numbers = sorted(scene.places_enu_m)
    if isinstance(step, Hold):
        return Shift(scene, scene, step.duration_ns, defaults.acceleration_mps2)
    if isinstance(step, Form):
        return _form(step, scene, defaults)
    if isinstance(step, Move):
        return _move(step, scene, defaults)
    if isinstance(step, GoTo):
        targets = step.targets_enu_m
        if targets is None:
            middle = mean_of([scene.places_enu_m[number] for number in numbers])
            targets = {number: _opposite(scene.places_enu_m[number], middle) for number in numbers}
        return _each(scene, targets, step.speed_mps, defaults)
    over = {number: (*homes_enu_m[number][:2], scene.places_enu_m[number][2]) for number in numbers}
    if step.places is Places.OWN:
        return _each(scene, over, step.speed_mps, defaults)
    return _shift(scene, list(over.values()), scene.heading_rad, step.speed_mps, defaults)


@dataclass(frozen=True, slots=True)
class Shift:
    """From place to place on straight lines, all in step with each other."""

    start: Scene
    ending: Scene
    duration_ns: int
    acceleration_mps2: float

    def aim(self, number: int, place_enu_m: Vector, at_ns: int, rate: float) -> Aim:
        return _keeping_up(self.point(number, at_ns), place_enu_m, rate, self.acceleration_mps2)

    def point(self, number: int, at_ns: int) -> TrajectoryPoint:
        share = min(max(at_ns / self.duration_ns, 0.0), 1.0) if self.duration_ns else 1.0
        done = share * share * share * (10.0 + share * (6.0 * share - 15.0))
        start_m = self.start.places_enu_m[number]
        way = minus(self.ending.places_enu_m[number], start_m)
        velocity = acceleration = ZERO
        if 0.0 < share < 1.0:
            rate_hz = 1e9 / self.duration_ns
            left = 1.0 - share
            velocity = times(way, 30.0 * share * share * left * left * rate_hz)
            bend = 60.0 * share * left * (left - share)
            acceleration = times(way, bend * rate_hz * rate_hz)
        from_rad = self.start.yaws_rad[number]
        by_rad = wrapped(self.ending.yaws_rad[number] - from_rad)
        yaw_rad, rate_rps = Turn(0, max(self.duration_ns, 1), from_rad, by_rad).at(at_ns)
        return TrajectoryPoint(
            plus(start_m, way, done), velocity, acceleration, wrapped(yaw_rad), rate_rps
        )


@dataclass(frozen=True, slots=True)
class Marching:
    """In formation, as the centre goes."""

    march: March
    offsets_flu_m: Mapping[int, Vector]
    acceleration_mps2: float

    @property
    def duration_ns(self) -> int:
        return self.march.duration_ns

    @property
    def ending(self) -> Scene:
        ends = {number: self.point(number, self.duration_ns) for number in self.offsets_flu_m}
        return Scene(
            {number: end.position_enu_m for number, end in ends.items()},
            {number: end.yaw_rad for number, end in ends.items()},
            self.march.centre.sample(self.duration_ns).yaw_rad,
        )

    def aim(self, number: int, place_enu_m: Vector, at_ns: int, rate: float) -> Aim:
        return _keeping_up(self.point(number, at_ns), place_enu_m, rate, self.acceleration_mps2)

    def point(self, number: int, at_ns: int) -> TrajectoryPoint:
        return self.march.slot(at_ns, self.offsets_flu_m[number])


@dataclass(frozen=True, slots=True)
class Each:
    """Everybody straight to its target, as far as the others let it."""

    ending: Scene
    duration_ns: int
    speed_mps: float
    climb_mps: float
    acceleration_mps2: float

    def aim(self, number: int, place_enu_m: Vector, at_ns: int, rate: float) -> Aim:
        del at_ns, rate
        way = minus(self.ending.places_enu_m[number], place_enu_m)
        flat_m, climb_m = horizontal(way), abs(way[2])
        flat = climb = 0.0
        if flat_m > 0.0:
            flat = min(self.speed_mps, _approach_mps(flat_m, self.acceleration_mps2)) / flat_m
        if climb_m > 0.0:
            climb = _approach_mps(climb_m, 0.5 * self.acceleration_mps2)
            climb = min(self.climb_mps, climb) / climb_m
        yaw_rad = self.ending.yaws_rad[number]
        return Aim((way[0] * flat, way[1] * flat, way[2] * climb), yaw_rad)


def _keeping_up(
    point: TrajectoryPoint, place_enu_m: Vector, rate: float, acceleration_mps2: float
) -> Aim:
    way = minus(point.position_enu_m, place_enu_m)
    late_m = length(way)
    velocity = times(point.velocity_enu_mps, rate)
    if late_m > 0.0:
        velocity = plus(velocity, way, _approach_mps(late_m, acceleration_mps2) / late_m)
    return Aim(velocity, point.yaw_rad, rate * point.yaw_rate_rps, late_m)


def _approach_mps(way_m: float, acceleration_mps2: float) -> float:
    return min(_GENTLY * way_m, math.sqrt(2.0 * _SHARE * acceleration_mps2 * way_m))


def _form(step: Form, scene: Scene, defaults: Defaults) -> Shift:
    places = [scene.places_enu_m[number] for number in sorted(scene.places_enu_m)]
    centre = mean_of(places) if step.centre_enu_m is None else step.centre_enu_m
    heading_rad = scene.heading_rad if step.heading_rad is None else step.heading_rad
    offsets = step.offsets_flu_m
    if step.shape is not None:
        offsets = offsets_of(step.shape, len(places), step.spacing_m)
    slots = [slot_at(centre, heading_rad, offset) for offset in offsets[: len(places)]]
    return _shift(scene, slots, heading_rad, step.speed_mps, defaults)


def _move(step: Move, scene: Scene, defaults: Defaults) -> Marching:
    numbers = sorted(scene.places_enu_m)
    centre = mean_of([scene.places_enu_m[number] for number in numbers])
    offsets = {
        number: offset_at(centre, scene.heading_rad, scene.places_enu_m[number])
        for number in numbers
    }
    to_heading_rad = None
    if step.heading is not Heading.PATH:
        kept = step.heading is Heading.KEEP
        to_heading_rad = scene.heading_rad if kept else float(step.heading)
    march = plan_march(
        centre,
        scene.heading_rad,
        step.waypoints_enu_m,
        Limits(
            max_speed_mps=step.speed_mps,
            max_climb_mps=min(defaults.climb_mps, step.speed_mps),
            max_acceleration_mps2=_SHARE * defaults.acceleration_mps2,
            max_yaw_rate_rps=defaults.yaw_rate_dps * (math.pi / 180.0),
        ),
        reach_m=max(horizontal(offset) for offset in offsets.values()),
        to_heading_rad=to_heading_rad,
    )
    return Marching(march, offsets, defaults.acceleration_mps2)


def _shift(
    scene: Scene, slots: list[Vector], heading_rad: float, speed_mps: float, defaults: Defaults
) -> Shift:
    """Who goes to which slot costs the least; how long it takes is a matter of the farthest."""
    numbers = sorted(scene.places_enu_m)
    order = assign([scene.places_enu_m[number] for number in numbers], slots)
    goals = {number: slots[slot] for number, slot in zip(numbers, order, strict=True)}
    seconds = 0.0
    for number in numbers:
        way = minus(goals[number], scene.places_enu_m[number])
        turn_rad = abs(wrapped(heading_rad - scene.yaws_rad[number]))
        seconds = max(
            seconds,
            _PEAK_SPEED * horizontal(way) / speed_mps,
            _PEAK_SPEED * abs(way[2]) / min(defaults.climb_mps, speed_mps),
            math.sqrt(_PEAK_ACCELERATION * length(way) / (_SHARE * defaults.acceleration_mps2)),
            1.5 * turn_rad / (defaults.yaw_rate_dps * (math.pi / 180.0)),
        )
    ending = Scene(goals, dict.fromkeys(numbers, heading_rad), heading_rad)
    return Shift(scene, ending, math.ceil(seconds * 1e9), defaults.acceleration_mps2)


def _each(
    scene: Scene, targets: Mapping[int, Vector], speed_mps: float, defaults: Defaults
) -> Each:
    """Who is given no target stays."""
    goals = {number: targets.get(number, place) for number, place in scene.places_enu_m.items()}
    seconds = max(
        (
            distance(place, goals[number]) / min(speed_mps, defaults.climb_mps)
            for number, place in scene.places_enu_m.items()
        ),
        default=0.0,
    )
    return Each(
        replace(scene, places_enu_m=goals),
        math.ceil(seconds * 1e9),
        speed_mps,
        min(defaults.climb_mps, speed_mps),
        defaults.acceleration_mps2,
    )


def _opposite(place: Vector, middle: Vector) -> Vector:
    return (2.0 * middle[0] - place[0], 2.0 * middle[1] - place[1], place[2])
