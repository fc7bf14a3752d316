"""Corners that are flown through: the bulge from a leg into the waypoint and out again.

At a waypoint the velocity points half-way between the legs. Seen from a leg, it has a part along
it and a part across. Along, the speed goes from its value at the waypoint to the full corner speed
as a smooth step; across, a quintic swings out and back in. For a corner speed c and a duration d
both are known in closed form, in units of c / d and c * d:

    acceleration   along at most 1.5 * (1 - cosine), across at most 3.941 * sine
    deviation      16 / 81 * sine
    way            (1 + cosine) / 2

and the speed nowhere exceeds c. So the limits turn into bounds on c squared, without a search.
"""

import math
from dataclasses import dataclass

from ghost.planning.limits import Limits
from ghost.planning.vectors import Vector, dot, horizontal, length, plus, times

_ACCELERATION_ACROSS = 3.941
_DEVIATION = 16.0 / 81.0
_STRAIGHT = 1e-9
_SHARPEST_COSINE = -0.5
"""Beyond a turn of 120 degrees the vehicle stops: a bulge around a reversal saves nothing."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A straight line between two waypoints, and how fast it may be flown."""

    start_enu_m: Vector
    direction: Vector
    length_m: float
    max_speed_mps: float


@dataclass(frozen=True, slots=True)
class Bend:
    """Between a leg and a velocity at one of its ends. stretch is duration * acceleration / speed,
    reach is way * acceleration / speed squared.
    """

    across: Vector
    cosine: float
    sine: float
    stretch: float
    reach: float


def direction_through(before: Leg, after: Leg) -> Vector | None:
    """Half-way between the legs, or None where the vehicle should rather stop."""
    if dot(before.direction, after.direction) < _SHARPEST_COSINE:
        return None
    both = plus(before.direction, after.direction)
    return times(both, 1.0 / length(both))


def bend_between(leg: Leg, direction: Vector) -> Bend:
    cosine = dot(leg.direction, direction)
    across = plus(direction, leg.direction, -cosine)
    sine = length(across)
    if sine < _STRAIGHT:
        return Bend(across, 1.0, 0.0, 0.0, 0.0)
    along_peak, across_peak = 1.5 * (1.0 - cosine), _ACCELERATION_ACROSS * sine
    stretch = math.sqrt(along_peak * along_peak + across_peak * across_peak)
    return Bend(across, cosine, sine, stretch, 0.5 * (1.0 + cosine) * stretch)


def max_squared_speed(leg: Leg, bend: Bend, limits: Limits) -> float:
    """Of the corner speed: within every limit, and on no more than a quarter of the leg."""
    sideways = min(1.0, horizontal(leg.direction) + horizontal(bend.across))
    upright = min(1.0, abs(leg.direction[2]) + abs(bend.across[2]))
    fastest = min(
        leg.max_speed_mps,
        limits.max_speed_mps / sideways if sideways > 0.0 else math.inf,
        limits.max_climb_mps / upright if upright > 0.0 else math.inf,
    )
    bounds = [fastest * fastest]
    if bend.sine > 0.0:
        acceleration = limits.max_acceleration_mps2
        bounds += (
            0.25 * leg.length_m * acceleration / bend.reach,
            limits.max_deviation_m * acceleration / (_DEVIATION * bend.sine * bend.stretch),
        )
    return min(bounds)
