"""Flies a mission: a state machine that each vehicle state pushes on, fifty times a second.

All it knows comes as messages and answers, time included, so a log of them repeats the flight
(`ghost.mission.replay`). What it asks of the flight controller may be refused; what it had may be
taken away, and then it lets go for good.
"""

from ghost.core.errors import ConfigError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import (
    Action,
    ActuatorSink,
    BatterySample,
    EstimateHealth,
    FlightController,
    FlightMode,
    SafetyEnvelope,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import BATTERY, OBSTACLES, STATUS, VEHICLE
from ghost.mission.authority import Authority
from ghost.mission.fly import Fly
from ghost.mission.link import SOURCE, Asking, Link
from ghost.mission.mission import Mission
from ghost.mission.outcome import Outcome, Patience, Result
from ghost.mission.phases import (
    Arm,
    Climb,
    EnterOffboard,
    GoHome,
    Phase,
    Stop,
    Tools,
    TouchDown,
    View,
)
from ghost.mission.readiness import not_ready
from ghost.mission.route import at_rest, timeout_ns_of
from ghost.mission.steps import Land, OnTimeout, Return, Step, Takeoff, kind_of
from ghost.planning.vectors import ZERO, Vector

_LONGEST_ENDING_NS = 300_000_000_000
_ENDINGS = {
    Result.COMPLETED: (EventKind.MISSION_FINISHED, Severity.INFO),
    Result.ABORTED: (EventKind.MISSION_ABORTED, Severity.WARN),
    Result.INTERRUPTED: (EventKind.MISSION_INTERRUPTED, Severity.WARN),
    Result.FAILED: (EventKind.MISSION_FAILED, Severity.ERROR),
}


class MissionRunner:
    """Starts with the first message that it hears; `outcome` says how far it came.

    A step is a row of phases. Before a take-off comes the wait until the vehicle may be armed.
    An ending is a last phase that brings the vehicle down, whatever step it was in.
    """

    def __init__(
        self,
        mission: Mission,
        bus: Bus,
        *,
        actuators: ActuatorSink,
        flight_controller: FlightController,
        envelope: SafetyEnvelope,
        patience: Patience | None = None,
    ) -> None:
        self.mission = mission
        self.outcome = Outcome(Result.RUNNING)
        self.step_index = 0
        self._bus = bus
        self._envelope = envelope
        patience = patience or Patience()
        self._tools = Tools(
            Link(bus, actuators, flight_controller),
            Authority(patience),
            patience,
            mission.defaults,
            at_rest(ZERO, 0.0),
        )
        self._now_ns = 0
        self._tick = -1
        self._state: VehicleState | None = None
        self._status: VehicleStatus | None = None
        self._charge = 1.0
        self._heard = ""
        self._home: Vector | None = None
        self._phases: list[Phase] = []
        self._ending: Outcome | None = None
        self._leaving = Asking(self._tools.link, Action.HOLD)
        self._waiting_ns: int | None = None
        self._since_ns = 0
        self._unsure_ns: int | None = None
        self._subscriptions = (
            bus.subscribe(VEHICLE, self._on_state, name=SOURCE),
            bus.subscribe(STATUS, self._on_status, name=SOURCE),
            bus.subscribe(BATTERY, self._on_battery, name=SOURCE),
            bus.subscribe(EVENTS, self._on_event, name=SOURCE),
            bus.subscribe(OBSTACLES, self._tools.surroundings.hear, name=SOURCE),
        )

    @property
    def step(self) -> Step:
        return self.mission.steps[self.step_index]

    @property
    def waiting_for(self) -> str:
        """What keeps it on the ground; empty while it flies, and when it is over."""
        return "" if self.outcome.over or self._phases else self._missing()

    def abort(self, reason: str, then: OnTimeout = OnTimeout.ABORT) -> None:
        """Hold, and then land, or return. It goes over the bus as an event, so that a replay aborts
        as well.
        """
        kind = EventKind.MISSION_ABORT_REQUESTED
        correlation_id = self._tools.link.correlation_id
        event = Event(
            self._now_ns,
            Severity.WARN,
            kind,
            "operator",
            reason,
            {"then": then.value},
            correlation_id,
        )
        self._bus.publish(EVENTS, event)

    def close(self) -> None:
        """Stop listening. A vehicle in the air is left to its flight controller."""
        for subscription in self._subscriptions:
            subscription.cancel()

    def _on_state(self, state: VehicleState) -> None:
        self._now_ns = max(self._now_ns, state.stamp_ns)
        self._state = state
        tick = state.stamp_ns // self._tools.patience.period_ns
        if tick > self._tick:
            self._tick = tick
            self._advance()

    def _on_status(self, status: VehicleStatus) -> None:
        self._now_ns = max(self._now_ns, status.stamp_ns)
        self._status = status
        if self._state is None:  # nothing else would end the wait for a first state
            self._advance()

    def _on_battery(self, sample: BatterySample) -> None:
        self._charge = sample.remaining

    def _on_event(self, event: Event) -> None:
        if event.source == SOURCE or self.outcome.over:
            return
        if event.kind == EventKind.MISSION_ABORT_REQUESTED:
            self._stop(event)
        elif event.kind == EventKind.COLLISION and event.severity is Severity.CRITICAL:
            self._collide(event.text)
        elif self._phases and event.kind == self.step.terms.until.event:
            self._heard = event.kind

    def _stop(self, request: Event) -> None:
        """What lands already goes on landing."""
        reason = f"aborted: {request.text}"
        if self._phases and isinstance(self._phases[0], TouchDown):
            self._give_up(reason, OnTimeout.ABORT)
        else:
            self._give_up(reason, OnTimeout(request.payload.get("then", OnTimeout.ABORT)))
            if self._phases:
                self._phases.insert(0, Stop(self._tools))
        self._advance()

    def _collide(self, text: str) -> None:
        """Land; what lands already goes on, however often it touches."""
        if self._ending is None or not isinstance(self._phases[0], TouchDown):
            self._give_up(f"collision: {text}", OnTimeout.LAND)
            self._advance()

    def _advance(self) -> None:
        if self.outcome.over:
            return
        if self._waiting_ns is None and not self._phases:
            self._start()
        view = self._view()
        if view is None or not self._phases:
            self._wait_until_ready()
            return
        if not (view.landed and isinstance(self._phases[0], GoHome | TouchDown)):
            taken_by = self._tools.authority.lost_to(view.now_ns, view.status)
            if taken_by:
                self._finish(Outcome(Result.INTERRUPTED, taken_by))
                return
        self._doubt(view)
        self._judge_step(view)
        if self._phases and not self.outcome.over:
            self._work(view)

    def _work(self, view: View) -> None:
        report = self._phases[0].tick(view, self._tools)
        if report.taken_by:
            self._finish(Outcome(Result.INTERRUPTED, report.taken_by))
        elif report.problem:
            self._stuck(report.problem)
        elif report.failure:
            reason = f"step {self.step_index} ({kind_of(self.step)}): {report.failure}"
            self._fail_step(reason, f"ended, {report.failure}", view)
        elif report.done:
            self._phases.pop(0)
            if self._phases:
                return
            if self._ending is not None:
                self._finish(self._ending)
            else:
                self._finish_step(report.cause)

    def _start(self) -> None:
        mission, link = self.mission, self._tools.link
        self._waiting_ns = self._now_ns
        link.correlation_id = f"mission-{mission.name}-{self._now_ns}"
        link.tell(
            self._now_ns,
            EventKind.MISSION_STARTED,
            f"{mission.name}, {len(mission.steps)} steps",
            mission=mission.name,
            steps=len(mission.steps),
        )

    def _view(self) -> View | None:
        if self._state is None or self._status is None:
            return None
        return View(self._now_ns, self._state, self._status, self._home or ZERO)

    def _wait_until_ready(self) -> None:
        missing = self._missing()
        if not missing:
            self._take_bearings()
            return
        if self._status is not None and self._status.armed:
            self._finish(Outcome(Result.FAILED, missing))
            return
        if self._waiting_ns is None:
            self._waiting_ns = self._now_ns
        self._leave_offboard()
        waited_ns = self._now_ns - self._waiting_ns
        if waited_ns > self._tools.patience.ready_ns:
            reason = f"not ready after {waited_ns / 1e9:.0f} s: {missing}"
            self._finish(Outcome(Result.FAILED, reason))

    def _leave_offboard(self) -> None:
        """PX4 falls back to it after a landing, and can't be armed in it without set-points."""
        status = self._status
        if status is None or status.armed or not status.on_ground:
            return
        if status.mode is FlightMode.OFFBOARD:
            self._leaving.ask(self._now_ns, self._tools.patience.retry_ns)

    def _missing(self) -> str:
        """What keeps the vehicle from being armed; empty when nothing does."""
        unseen = self._tools.surroundings.silence(self._now_ns) if self.mission.looks_out else ""
        return not_ready(self._state, self._status) or unseen

    def _take_bearings(self) -> None:
        """Home is where the vehicle stands now; the mission is checked from there."""
        view = self._view()
        if view is None:
            return
        if self._home is None:
            self._home = view.position_enu_m
            try:
                self.mission.check(self._envelope, self._home)
            except ConfigError as error:
                self._finish(Outcome(Result.FAILED, str(error)))
                return
            self.mission = self.mission.at(self._home)
        self._waiting_ns = None
        self._begin_step()

    def _begin_step(self) -> None:
        """Line up the step's phases; a take-off waits on the ground until it may start."""
        tools, step = self._tools, self.step
        self._since_ns = self._now_ns
        self._heard = ""
        if isinstance(step, Takeoff):
            self._phases = [Arm(tools), Climb(tools, step.altitude_m)]
        elif isinstance(step, Return):
            follows = self.mission.steps[self.step_index + 1 : self.step_index + 2]
            self._phases = [GoHome(tools, land=not (follows and isinstance(follows[0], Land)))]
        elif isinstance(step, Land):
            self._phases = [TouchDown(tools)]
        elif isinstance(self.mission.steps[self.step_index - 1], Takeoff):
            self._phases = [EnterOffboard(tools), Fly(step)]
        else:
            self._phases = [Fly(step)]
        self._tell_step(EventKind.STEP_STARTED, "started")

    def _finish_step(self, cause: str) -> None:
        self._tell_step(EventKind.STEP_FINISHED, f"finished{cause and ': '}{cause}", cause=cause)
        self._next_step()

    def _next_step(self) -> None:
        self._phases = []
        if self.step_index + 1 == len(self.mission.steps):
            self._finish(Outcome(Result.COMPLETED))
            return
        self.step_index += 1
        if isinstance(self.step, Takeoff):
            self._tools.authority.release()
            self._leaving = Asking(self._tools.link, Action.HOLD)
            self._waiting_ns = self._now_ns
        else:
            self._begin_step()

    def _doubt(self, view: View) -> None:
        """An estimate that is not GOOD for a while ends the mission, while landing is possible."""
        good = view.state.verdict is EstimateHealth.GOOD
        if good or self._ending is not None or isinstance(self._phases[0], TouchDown):
            self._unsure_ns = None
            return
        if self._unsure_ns is None:
            self._unsure_ns = view.now_ns
        if view.now_ns - self._unsure_ns > self._tools.patience.estimate_ns:
            self._give_up(f"the estimate is {view.state.verdict.name}", OnTimeout.LAND)

    def _judge_step(self, view: View) -> None:
        passed_ns = view.now_ns - self._since_ns
        if self._ending is not None:
            if passed_ns > _LONGEST_ENDING_NS:
                reason = f"{self._ending.reason}; not down after {passed_ns / 1e9:.0f} s"
                self._finish(Outcome(Result.FAILED, reason))
            return
        if not self._phases or isinstance(self._phases[0], Arm):
            return
        cause = self._until(view)
        timeout_ns = timeout_ns_of(self.step, self._phases[0].planned_ns)
        if cause and not view.status.on_ground:
            self._finish_step(cause)
        elif passed_ns > timeout_ns:
            self._time_out(timeout_ns, view)

    def _until(self, view: View) -> str:
        until = self.step.terms.until
        if until.battery_below is not None and self._charge < until.battery_below:
            return f"the battery is below {until.battery_below:g}"
        altitude_m = view.position_enu_m[2] - view.home_enu_m[2]
        if until.altitude_above_m is not None and altitude_m > until.altitude_above_m:
            return f"the altitude is above {until.altitude_above_m:g} m"
        if until.elapsed_ns is not None and view.now_ns - self._since_ns >= until.elapsed_ns:
            return f"{until.elapsed_ns / 1e9:g} s are over"
        return f"{self._heard} was heard" if self._heard else ""

    def _time_out(self, timeout_ns: int, view: View) -> None:
        reason = f"step {self.step_index} ({kind_of(self.step)}) took over {timeout_ns / 1e9:g} s"
        self._fail_step(reason, "timed out", view)

    def _fail_step(self, reason: str, text: str, view: View) -> None:
        """As its on_timeout says."""
        then = self.step.terms.on_timeout
        self._tell_step(EventKind.STEP_TIMED_OUT, f"{text}, so {then}", Severity.WARN)
        if isinstance(self.step, Land):
            self._finish(Outcome(Result.FAILED, reason))
        elif then is OnTimeout.CONTINUE and not view.status.on_ground:
            self._next_step()
        else:
            self._give_up(reason, then)

    def _stuck(self, problem: str) -> None:
        if self._phases and isinstance(self._phases[0], TouchDown):
            reason = f"{self._ending.reason}; {problem}" if self._ending else problem
            self._finish(Outcome(Result.FAILED, reason))
        else:
            self._give_up(problem, OnTimeout.LAND)

    def _give_up(self, reason: str, how: OnTimeout) -> None:
        """Bring the vehicle down; on the ground, disarm it."""
        status, tools = self._status, self._tools
        if status is None or not self._phases or status.on_ground:
            if status is not None and status.armed and self._phases:
                tools.link.request(self._now_ns, Action.DISARM)
            result = Result.ABORTED if how is OnTimeout.ABORT else Result.FAILED
            self._finish(Outcome(result, reason))
            return
        self._ending = Outcome(Result.ABORTED, self._ending.reason if self._ending else reason)
        self._since_ns = self._now_ns
        if how is OnTimeout.RETURN:
            self._phases = [GoHome(tools, land=True)]
        else:
            self._phases = [TouchDown(tools, lets_go=how is OnTimeout.ABORT)]

    def _finish(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._phases = []
        kind, severity = _ENDINGS[outcome.result]
        text = f"{self.mission.name}: {outcome.reason}" if outcome.reason else self.mission.name
        self._tools.link.tell(
            self._now_ns, kind, text, severity, step=self.step_index, reason=outcome.reason
        )
        self.close()

    def _tell_step(
        self, kind: EventKind, text: str, severity: Severity = Severity.INFO, **payload: object
    ) -> None:
        name = kind_of(self.step)
        text = f"step {self.step_index} ({name}) {text}"
        self._tools.link.tell(
            self._now_ns, kind, text, severity, step=self.step_index, name=name, **payload
        )
