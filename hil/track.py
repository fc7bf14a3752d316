"""Where the vehicle really was, by the simulator, from the moment that somebody began to look."""

import contextlib
import math
import threading
import time
from dataclasses import dataclass

from ghost.core.errors import GhostError
from hil.target import Vehicle

PERIOD_S = 0.04
_NEAR_M = 0.4
"""Above where it stood: slower than this it has no time to become."""


@dataclass(frozen=True, slots=True)
class Point:
    """at_s is of the machine's monotonic clock; places are from where it stood at first."""

    at_s: float
    east_m: float
    north_m: float
    up_m: float
    climb_mps: float

    @property
    def away_m(self) -> float:
        return math.hypot(self.east_m, self.north_m)


@dataclass(frozen=True, slots=True)
class Flown:
    """The extremes of a stretch of flight."""

    away_m: float
    lowest_m: float
    highest_m: float


class Track:
    """Looks 25 times a second, from a thread of its own. Begin while it stands at home."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._is_over = threading.Event()
        self._home_m = vehicle.truth()["position_enu_m"]
        self.points = [self._look()]
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def here(self) -> Point:
        return self.points[-1]

    def since(self, at_s: float) -> Flown:
        points = [point for point in self.points if point.at_s >= at_s] or [self.here]
        return Flown(
            max(point.away_m for point in points),
            min(point.up_m for point in points),
            max(point.up_m for point in points),
        )

    def touchdown_mps(self, since_s: float) -> float:
        """How fast it came down at the ground, at most."""
        near = [one for one in self.points if one.at_s >= since_s and one.up_m < _NEAR_M]
        return max((-point.climb_mps for point in near), default=0.0)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _follow(self) -> None:
        with contextlib.suppress(GhostError):  # a vehicle that ended has no truth to tell
            while not self._is_over.wait(PERIOD_S):
                self.points.append(self._look())

    def _look(self) -> Point:
        truth = self._vehicle.truth()
        east_m, north_m, up_m = (
            here - home for here, home in zip(truth["position_enu_m"], self._home_m, strict=True)
        )
        return Point(time.monotonic(), east_m, north_m, up_m, truth["velocity_enu_mps"][2])
