"""Where the nose points: one way throughout, or along the legs."""

import math
from collections.abc import Sequence

from ghost.core.exact import arctangent2
from ghost.planning.trajectory import Turn, wrapped
from ghost.planning.vectors import Vector, horizontal

_STEEPEST = 0.1
"""The horizontal part of a leg's direction below which it has no heading of its own."""
_PEAK = 1.5
"""The peak rate of a smooth turn, over its mean."""


def turns_along(
    directions: Sequence[Vector],
    knots_ns: Sequence[int],
    max_yaw_rate_rps: float,
    *,
    start_yaw_rad: float | None,
    yaw_rad: float | None,
) -> tuple[Turn, ...]:
    """knots_ns are the start of the first leg and the end of each.

    The first turn begins at once, a later one half-way before its waypoint, none before the one
    before it is over: with turns close to each other the nose lags, and the rate holds.
    """
    if yaw_rad is not None:
        wanted = [(yaw_rad, 0)]
    else:
        wanted = [
            (arctangent2(direction[1], direction[0]), at_ns)
            for direction, at_ns in zip(directions, knots_ns, strict=False)
            if horizontal(direction) > _STEEPEST
        ]
    now_rad = start_yaw_rad if start_yaw_rad is not None else (wanted[0][0] if wanted else 0.0)
    turns = [Turn(0, 1, now_rad, 0.0)]
    free_ns = 1
    for target_rad, at_ns in wanted:
        by_rad = wrapped(target_rad - now_rad)
        if by_rad == 0.0:
            continue
        duration_ns = math.ceil(_PEAK * abs(by_rad) / max_yaw_rate_rps * 1e9)
        start_ns = max(free_ns, at_ns - duration_ns // 2)
        turns.append(Turn(start_ns, duration_ns, now_rad, by_rad))
        now_rad += by_rad
        free_ns = start_ns + duration_ns
    return tuple(turns)
