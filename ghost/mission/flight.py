"""A trajectory under way: its set-points, and which waypoints the vehicle has really passed.

All times are along the trajectory, which a cautious flight follows more slowly than time passes.
"""

from collections.abc import Iterator

from ghost.planning import Trajectory, TrajectoryPoint, Vector
from ghost.planning.vectors import distance


class Flight:
    def __init__(
        self,
        trajectory: Trajectory,
        waypoints_enu_m: tuple[Vector, ...],
        acceptance_m: float,
        late_ns: int,
    ) -> None:
        self.duration_ns = trajectory.duration_ns
        self._trajectory = trajectory
        self._waypoints = waypoints_enu_m
        self._acceptance_m = acceptance_m
        self._late_ns = late_ns
        self._next = 0
        self._nearest_m = float("inf")

    @property
    def arrived(self) -> bool:
        """Whether the last waypoint was reached, not merely its time."""
        return self._next == len(self._waypoints)

    def setpoint(self, at_ns: int) -> TrajectoryPoint:
        return self._trajectory.sample(at_ns)

    def over(self, at_ns: int) -> bool:
        return at_ns >= self.duration_ns

    def passed(self, at_ns: int, position_enu_m: Vector) -> Iterator[tuple[int, float, bool]]:
        """Each waypoint passed since the last call: which, how near, and whether near enough."""
        while not self.arrived:
            due_ns = self._trajectory.waypoint_ns[self._next]
            if at_ns < due_ns - self._late_ns:
                return
            away_m = distance(position_enu_m, self._waypoints[self._next])
            if self._is_last:
                settled = away_m <= self._acceptance_m and self.over(at_ns)
            else:  # told when it gets farther again, so that the nearest is known
                settled = self._acceptance_m >= self._nearest_m < away_m
                settled = settled or at_ns > due_ns + self._late_ns
            self._nearest_m = min(self._nearest_m, away_m)
            if not settled:
                return
            yield self._next, self._nearest_m, self._nearest_m <= self._acceptance_m
            self._next += 1
            self._nearest_m = float("inf")

    @property
    def _is_last(self) -> bool:
        return self._next == len(self._waypoints) - 1
