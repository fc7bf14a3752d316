"""From a step to a trajectory, and to the time it may take. The check and the flight share it."""

import math

from ghost.mission.steps import Defaults, GoTo, Hold, Land, Return, Step, Survey, Takeoff
from ghost.planning import Limits, Trajectory, TrajectoryPoint, Vector, plan_path
from ghost.planning.vectors import ZERO, plus

_MARGIN_NS = 30_000_000_000
_SLOWEST_CLIMB_MPS = 0.5


def at_rest(position_enu_m: Vector, yaw_rad: float) -> TrajectoryPoint:
    return TrajectoryPoint(position_enu_m, ZERO, ZERO, yaw_rad, 0.0)


def plan_step(step: GoTo | Hold | Survey, start: TrajectoryPoint, defaults: Defaults) -> Trajectory:
    """From wherever the last set-point was, so that set-points never jump."""
    speed_mps = defaults.speed_mps if isinstance(step, Hold) else step.speed_mps
    return plan_path(
        start.position_enu_m,
        () if isinstance(step, Hold) else step.waypoints_enu_m,
        Limits(
            max_speed_mps=speed_mps,
            max_climb_mps=min(defaults.climb_mps, speed_mps),
            max_acceleration_mps2=defaults.acceleration_mps2,
            max_yaw_rate_rps=defaults.yaw_rate_dps * (math.pi / 180.0),
        ),
        velocity_enu_mps=start.velocity_enu_mps,
        stop=not isinstance(step, Hold) and step.stop,
        start_yaw_rad=start.yaw_rad,
        yaw_rad=start.yaw_rad if isinstance(step, Hold) else step.yaw_rad,
    )


def ending_of(trajectory: Trajectory) -> TrajectoryPoint:
    return trajectory.sample(trajectory.duration_ns)


def above(home_enu_m: Vector, place_enu_m: Vector, altitude_m: float) -> Vector:
    """Over a place, at an altitude above home."""
    return plus((place_enu_m[0], place_enu_m[1], home_enu_m[2]), (0.0, 0.0, altitude_m))


def timeout_ns_of(step: Step, planned_ns: int = 0) -> int:
    """The step's own, or half as long again as planned and half a minute."""
    if step.terms.timeout_ns is not None:
        return step.terms.timeout_ns
    if isinstance(step, Takeoff):
        return _MARGIN_NS + round(step.altitude_m / _SLOWEST_CLIMB_MPS * 1e9)
    if isinstance(step, Land | Return):
        return 10 * _MARGIN_NS
    if isinstance(step, Hold):
        return step.duration_ns + _MARGIN_NS
    return planned_ns * 3 // 2 + _MARGIN_NS
