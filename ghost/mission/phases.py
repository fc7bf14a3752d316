"""The phases that steps are made of. Each is told what is known and says how it gets on."""

from dataclasses import dataclass, field
from typing import Protocol

from ghost.core.rotations import yaw_of
from ghost.hal import Action, FlightMode, VehicleState, VehicleStatus
from ghost.mission.authority import Authority
from ghost.mission.link import Asking, Link
from ghost.mission.outcome import Patience
from ghost.mission.route import above, at_rest
from ghost.mission.steps import Defaults
from ghost.mission.surroundings import Surroundings
from ghost.planning import TrajectoryPoint, Vector
from ghost.planning.vectors import ZERO, horizontal, length, minus

_STILL_MPS = 0.1
_SLOW_MPS = 0.5
_NEVER_SHORT_M = 1.0
"""A flight controller's own take-off ends nearer to its height than that: PX4's within 0.8 m."""


@dataclass(frozen=True, slots=True)
class View:
    """What is known at one moment."""

    now_ns: int
    state: VehicleState
    status: VehicleStatus
    home_enu_m: Vector

    @property
    def position_enu_m(self) -> Vector:
        east_m, north_m, up_m = self.state.position_enu_m.tolist()
        return (east_m, north_m, up_m)

    @property
    def landed(self) -> bool:
        return self.status.on_ground and not self.status.armed


@dataclass(slots=True)
class Tools:
    """What phases share; the last set-point is where the next trajectory starts."""

    link: Link
    authority: Authority
    patience: Patience
    defaults: Defaults
    setpoint: TrajectoryPoint
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, slots=True)
class Report:
    """A problem lands the vehicle; a failure leaves that to the step's on_timeout. cause is what
    ended a phase early, if anything did. What was taken by somebody is theirs.
    """

    done: bool = False
    problem: str = ""
    failure: str = ""
    cause: str = ""
    taken_by: str = ""


GOING, DONE = Report(), Report(done=True)


class Phase(Protocol):
    @property
    def planned_ns(self) -> int:
        """How long it is going to take, where that is known."""
        ...

    def tick(self, view: View, tools: Tools) -> Report: ...


class Arm:
    planned_ns = 0

    def __init__(self, tools: Tools) -> None:
        self._asking = Asking(tools.link, Action.ARM)

    def tick(self, view: View, tools: Tools) -> Report:
        if view.status.armed:
            return DONE
        return _asked(self._asking, view, tools) or _unless_late(
            self._asking, view, tools, "was accepted, but the status doesn't show it"
        )


class Climb:
    planned_ns = 0

    def __init__(self, tools: Tools, altitude_m: float) -> None:
        self._altitude_m = altitude_m
        self._asking = Asking(tools.link, Action.TAKEOFF, altitude_m)
        self._held_ns: int | None = None

    def tick(self, view: View, tools: Tools) -> Report:
        waiting = _claimed(self._asking, (FlightMode.TAKEOFF, FlightMode.HOLD), view, tools)
        if waiting is not None:
            return waiting
        short_m = above(view.home_enu_m, ZERO, self._altitude_m)[2] - view.position_enu_m[2]
        climb_mps = float(view.state.velocity_enu_mps[2])
        holds = view.status.mode is FlightMode.HOLD
        if not (holds and short_m > _NEVER_SHORT_M):
            self._held_ns = None
        elif self._held_ns is None:
            self._held_ns = view.now_ns
        elif view.now_ns - self._held_ns > tools.patience.held_ns:
            return Report(taken_by=f"HOLD was chosen {short_m:.1f} m below the take-off's height")
        settled = abs(climb_mps) < (_SLOW_MPS if holds else _STILL_MPS)
        near = short_m <= tools.defaults.acceptance_m and not view.status.on_ground
        return Report(done=near and settled)


class EnterOffboard:
    """Streams the place where the vehicle is while it asks: one flight controller wants set-points
    before the mode, another refuses them before it.
    """

    planned_ns = 0

    def __init__(self, tools: Tools) -> None:
        self._asking = Asking(tools.link, Action.OFFBOARD)
        self._placed = False

    def tick(self, view: View, tools: Tools) -> Report:
        if not self._placed:
            tools.setpoint = at_rest(view.position_enu_m, yaw_of(view.state.attitude))
            self._placed = True
        waiting = _claimed(self._asking, (FlightMode.OFFBOARD,), view, tools)
        tools.link.stream(view.now_ns, tools.setpoint)
        if waiting is not None:
            return waiting
        if view.status.mode is not FlightMode.OFFBOARD:
            return GOING
        tools.link.refused_in_a_row = 0
        return DONE


class Stop:
    """Hand the vehicle over in hold, and wait until it hangs still; who can't hold goes on to what
    comes next.
    """

    planned_ns = 0

    def __init__(self, tools: Tools) -> None:
        self._asking = Asking(tools.link, Action.HOLD)
        self._begun_ns: int | None = None

    def tick(self, view: View, tools: Tools) -> Report:
        if self._begun_ns is None:
            self._begun_ns = view.now_ns
            waiting = _claimed(self._asking, (FlightMode.HOLD,), view, tools)
            return GOING if self._asking.granted else Report(done=waiting is not None)
        east_mps, north_mps, up_mps = view.state.velocity_enu_mps.tolist()
        is_slow = length((east_mps, north_mps, up_mps)) < _SLOW_MPS
        is_still = view.status.mode is FlightMode.HOLD and is_slow
        is_late = view.now_ns - self._begun_ns > tools.patience.stop_ns
        return Report(done=is_still or is_late or view.landed)


class GoHome:
    """Until it has landed there, or is above it when a step follows that lands."""

    planned_ns = 0

    def __init__(self, tools: Tools, *, land: bool) -> None:
        self._asking = Asking(tools.link, Action.RETURN)
        self._land = land

    def tick(self, view: View, tools: Tools) -> Report:
        if view.landed:
            return DONE
        waiting = _claimed(self._asking, (FlightMode.RETURN, FlightMode.LAND), view, tools)
        if waiting is not None:
            return waiting
        away_m = horizontal(minus(view.position_enu_m, view.home_enu_m))
        return Report(done=away_m < tools.defaults.acceptance_m and not self._land)


class TouchDown:
    """Until it stands and is disarmed; lets_go is content when the flight controller lands."""

    planned_ns = 0

    def __init__(self, tools: Tools, *, lets_go: bool = False) -> None:
        self._asking = Asking(tools.link, Action.LAND)
        self._disarming = Asking(tools.link, Action.DISARM)
        self._lets_go = lets_go
        self._grounded_ns: int | None = None

    def tick(self, view: View, tools: Tools) -> Report:
        if view.landed:
            return DONE
        waiting = _claimed(self._asking, (FlightMode.LAND,), view, tools)
        if self._asking.granted and self._lets_go:
            return DONE
        if waiting is not None:
            return waiting
        if not view.status.on_ground:
            self._grounded_ns = None
            return GOING
        if self._grounded_ns is None:
            self._grounded_ns = view.now_ns
        if view.now_ns - self._grounded_ns > tools.patience.disarm_ns:
            return _asked(self._disarming, view, tools) or GOING
        return GOING


def _claimed(
    asking: Asking, modes: tuple[FlightMode, ...], view: View, tools: Tools
) -> Report | None:
    """Ask for a mode, and claim what it leads to when it is granted or shows; None from then."""
    if asking.granted:
        return None
    asking.granted = tools.authority.expects(view.status)
    waiting = _asked(asking, view, tools)
    if waiting is None:
        tools.authority.claim(view.now_ns, modes, view.status)
    else:
        tools.authority.expect(modes, view.status)
    return waiting or GOING


def _asked(asking: Asking, view: View, tools: Tools) -> Report | None:
    """None when it is granted."""
    if asking.ask(view.now_ns, tools.patience.retry_ns):
        return None
    return _unless_late(asking, view, tools, f"refused: {asking.detail}")


def _unless_late(asking: Asking, view: View, tools: Tools, problem: str) -> Report:
    if asking.waited_ns(view.now_ns) <= tools.patience.request_ns:
        return GOING
    return Report(problem=f"{asking.action.name} {problem}")
