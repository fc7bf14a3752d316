"""Whether a mission can be flown, asked before take-off, when every answer is still cheap."""

from collections.abc import Sequence

from ghost.core.errors import ConfigError
from ghost.core.exact import sine_cosine
from ghost.hal.envelope import SafetyEnvelope
from ghost.mission.route import above, at_rest, ending_of, plan_step, timeout_ns_of
from ghost.mission.steps import (
    Defaults,
    GoTo,
    Hold,
    Land,
    Return,
    Step,
    Survey,
    Takeoff,
    kind_of,
    looks_out,
)
from ghost.planning import Limits, Trajectory, Vector, plan_path
from ghost.planning.vectors import distance

_LOOK_NS = 50_000_000
"""How often the path is looked at; the gate looks at every set-point, later."""
_GRAVITY_MPS2 = 9.80665
_TOLERANCE_M = 1e-6


def check_steps(
    steps: Sequence[Step],
    defaults: Defaults,
    envelope: SafetyEnvelope,
    home_enu_m: Vector,
    start_enu_m: Vector,
    *,
    reach_m: float,
    sees: bool | None = None,
) -> None:
    """Raise ConfigError at the first value that can't be flown."""
    _check_defaults(defaults, envelope)
    judge = _Judge(envelope, home_enu_m, reach_m)
    here = at_rest(start_enu_m, 0.0)
    for index, step in enumerate(steps):
        judge.step = f"step {index} ({kind_of(step)})"
        if sees is False and looks_out(step):
            raise ConfigError(
                f"{judge.step}: stop_before_obstacle_m needs a depth camera or a lidar, and this "
                "vehicle has neither; give it one, or leave the key out"
            )
        if isinstance(step, Takeoff):
            here = at_rest(above(home_enu_m, here.position_enu_m, step.altitude_m), here.yaw_rad)
            judge.place(here.position_enu_m, f"altitude_m {step.altitude_m:g}")
        elif isinstance(step, GoTo | Hold | Survey):
            judge.speed(step)
            trajectory = plan_step(step, here, defaults)
            judge.flight(step, trajectory)
            here = ending_of(trajectory)
        elif isinstance(step, Return):
            over_home = (home_enu_m[0], home_enu_m[1], here.position_enu_m[2])
            judge.path(plan_path(here.position_enu_m, [over_home], Limits()), "the way home")
            here = at_rest(over_home, here.yaw_rad)
        elif isinstance(step, Land):
            here = at_rest(above(home_enu_m, here.position_enu_m, 0.0), here.yaw_rad)


class _Judge:
    def __init__(self, envelope: SafetyEnvelope, home_enu_m: Vector, reach_m: float) -> None:
        self.step = ""
        self._envelope = envelope
        self._home_enu_m = home_enu_m
        self._reach_m = reach_m

    def speed(self, step: Step) -> None:
        limit_mps = self._envelope.max_speed_mps
        if isinstance(step, GoTo | Survey) and step.speed_mps > limit_mps:
            raise ConfigError(
                f"{self.step}: speed_mps {step.speed_mps:g} is above the envelope's {limit_mps:g}; "
                "lower it"
            )

    def flight(self, step: GoTo | Hold | Survey, trajectory: Trajectory) -> None:
        if not isinstance(step, Hold):
            for index, place in enumerate(step.waypoints_enu_m):
                self.place(place, f"waypoint {index}")
        self.path(trajectory, "the path")
        needed_ns = step.duration_ns if isinstance(step, Hold) else trajectory.duration_ns
        timeout_ns = timeout_ns_of(step, needed_ns)
        if timeout_ns < needed_ns:
            raise ConfigError(
                f"{self.step}: needs {needed_ns / 1e9:.1f} s, and timeout_s is "
                f"{timeout_ns / 1e9:g}; raise timeout_s or speed_mps, or shorten the way"
            )

    def path(self, trajectory: Trajectory, what: str) -> None:
        for at_ns in range(0, trajectory.duration_ns + _LOOK_NS, _LOOK_NS):
            place = trajectory.sample(at_ns).position_enu_m
            self.place(place, f"{what} {at_ns / 1e9:.1f} s on")

    def place(self, place: Vector, what: str) -> None:
        where = f"{self.step}: {what}, at ({place[0]:.1f}, {place[1]:.1f}, {place[2]:.1f}),"
        outside_m = self._envelope.outside_fence_m(place[0], place[1])
        if outside_m > _TOLERANCE_M:
            raise ConfigError(
                f"{where} is {outside_m:.1f} m outside the fence; move it inside, "
                "use stop: true if only the corner bulges out, or widen the fence"
            )
        low_m, high_m = self._envelope.min_altitude_m, self._envelope.max_altitude_m
        if not low_m - _TOLERANCE_M <= place[2] <= high_m + _TOLERANCE_M:
            raise ConfigError(
                f"{where} is outside the altitudes {low_m:g} to {high_m:g} m; "
                "change its altitude or the envelope"
            )
        away_m = distance(place, self._home_enu_m)
        if away_m > self._reach_m:
            raise ConfigError(
                f"{where} is {away_m:.0f} m from home, beyond the reach of {self._reach_m:g} m; "
                "move it nearer or raise the reach"
            )


def _check_defaults(defaults: Defaults, envelope: SafetyEnvelope) -> None:
    if defaults.climb_mps > envelope.max_climb_mps:
        raise ConfigError(
            f"defaults: climb_mps {defaults.climb_mps:g} is above the envelope's "
            f"{envelope.max_climb_mps:g}; lower it"
        )
    sine, cosine = sine_cosine(envelope.max_tilt_rad)
    if defaults.acceleration_mps2 * cosine > _GRAVITY_MPS2 * sine:
        most = _GRAVITY_MPS2 * sine / cosine
        raise ConfigError(
            f"defaults: acceleration_mps2 {defaults.acceleration_mps2:g} needs more tilt than the "
            f"envelope's {envelope.max_tilt_rad:g} rad, which is good for {most:.1f}; lower it"
        )
