"""Which touches are collisions, and that each is told once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.hal import ContactSample

FloatArray = NDArray[np.float64]

HARD_MPS = 2.5
"""Legs take a landing, not a fall: above this speed even the ground is run into."""
_APART_NS = 200_000_000
_BODY_B, _PLACE, _NORMAL, _APART_M, _FORCE_N = 2, 5, 7, 8, 9


class Contacts:
    """Of one vehicle. A thing is touched anew when it was left alone for a while: what bounces or
    scrapes along is one collision. velocities are those of whatever moves, by its body.
    """

    def __init__(
        self,
        body: int,
        names: dict[int, str],
        landable: set[int],
        velocities_enu_mps: dict[int, FloatArray],
    ) -> None:
        self._own = velocities_enu_mps[body]
        self._velocities = velocities_enu_mps
        self._names = names
        self._landable = landable
        self._touched_ns: dict[str, int] = {}
        self._waiting: list[ContactSample] = []
        self._sequence = 0

    def note(self, points: tuple[Any, ...], now_ns: int) -> None:
        """Of one step, while velocities are still those from before it. Of several things that are
        run into at once the one that is hit hardest is told.
        """
        hardest: tuple[float, str, Any] | None = None
        before_ns = self._touched_ns.copy()  # a thing may be touched in several points at once
        for point in points:
            if point[_FORCE_N] <= 0.0 and point[_APART_M] > 0.0:
                continue
            other, (nx, ny, nz) = point[_BODY_B], point[_NORMAL]
            vx, vy, vz = (self._own - self._velocities.get(other, 0.0)).tolist()
            speed_mps = max(-(vx * nx + vy * ny + vz * nz), 0.0)
            name = self._names[other]
            was_ns = before_ns.get(name)
            self._touched_ns[name] = now_ns
            if was_ns is not None and now_ns - was_ns < _APART_NS:
                continue
            if other in self._landable and speed_mps < HARD_MPS:
                continue
            if hardest is None or speed_mps > hardest[0]:
                hardest = (speed_mps, name, point[_PLACE])
        if hardest is not None:
            speed_mps, name, place = hardest
            self._waiting.append(
                ContactSample(now_ns, self._sequence, name, np.array(place), speed_mps)
            )
            self._sequence += 1

    def take(self) -> list[ContactSample]:
        waiting, self._waiting = self._waiting, []
        return waiting
