"""The phase that flies: along a trajectory, and where told to, with an eye on what is ahead."""

from ghost.events import EventKind, Severity
from ghost.mission.caution import Caution
from ghost.mission.flight import Flight
from ghost.mission.phases import GOING, Report, Tools, View
from ghost.mission.route import plan_step
from ghost.mission.steps import GoTo, Hold, Survey
from ghost.planning import TrajectoryPoint
from ghost.planning.vectors import distance, length

_SLOW_MPS = 0.2


class Fly:
    """Follows the step's trajectory, and holds its end until the vehicle is there too."""

    def __init__(self, step: GoTo | Hold | Survey) -> None:
        self.planned_ns = 0
        self._step = step
        self._flight: Flight | None = None
        self._caution: Caution | None = None
        self._began_ns = 0

    def tick(self, view: View, tools: Tools) -> Report:
        flight = self._flight or self._plan(view, tools)
        at_ns, tools.setpoint = self._next(flight, view, tools)
        ack = tools.link.stream(view.now_ns, tools.setpoint)
        if tools.link.refused_in_a_row >= tools.patience.refusals:
            count = tools.link.refused_in_a_row
            return Report(problem=f"{count} commands refused: {ack.reason.name}: {ack.detail}")
        for index, near_m, reached in flight.passed(at_ns, view.position_enu_m):
            tools.link.tell(
                view.now_ns,
                EventKind.WAYPOINT_REACHED if reached else EventKind.WAYPOINT_MISSED,
                f"waypoint {index}, {near_m:.2f} m off",
                Severity.INFO if reached else Severity.WARN,
                waypoint=index,
                distance_m=near_m,
            )
        if isinstance(self._step, Hold):
            return Report(done=at_ns >= self._step.duration_ns)
        if flight.arrived and flight.over(at_ns):
            return Report(done=True)
        return GOING if self._caution is None else _stop(self._caution, view, tools)

    def _next(self, flight: Flight, view: View, tools: Tools) -> tuple[int, TrajectoryPoint]:
        """The time along the trajectory, and the set-point there."""
        if self._caution is None:
            at_ns = view.now_ns - self._began_ns
            return at_ns, flight.setpoint(at_ns)
        setpoint = self._caution.advance(view.now_ns, tools.surroundings)
        return self._caution.at_ns, setpoint

    def _plan(self, view: View, tools: Tools) -> Flight:
        step, defaults = self._step, tools.defaults
        trajectory = plan_step(step, tools.setpoint, defaults)
        self._began_ns = view.now_ns
        self.planned_ns = trajectory.duration_ns
        waypoints = () if isinstance(step, Hold) else step.waypoints_enu_m
        self._flight = Flight(trajectory, waypoints, defaults.acceptance_m, tools.patience.late_ns)
        if not isinstance(step, Hold) and step.stop_before_obstacle_m is not None:
            self._caution = Caution(
                trajectory,
                step.stop_before_obstacle_m,
                began_ns=view.now_ns,
                ground_up_m=view.home_enu_m[2],
                speed_mps=step.speed_mps,
                acceleration_mps2=defaults.acceleration_mps2,
            )
        return self._flight


def _stop(caution: Caution, view: View, tools: Tools) -> Report:
    """What came of a stop, once the vehicle stands as well as its set-point."""
    east_mps, north_mps, up_mps = view.state.velocity_enu_mps.tolist()
    if not caution.stopped or length((east_mps, north_mps, up_mps)) > _SLOW_MPS:
        return GOING
    if caution.trouble:
        return Report(failure=caution.trouble)
    if caution.hindrance is None:  # it stops for nothing else
        return GOING
    sensor, point_enu_m = caution.hindrance.sensor, caution.hindrance.point_enu_m
    away_m = distance(view.position_enu_m, point_enu_m)
    cause = f"{sensor} sees an obstacle {away_m:.2f} m away"
    tools.link.tell(
        view.now_ns,
        EventKind.OBSTACLE_AHEAD,
        cause,
        Severity.WARN,
        distance_m=away_m,
        position_enu_m=list(view.position_enu_m),
        obstacle_enu_m=list(point_enu_m),
        sensor=sensor,
        sight=tools.surroundings.sight_of(sensor).name,
    )
    return Report(done=True, cause=cause)
