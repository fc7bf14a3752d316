"""Keeping vehicles apart: a pure rule, from where all are and want to go to where they may.

Distances are horizontal. Nobody flies over anybody: not in the air that another pushes down, and
whoever has to land may do so where it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ghost.core.errors import ConfigError
from ghost.core.exact import sine_cosine
from ghost.planning.separation import kernel
from ghost.planning.vectors import ZERO, Vector

Edge = tuple[float, float, float, float]
"""Of a fence: east and north of its two ends."""

_TURNS_DEG = (12.0, 25.0, 40.0, 60.0, 80.0, 105.0, 140.0)
_SHARES = (1.0, 0.6, 0.3)
_LEFT, _SLOWER = 1.15, 1.8
"""What it costs to turn to the left, as against the right; and to stand, in turns of 60 degrees.
Two that meet head-on have to choose the same side.
"""


@dataclass(frozen=True, slots=True)
class Mover:
    """A vehicle, as the rule sees it. extra_m is how much more room than the rule's it needs. Who
    doesn't follow the rule is kept away from, and expected to go on as it goes.
    """

    position_enu_m: Vector
    velocity_enu_mps: Vector = ZERO
    wanted_enu_mps: Vector = ZERO
    extra_m: float = 0.0
    follows: bool = True


@dataclass(frozen=True, slots=True)
class Spacing:
    """distance_m is what is kept, horizontally. Speed and acceleration are horizontal; vertical
    speed changes by half the acceleration at most.
    """

    distance_m: float
    max_speed_mps: float = 4.5
    max_climb_mps: float = 1.5
    max_acceleration_mps2: float = 2.0
    period_ns: int = 20_000_000

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not 0.0 < value < math.inf:
                raise ConfigError(f"{entry.name} is {value}; expected a finite number above 0")


def keep_apart(
    movers: Sequence[Mover], spacing: Spacing, fence: Sequence[Edge] = ()
) -> tuple[Vector, ...]:
    """The velocity of each one period from now. Those first in order have the right of way.

    Whoever flies by it keeps its distance from all others who do, if they kept it before and could
    stop in time. That holds for the mean of both velocities over the period, and with every
    acceleration within its limit.
    """
    if not movers:
        return ()
    now = np.array(
        [
            (
                *mover.position_enu_m[:2],
                *mover.velocity_enu_mps[:2],
                *mover.wanted_enu_mps[:2],
                mover.extra_m,
                float(mover.follows),
            )
            for mover in movers
        ]
    )
    plan = np.zeros((len(movers), 6))
    edges = np.array(fence, dtype=np.float64).reshape(-1, 4)
    rule = np.array(
        [
            spacing.distance_m,
            spacing.max_speed_mps,
            spacing.max_acceleration_mps2,
            spacing.period_ns * 1e-9,
        ]
    )
    kernel.keep_apart(now, plan, _TRIES, edges, rule)
    return tuple(
        (east_mps, north_mps, _climb(mover, spacing))
        for mover, (east_mps, north_mps) in zip(movers, plan[:, 2:4].tolist(), strict=True)
    )


def _climb(mover: Mover, spacing: Spacing) -> float:
    was_mps = mover.velocity_enu_mps[2]
    if not mover.follows:
        return was_mps
    most_mps = spacing.max_climb_mps
    aim_mps = min(max(mover.wanted_enu_mps[2], -most_mps), most_mps)
    change = 0.5 * spacing.max_acceleration_mps2 * spacing.period_ns * 1e-9
    return was_mps + min(max(aim_mps - was_mps, -change), change)


def _tries() -> list[tuple[float, float, float, float]]:
    """What is wanted comes first, to stand last."""
    tries = [(1.0, 0.0, 1.0, 0.0)]
    for share in _SHARES:
        slower = _SLOWER * (1.0 - share)
        tries.append((1.0, 0.0, share, slower))
        for turn_deg in _TURNS_DEG:
            sine, cosine = sine_cosine(turn_deg * (math.pi / 180.0))
            turning = turn_deg / 60.0
            tries.append((cosine, -sine, share, slower + turning))
            tries.append((cosine, sine, share, slower + _LEFT * turning))
        tries.append((-1.0, 0.0, share, slower + 3.0))
    tries.append((1.0, 0.0, 0.0, _SLOWER))
    return tries


_TRIES = np.array(_tries())
