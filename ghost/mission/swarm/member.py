"""One vehicle of a swarm: what is known of it, and the phases that it is in by itself."""

from dataclasses import dataclass

from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import (
    Action,
    ActuatorSink,
    EstimateHealth,
    FlightController,
    SafetyEnvelope,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import STATUS, VEHICLE
from ghost.mission import steps as alone
from ghost.mission.authority import Authority
from ghost.mission.link import Link
from ghost.mission.outcome import Patience
from ghost.mission.phases import Phase, Tools, TouchDown, View
from ghost.mission.readiness import not_ready
from ghost.mission.route import at_rest
from ghost.planning import Vector
from ghost.planning.vectors import ZERO, distance

SOURCE = "swarm-mission"
_SILENT_NS = 1_000_000_000
"""Without a state, until it is lost: what it does meanwhile nobody knows."""


@dataclass(frozen=True, slots=True)
class Member:
    """What a runner needs of a vehicle; it is heard on its own bus."""

    vehicle_id: int
    bus: Bus
    actuators: ActuatorSink
    flight_controller: FlightController
    envelope: SafetyEnvelope


class Pilot:
    """Flies one member: through its phases, and when it has none, where its set-point is.

    lost says why it is no longer of the swarm. What somebody else has is theirs; what is in
    trouble is landed where it is.
    """

    def __init__(self, member: Member, patience: Patience, acceptance_m: float) -> None:
        self.number = member.vehicle_id
        self.envelope = member.envelope
        self.home_enu_m = ZERO
        self.lost = ""
        self.phases: list[Phase] = []
        self.state: VehicleState | None = None
        self.status: VehicleStatus | None = None
        self.is_let_go = False
        self.is_silent = False
        self._unsure_ns: int | None = None
        self._collision = ""
        self.tools = Tools(
            Link(member.bus, member.actuators, member.flight_controller),
            Authority(patience),
            patience,
            alone.Defaults(acceptance_m=acceptance_m),
            at_rest(ZERO, 0.0),
        )
        name = f"{SOURCE}-{self.number}"
        self._subscriptions = (
            member.bus.subscribe(VEHICLE, self._on_state, name=name),
            member.bus.subscribe(STATUS, self._on_status, name=name),
            member.bus.subscribe(EVENTS, self._on_event, name=name),
        )

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.cancel()

    @property
    def unready(self) -> str:
        return not_ready(self.state, self.status)

    @property
    def position_enu_m(self) -> Vector:
        if self.state is None:
            return self.home_enu_m
        east_m, north_m, up_m = self.state.position_enu_m.tolist()
        return (east_m, north_m, up_m)

    @property
    def velocity_enu_mps(self) -> Vector:
        if self.state is None:
            return ZERO
        east_mps, north_mps, up_mps = self.state.velocity_enu_mps.tolist()
        return (east_mps, north_mps, up_mps)

    @property
    def deviation_m(self) -> float:
        """How far it believes to be from where it was told to be."""
        return distance(self.position_enu_m, self.tools.setpoint.position_enu_m)

    @property
    def is_down(self) -> bool:
        status = self.status
        return status is not None and status.on_ground and not status.armed

    @property
    def is_landing(self) -> bool:
        return bool(self.phases) and isinstance(self.phases[0], TouchDown)

    @property
    def is_flown(self) -> bool:
        """Whether it goes where its set-point goes."""
        if self.lost or self.phases or self.is_down:
            return False
        return self.tools.authority.claimed

    def start(self, phases: list[Phase]) -> None:
        self.phases = phases

    def land(self, now_ns: int) -> None:
        """Where it is; on the ground, disarm it."""
        if self.is_let_go or self.is_landing:
            return
        self.phases = []
        if self.status is None or self.status.on_ground:
            if self.status is not None and self.status.armed:
                self.tools.link.request(now_ns, Action.DISARM)
            return
        self.phases = [TouchDown(self.tools)]

    def tick(self, now_ns: int) -> str:
        """Go on for one period; why it was lost in it, or nothing."""
        if self.state is None or self.status is None:
            return ""
        self.is_silent = now_ns - self.state.stamp_ns > _SILENT_NS
        if self.is_let_go:
            return ""
        view = View(now_ns, self.state, self.status, self.home_enu_m)
        if not (view.landed and (self.is_landing or not self.phases)):
            trouble = self._taken(view)
            if trouble:
                return self._let_go(trouble)
        was_lost = self.lost
        if not self.is_landing:
            self.lost = self.lost or self._trouble(view)
            if self.lost and not was_lost:
                self.land(now_ns)
        self._work(view)
        return self.lost if not was_lost else ""

    def _taken(self, view: View) -> str:
        if self.is_silent:
            return f"no state for {(view.now_ns - view.state.stamp_ns) / 1e9:.1f} s"
        return self.tools.authority.lost_to(view.now_ns, view.status)

    def _trouble(self, view: View) -> str:
        if self._collision:
            return self._collision
        if view.state.verdict is EstimateHealth.GOOD:
            self._unsure_ns = None
            return ""
        if self._unsure_ns is None:
            self._unsure_ns = view.now_ns
        if view.now_ns - self._unsure_ns > self.tools.patience.estimate_ns:
            return f"the estimate is {view.state.verdict.name}"
        return ""

    def _work(self, view: View) -> None:
        if not self.phases:
            self._follow(view)
            return
        report = self.phases[0].tick(view, self.tools)
        if report.done:
            self.phases = self.phases[1:]
        elif report.taken_by:
            self._let_go(report.taken_by)
        elif report.problem and self.is_landing:
            self._let_go(report.problem)
        elif report.problem:
            self.lost = self.lost or report.problem
            self.land(view.now_ns)

    def _follow(self, view: View) -> None:
        """Where the set-point is; that of who isn't flown by set-points is nowhere."""
        if not self.tools.authority.claimed or self.lost or view.landed:
            return
        ack = self.tools.link.stream(view.now_ns, self.tools.setpoint)
        count = self.tools.link.refused_in_a_row
        if count >= self.tools.patience.refusals:
            self.lost = f"{count} commands refused: {ack.reason.name}: {ack.detail}"
            self.land(view.now_ns)

    def _let_go(self, why: str) -> str:
        was_lost = self.lost
        self.lost = self.lost or why
        self.is_let_go = True
        self.phases = []
        return "" if was_lost else self.lost

    def _on_state(self, state: VehicleState) -> None:
        self.state = state

    def _on_status(self, status: VehicleStatus) -> None:
        self.status = status

    def _on_event(self, event: Event) -> None:
        if event.kind == EventKind.COLLISION and event.severity is Severity.CRITICAL:
            self._collision = f"collision: {event.text}"
