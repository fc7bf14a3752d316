"""A flight that stops before obstacles: the same path, slowed as the room ahead gets less."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ghost.hal import Obstacles
from ghost.mission.clearance import Way
from ghost.mission.pace import Pace
from ghost.mission.surroundings import KEPT_NS, Surroundings
from ghost.planning import Trajectory, TrajectoryPoint, Vector
from ghost.planning.vectors import dot, length, plus, times

_MARGIN_M = 0.1
"""How much farther off than told the set-point stops, for the vehicle to overshoot it."""
_GROUND_M = 0.3
_LOOK_AHEAD_NS = 3_000_000_000 + KEPT_NS
"""Beyond the time that braking takes; what was seen has to do for as long as it is kept."""


@dataclass(frozen=True, slots=True)
class Hindrance:
    """A point that the path comes too near to, and how far along it that is."""

    stamp_ns: int
    sensor: str
    along_m: float
    point_enu_m: Vector


class Caution:
    """Time along the trajectory is at_ns. It passes as the run's does where nothing is ahead."""

    def __init__(
        self,
        trajectory: Trajectory,
        clearance_m: float,
        *,
        began_ns: int,
        ground_up_m: float,
        speed_mps: float,
        acceleration_mps2: float,
    ) -> None:
        self.at_ns = 0
        self.trouble = ""
        self.hindrance: Hindrance | None = None
        self._trajectory = trajectory
        self._way = Way(trajectory)
        self._pace = Pace(acceleration_mps2)
        self._clearance_m = clearance_m
        self._ground_up_m = ground_up_m
        self._ahead_ns = round(speed_mps / acceleration_mps2 * 1e9) + _LOOK_AHEAD_NS
        self._now_ns = began_ns
        self._heard = 0
        self._hindrances: deque[Hindrance] = deque()

    @property
    def stopped(self) -> bool:
        """For good: what ended it is the trouble, or else the hindrance."""
        return self._pace.stopped

    def advance(self, now_ns: int, surroundings: Surroundings) -> TrajectoryPoint:
        """The set-point of this moment."""
        passed_ns = now_ns - self._now_ns
        self._now_ns = now_ns
        if not self.stopped:
            self._look(surroundings)
            self._move(passed_ns)
        return self._setpoint()

    def _look(self, surroundings: Surroundings) -> None:
        for obstacles in surroundings.after(self._heard):
            self._judge(obstacles)
        self._heard = surroundings.heard
        while self._hindrances and self._hindrances[0].stamp_ns < self._now_ns - KEPT_NS:
            self._hindrances.popleft()
        self.hindrance = min(self._hindrances, key=lambda other: other.along_m, default=None)
        self.trouble = self.trouble or surroundings.trouble(self._now_ns)

    def _judge(self, obstacles: Obstacles) -> None:
        """Once for each message: the path is fixed, and so are the points."""
        points_enu_m = obstacles.points_enu_m.astype(np.float64)
        # Written so that a deviation of NaN leaves an obstacle, not ground.
        ground = points_enu_m[:, 2] <= self._ground_up_m + _GROUND_M + 3.0 * obstacles.std_m
        points_enu_m = points_enu_m[~ground]
        found = self._way.first_too_near(
            points_enu_m, self._clearance_m, self.at_ns, self.at_ns + self._ahead_ns
        )
        if found is not None:
            along_m, index = found
            east_m, north_m, up_m = points_enu_m[index].tolist()
            self._hindrances.append(
                Hindrance(obstacles.stamp_ns, obstacles.sensor, along_m, (east_m, north_m, up_m))
            )

    def _move(self, passed_ns: int) -> None:
        point = self._trajectory.sample(self.at_ns)
        speed_mps = length(point.velocity_enu_mps)
        steeper = dot(point.acceleration_enu_mps2, point.velocity_enu_mps)
        slope_mps2 = steeper / speed_mps if speed_mps > 0.0 else 0.0
        before = self._pace.rate
        self._pace.keep(passed_ns * 1e-9, speed_mps, slope_mps2, self._room_m())
        self.at_ns += round(0.5 * (before + self._pace.rate) * passed_ns)

    def _room_m(self) -> float | None:
        if self.trouble:
            return None
        if self.hindrance is None:
            return math.inf
        return self.hindrance.along_m - _MARGIN_M - self._way.along_m(self.at_ns)

    def _setpoint(self) -> TrajectoryPoint:
        point = self._trajectory.sample(self.at_ns)
        rate, change = self._pace.rate, self._pace.change
        if rate == 1.0 and change == 0.0:
            return point
        return TrajectoryPoint(
            point.position_enu_m,
            times(point.velocity_enu_mps, rate),
            plus(times(point.acceleration_enu_mps2, rate * rate), point.velocity_enu_mps, change),
            point.yaw_rad,
            rate * point.yaw_rate_rps,
        )
