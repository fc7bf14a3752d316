"""Flies a swarm's mission: every member by its own flight controller, all of them from one plan.

What it knows of a member is what that member believes. cycle() is called when all have moved, and
visits them in order of their ids.
"""

from collections.abc import Iterable

from ghost.core.errors import ConfigError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import Action
from ghost.mission.outcome import Outcome, Patience, Result
from ghost.mission.phases import Arm, Climb, EnterOffboard, TouchDown
from ghost.mission.steps import OnTimeout
from ghost.mission.swarm.flock import Flock
from ghost.mission.swarm.member import SOURCE, Member, Pilot
from ghost.mission.swarm.mission import SwarmMission
from ghost.mission.swarm.parts import Part, plan_part
from ghost.mission.swarm.steps import (
    Form,
    GoTo,
    Hold,
    Land,
    Move,
    OnLoss,
    Return,
    Step,
    Takeoff,
    kind_of,
)
from ghost.planning import Vector
from ghost.planning.vectors import distance

_MARGIN_NS = 30_000_000_000
_LONGEST_LANDING_NS = 300_000_000_000
_SLOWEST_CLIMB_MPS = 0.5
_THERE_M = 0.1
_ENDINGS = {
    Result.COMPLETED: (EventKind.MISSION_FINISHED, Severity.INFO),
    Result.ABORTED: (EventKind.MISSION_ABORTED, Severity.WARN),
    Result.INTERRUPTED: (EventKind.MISSION_INTERRUPTED, Severity.WARN),
    Result.FAILED: (EventKind.MISSION_FAILED, Severity.ERROR),
}


class SwarmRunner:
    """Starts with the first cycle; `outcome` says how far it came. COMPLETED is with everybody;
    one that was lost on the way makes it INTERRUPTED.
    """

    def __init__(
        self,
        mission: SwarmMission,
        members: Iterable[Member],
        bus: Bus,
        *,
        patience: Patience | None = None,
    ) -> None:
        self.mission = mission
        self.outcome = Outcome(Result.RUNNING)
        self.step_index = 0
        self._bus = bus
        self._patience = patience or Patience()
        acceptance_m = mission.defaults.acceptance_m
        known = sorted(members, key=lambda member: member.vehicle_id)
        self._pilots = {
            member.vehicle_id: Pilot(member, self._patience, acceptance_m) for member in known
        }
        if len(self._pilots) != len(known):
            numbers = [member.vehicle_id for member in known]
            raise ConfigError(f"the members' ids are {numbers}; expected each once")
        self._flock = Flock(self._pilots, mission.defaults, keeps_apart=mission.keeps_apart)
        self._correlation_id = ""
        self._now_ns = 0
        self._began_ns: int | None = None
        self._since_ns = 0
        self._planned_ns = 0
        self._heading_rad = 0.0
        self._part: Part | None = None
        self._is_up = False
        self._is_landing = False
        self._stage = self._wait
        self._ending: Outcome | None = None
        self._subscription = bus.subscribe(EVENTS, self._on_event, name=SOURCE)

    @property
    def step(self) -> Step:
        return self.mission.steps[self.step_index]

    @property
    def lost(self) -> dict[int, str]:
        """Who is not of the swarm any more, and why."""
        return {number: pilot.lost for number, pilot in self._pilots.items() if pilot.lost}

    @property
    def deviation_m(self) -> dict[int, float]:
        """How far each that is flown believes to be from where it is told to be."""
        return {number: self._pilots[number].deviation_m for number in self._flock.flown()}

    def setpoint_enu_m(self, number: int) -> Vector:
        """Where one is told to be."""
        return self._pilots[number].tools.setpoint.position_enu_m

    @property
    def late_m(self) -> float:
        """How far the last of all is told to be from its slot, for others or to catch up."""
        return self._flock.late_m

    @property
    def waiting_for(self) -> str:
        """What keeps the swarm on the ground; empty while it flies, and when it is over."""
        if self.outcome.over or self._is_up:
            return ""
        unready = ((number, pilot.unready) for number, pilot in self._pilots.items())
        return next((f"vehicle {number}: {why}" for number, why in unready if why), "")

    def cycle(self, now_ns: int) -> None:
        if self.outcome.over or now_ns <= self._now_ns:
            return
        passed_ns = now_ns - self._now_ns
        self._now_ns = now_ns
        if self._began_ns is None:
            self._start()
        self._stage(passed_ns)
        for number, pilot in self._pilots.items():
            why = "" if self.outcome.over else pilot.tick(now_ns)
            if why:
                self._lose(number, why)

    def abort(self, reason: str, then: OnTimeout = OnTimeout.LAND) -> None:
        """Stop, and then land, or return. It goes over the bus as an event."""
        self._publish(
            EventKind.MISSION_ABORT_REQUESTED,
            reason,
            Severity.WARN,
            source="operator",
            then=then.value,
        )

    def close(self) -> None:
        """Stop listening. Who is in the air is left to its flight controller."""
        self._subscription.cancel()
        for pilot in self._pilots.values():
            pilot.close()

    def _start(self) -> None:
        mission = self.mission
        self._began_ns = self._since_ns = self._now_ns
        self._correlation_id = f"swarm-{mission.name}-{self._now_ns}"
        count = len(self._pilots)
        self._publish(
            EventKind.MISSION_STARTED,
            f"{mission.name}, {len(mission.steps)} steps, {count} vehicles",
            mission=mission.name,
            steps=len(mission.steps),
            vehicles=list(self._pilots),
        )

    def _wait(self, passed_ns: int) -> None:
        """Until all may be armed."""
        del passed_ns
        missing = self.waiting_for
        if missing:
            waited_ns = self._now_ns - self._since_ns
            if waited_ns > self._patience.ready_ns:
                reason = f"not ready after {waited_ns / 1e9:.0f} s: {missing}"
                self._finish(Outcome(Result.FAILED, reason))
            return
        for pilot in self._pilots.values():
            pilot.home_enu_m = pilot.position_enu_m
        homes = {number: pilot.home_enu_m for number, pilot in self._pilots.items()}
        envelopes = {number: pilot.envelope for number, pilot in self._pilots.items()}
        try:
            self.mission.check(homes, envelopes)
        except ConfigError as error:
            self._finish(Outcome(Result.FAILED, str(error)))
            return
        self.mission = self.mission.at(homes)
        self._begin_step()

    def _begin_step(self) -> None:
        step = self.step
        self._since_ns = self._now_ns
        self._tell_step(EventKind.STEP_STARTED, "started")
        if isinstance(step, Takeoff):
            for pilot in self._pilots.values():
                pilot.start([Arm(pilot.tools)])
            self._planned_ns = round(step.altitude_m / _SLOWEST_CLIMB_MPS * 1e9)
            self._stage = self._arm
        elif isinstance(step, Land):
            self._land_all()
        else:
            self._plan(step)

    def _arm(self, passed_ns: int) -> None:
        """All of them, or none takes off."""
        del passed_ns
        if any(pilot.phases for pilot in self._pilots.values()) or not isinstance(
            self.step, Takeoff
        ):
            return
        for pilot in self._pilots.values():
            tools = pilot.tools
            pilot.start([Climb(tools, self.step.altitude_m), EnterOffboard(tools)])
        self._is_up = True
        self._stage = self._climb

    def _climb(self, passed_ns: int) -> None:
        del passed_ns
        if not any(pilot.phases for pilot in self._pilots.values() if not pilot.lost):
            self._finish_step()
        else:
            self._judge_time()

    def _plan(self, step: Form | Move | GoTo | Hold | Return) -> None:
        """From where all are told to be, so that set-points never jump."""
        scene = self._flock.scene(self._heading_rad)
        homes = {number: pilot.home_enu_m for number, pilot in self._pilots.items()}
        self._flock.begin()
        if scene.places_enu_m:
            self._part = plan_part(step, scene, self.mission.defaults, homes)
            self._planned_ns = self._part.duration_ns
        self._stage = self._fly

    def _fly(self, passed_ns: int) -> None:
        self._flock.advance(self._part, self._speed_mps(), passed_ns)
        part = self._part
        if part is None or self._is_there(part):
            if part is not None:
                self._heading_rad = part.ending.heading_rad
            self._finish_step()
        else:
            self._judge_time()

    def _is_there(self, part: Part) -> bool:
        if self._flock.at_ns < part.duration_ns and not isinstance(self.step, GoTo | Return):
            return False
        if isinstance(self.step, Hold):
            return True
        places = part.ending.places_enu_m
        for number in self._flock.flown():
            pilot = self._pilots[number]
            told = pilot.tools.setpoint
            if distance(told.position_enu_m, places[number]) > _THERE_M:
                return False
            if distance(pilot.position_enu_m, places[number]) > self.mission.defaults.acceptance_m:
                return False
        return self._flock.is_still()

    def _finish_step(self) -> None:
        self._tell_step(EventKind.STEP_FINISHED, "finished")
        self._part = None
        is_last = self.step_index + 1 == len(self.mission.steps)
        if is_last and isinstance(self.step, Return):
            self._land_all()
        elif is_last:
            self._finish(self._verdict())
        else:
            self.step_index += 1
            self._begin_step()

    def _halt(self, passed_ns: int) -> None:
        """Until all stand still; then down, straight, where nobody is below."""
        self._flock.advance(None, self._speed_mps(), passed_ns)
        if self._flock.is_still():
            self._land_all()

    def _land_all(self) -> None:
        self._since_ns = self._now_ns
        for pilot in self._pilots.values():
            if not pilot.lost:
                pilot.land(self._now_ns)
        self._stage = self._touch_down

    def _touch_down(self, passed_ns: int) -> None:
        """Those lost on the way are landed, too, unless somebody else has them."""
        del passed_ns
        waiting = [
            number
            for number, pilot in self._pilots.items()
            if not pilot.is_let_go and not pilot.is_down
        ]
        terms = self.step.terms
        passed_ns = self._now_ns - self._since_ns
        own_ns = terms.timeout_ns if isinstance(self.step, Land) else None
        if not waiting:
            if self._ending is None and isinstance(self.step, Land):
                self._tell_step(EventKind.STEP_FINISHED, "finished")
            self._finish(self._ending or self._verdict())
        elif passed_ns > (own_ns or _LONGEST_LANDING_NS):
            reason = f"vehicles {waiting} not down after {passed_ns / 1e9:.0f} s"
            self._finish(Outcome(Result.FAILED, reason))

    def _judge_time(self) -> None:
        terms = self.step.terms
        limit_ns = terms.timeout_ns or 3 * self._planned_ns // 2 + _MARGIN_NS
        if self._now_ns - self._since_ns <= limit_ns:
            return
        then = terms.on_timeout
        self._tell_step(EventKind.STEP_TIMED_OUT, f"timed out, so {then}", Severity.WARN)
        if then is OnTimeout.CONTINUE and not isinstance(self.step, Takeoff):
            self._finish_step()
        else:
            name = kind_of(self.step)
            reason = f"step {self.step_index} ({name}) took over {limit_ns / 1e9:g} s"
            self._give_up(reason, then)

    def _give_up(self, reason: str, how: OnTimeout) -> None:
        """Those who are up come down, here or where they took off."""
        if not self._is_up:
            for pilot in self._pilots.values():
                if pilot.status is not None and pilot.status.armed and not pilot.is_let_go:
                    pilot.tools.link.request(self._now_ns, Action.DISARM)
            self._finish(Outcome(Result.FAILED, reason))
            return
        self._ending = self._ending or Outcome(Result.ABORTED, reason)
        self._part = None
        if how is OnTimeout.RETURN and self._stage == self._fly:
            homeward = Return(speed_mps=self.mission.defaults.speed_mps)
            self._plan(homeward)
            self._since_ns = self._now_ns
            self._stage = self._go_home
        elif self._stage != self._touch_down:
            for pilot in self._pilots.values():
                if pilot.phases and not isinstance(pilot.phases[0], TouchDown):
                    pilot.land(self._now_ns)
            self._stage = self._halt

    def _go_home(self, passed_ns: int) -> None:
        part = self._part
        if part is None:
            self._stage = self._halt
            return
        self._flock.advance(part, self.mission.defaults.speed_mps, passed_ns)
        places = part.ending.places_enu_m
        late = self._now_ns - self._since_ns > 3 * self._planned_ns // 2 + _MARGIN_NS
        there = all(
            distance(self._pilots[number].tools.setpoint.position_enu_m, places[number]) < _THERE_M
            for number in self._flock.flown()
        )
        if there or late:
            self._stage = self._halt

    def _lose(self, number: int, why: str) -> None:
        pilot = self._pilots[number]
        self._publish(
            EventKind.MEMBER_LOST,
            f"vehicle {number} is lost: {why}",
            Severity.ERROR,
            vehicle=number,
            reason=why,
            position_enu_m=list(pilot.position_enu_m),
        )
        if not self._is_up:
            self._give_up(f"vehicle {number}: {why}", OnTimeout.LAND)
        elif all(other.is_let_go for other in self._pilots.values()):
            self._finish(self._verdict())
        elif self._ending is None and self._stage != self._touch_down:
            then = self.mission.on_loss
            if then is not OnLoss.CONTINUE:
                self._give_up(f"vehicle {number}: {why}", OnTimeout(then.value))

    def _verdict(self) -> Outcome:
        lost = self.lost
        if not lost:
            return Outcome(Result.COMPLETED)
        told = "; ".join(f"vehicle {number}: {why}" for number, why in lost.items())
        left = len(self._pilots) - len(lost)
        return Outcome(Result.INTERRUPTED, f"{left} of {len(self._pilots)} finished; {told}")

    def _speed_mps(self) -> float:
        step = self.step
        if isinstance(step, Form | Move | GoTo | Return):
            return step.speed_mps
        return self.mission.defaults.speed_mps

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        kind, severity = _ENDINGS[outcome.result]
        name = self.mission.name
        text = f"{name}: {outcome.reason}" if outcome.reason else name
        self._publish(kind, text, severity, step=self.step_index, reason=outcome.reason)
        self.close()

    def _on_event(self, event: Event) -> None:
        if self.outcome.over or event.kind != EventKind.MISSION_ABORT_REQUESTED:
            return
        then = OnTimeout(event.payload.get("then", OnTimeout.LAND))
        self._give_up(f"aborted: {event.text}", then)

    def _tell_step(self, kind: EventKind, text: str, severity: Severity = Severity.INFO) -> None:
        name = kind_of(self.step)
        text = f"step {self.step_index} ({name}) {text}"
        self._publish(kind, text, severity, step=self.step_index, name=name)

    def _publish(
        self,
        kind: EventKind,
        text: str,
        severity: Severity = Severity.INFO,
        source: str = SOURCE,
        **payload: object,
    ) -> None:
        self._bus.publish(
            EVENTS,
            Event(self._now_ns, severity, kind, source, text, payload, self._correlation_id),
        )
