"""A flight on hardware, from the first heartbeat to the closed log."""

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ghost.core.channels import Channel
from ghost.core.errors import ConfigError, GhostError, LogError, RefusedError
from ghost.deploy.changes import Change, told
from ghost.deploy.deadlines import Deadlines
from ghost.deploy.demands import Demand, examine_demands
from ghost.deploy.hal import build_hal
from ghost.deploy.preflight import Check, examine
from ghost.deploy.robot import RobotDescription
from ghost.deploy.session import Flight
from ghost.deploy.statistics import FlightStatistics
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import Action, ActionAck, FlightMode, Health, Sample
from ghost.hal.channels import CMD_ACTION_ACK
from ghost.mission import Mission, MissionRunner, OnTimeout, Outcome, Result
from ghost.perception import ObstacleFinder, obstacle_sensors
from ghost.telemetry import Manifest, RunRecorder, describe_run, read_manifest, recover

CYCLE_NS = 20_000_000
TELL_WAITING_NS = 5_000_000_000
AFTER_LANDING_NS = 2_000_000_000
LONGEST_ABORT_NS = 300_000_000_000
LONGEST_SILENCE_NS = 10_000_000_000
"""Once the mission is over; a vehicle that isn't heard is left to its flight controller."""
PARTING_ATTEMPTS = 5
"""Nobody asks again later, and an answer may be lost."""
SIMULATED_MARKS = (b"ghostsim", b"ITALDINO")
"""What simulated flight controllers have for a uid: our own, and PX4's."""

_SEVERITIES = (Severity.CRITICAL,) * 3 + (Severity.ERROR, Severity.WARN, Severity.WARN)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What to fly for real. hil says that the flight controller may be a simulated one."""

    robot: RobotDescription
    mission: Mission
    links: tuple[str, ...]
    out: Path
    allow_arming: bool = False
    hil: bool = False
    signing_key: Path | None = None
    system: int | None = None
    """The MAVLink system to fly, where several are heard."""
    apply_params: bool = False
    on_stop: Literal["land", "return"] | None = None
    """What follows the hold when the operator stops it; None is what the robot says."""
    reproduce: str = ""


class RealFlight:
    """Connects when it is made; run() flies. request_landing() may be called from a signal
    handler.
    """

    def __init__(self, order: RunOrder) -> None:
        self._order = order
        self._landing_requested = False
        self._stop_requested = False
        self._log_failed = False
        self._aborted_ns: int | None = None
        self._down_ns: int | None = None
        self._news: list[tuple[Severity, str, str]] = []
        self._has_armed = False
        self._waited_ns = 0
        self._deadlines = Deadlines(CYCLE_NS)
        self.backend: Any = build_hal(
            order.robot,
            mode="real",
            links=order.links,
            allow_arming=order.allow_arming,
            on_news=self._on_link,
            on_text=self._on_text,
            on_change=self._on_change,
            **_given(signing_key=order.signing_key, system=order.system),
        )
        self.backend.start()
        try:
            _refuse_simulated(self.backend.identity, hil=order.hil)
            self.demands = self._examine_demands()
            self._compose()
        except BaseException:
            self.backend.stop()
            raise

    def _compose(self) -> None:
        order = self._order
        self.clock = self.backend.clock
        capabilities = self.backend.capabilities
        sees = bool(obstacle_sensors(capabilities.sensors))
        order.mission.check(order.robot.envelope, sees=sees)
        self.bus = Bus(self.clock)
        self.statistics = FlightStatistics(self.bus)
        self.bus.subscribe(EVENTS, self._on_event, name="session")
        self.bus.subscribe(CMD_ACTION_ACK, self._on_ack, name="session")
        for spec in capabilities.sensors:
            self.backend.sensors[spec.name].subscribe(self._publisher(spec.channel))
        self._finder = ObstacleFinder(self.bus, capabilities.sensors)
        self.runner = MissionRunner(
            order.mission,
            self.bus,
            actuators=self.backend.actuators,
            flight_controller=self.backend.flight_controller,
            envelope=order.robot.envelope,
        )
        manifest = _manifest(order, self.backend.identity, self.demands)
        self._recorder = RunRecorder(order.out, self.bus, manifest, background=True)

    def preflight(self) -> list[Check]:
        demanded = [Check(one.name, one.is_met, str(one)) for one in self.demands]
        strangers = [
            Check(str(link.endpoint), False, "others speak here, and aren't heard", is_needed=False)
            for link in getattr(self.backend, "links", ())
            if link.counts.strangers
        ]
        return [
            *examine(self.backend, allow_arming=self._order.allow_arming),
            *strangers,
            *demanded,
        ]

    def refuse_unfit(self) -> None:
        """Close and raise RefusedError if somebody flies it, or it isn't set up as it must be."""
        status = self.backend.sensors["status"].poll()
        unmet = ", ".join(one.name for one in self.demands if not one.is_met)
        if status.armed:
            where = "on the ground" if status.on_ground else "in the air"
            problem = f"the vehicle is armed, {where}, by somebody else; it is left to them"
        elif unmet:
            problem = f"the flight controller is not as {self._order.robot.name} demands: {unmet}"
        else:
            return
        self._close()
        raise RefusedError(f"{problem}; nothing was flown, and the log is in {self._order.out}")

    def run(self, on_cycle: Callable[["RealFlight"], None] = lambda _: None) -> Flight:
        started_ns = self.clock.now_ns()
        problem = ""
        with _undisturbed():
            try:
                self._fly(on_cycle)
            finally:
                problem = self._close()
        flown_ns = self.clock_end_ns - started_ns
        outcome = Outcome(Result.FAILED, problem) if problem else self.runner.outcome
        return Flight(outcome, self.statistics.summary(), self._order.out, flown_ns, flown_ns)

    def request_landing(self) -> None:
        """Land and close the log; asked again, close it at once."""
        self._stop_requested = self._landing_requested
        self._landing_requested = True

    @property
    def was_asked_to_land(self) -> bool:
        return self._landing_requested

    def take_news(self) -> list[str]:
        news, self.statistics.news = self.statistics.news, []
        return [
            f"{event.stamp_ns / 1e9:8.2f} s  "
            f"{event.severity.name + ' ' if event.severity >= Severity.WARN else ''}{event.text}"
            for event in news
        ]

    def _fly(self, on_cycle: Callable[["RealFlight"], None]) -> None:
        """Absolute deadlines: a late cycle doesn't make the next ones late."""
        due_ns = self.clock.now_ns()
        while not self._stop_requested:
            due_ns += CYCLE_NS
            self.backend.spin(due_ns)
            now_ns = self.clock.now_ns()
            due_ns += self._deadlines.judge(due_ns, now_ns)
            if lateness := self._deadlines.take_news(now_ns):
                self._publish(Severity.WARN, EventKind.DEADLINE_MISSED, "session", lateness)
            self._tell_news()
            self._tell_waiting(now_ns)
            if self._ends(now_ns):
                break
            on_cycle(self)
        self._let_go()

    def _ends(self, now_ns: int) -> bool:
        """Whether there is nothing left to fly or to record."""
        if self._aborted_ns is None and (self._landing_requested or self._log_failed):
            if self.runner.outcome.over and self._landing_requested:
                return True  # there is nothing of ours to land
            self._abort(now_ns)
        if self.runner.outcome.over and self._is_recorded(now_ns):
            return True
        return self._aborted_ns is not None and now_ns - self._aborted_ns >= LONGEST_ABORT_NS

    def _abort(self, now_ns: int) -> None:
        self._aborted_ns = now_ns
        if self._log_failed:
            self.runner.abort("the flight log failed")
        else:
            then = OnTimeout.RETURN if self._on_stop == "return" else OnTimeout.ABORT
            self.runner.abort(f"the operator asked to {self._on_stop}", then)

    def _is_recorded(self, now_ns: int) -> bool:
        """Two seconds after it is down, or let go of where it never was ours."""
        if self._down_ns is None and not (self._has_armed and self._is_armed()):
            self._down_ns = now_ns
        if self._down_ns is not None:
            return now_ns - self._down_ns >= AFTER_LANDING_NS
        return self._silent_ns(now_ns) >= LONGEST_SILENCE_NS

    def _let_go(self) -> None:
        """Nobody waits for it any longer, and yet it isn't left to hang in the air; and PX4, which
        falls back to OFFBOARD once it is down, could not be armed in it.
        """
        status = self.statistics.status
        is_ours = self._has_armed and self.runner.outcome.result is not Result.INTERRUPTED
        if status is None or status.health is Health.OFFLINE or not is_ours:
            return
        if status.armed and status.mode not in (FlightMode.LAND, FlightMode.RETURN):
            action = Action.RETURN if self._on_stop == "return" else Action.LAND
        elif not status.armed and status.mode is FlightMode.OFFBOARD:
            action = Action.HOLD
        else:
            return
        for _ in range(PARTING_ATTEMPTS):
            ack = self.backend.flight_controller.request(action)
            if ack.accepted or self.statistics.status is None:
                break
            if self.statistics.status.mode is not status.mode:  # it lands, or a pilot took over
                break
        said = "granted" if ack.accepted else f"refused: {ack.detail}"
        text = f"{action.name} asked for at the end, {said}"
        self._publish(Severity.INFO, EventKind.LET_GO, "session", text)

    @property
    def _on_stop(self) -> str:
        return self._order.on_stop or self._order.robot.flight_controller.on_stop

    def _tell_waiting(self, now_ns: int) -> None:
        waiting_for = self.runner.waiting_for
        if waiting_for and now_ns - self._waited_ns >= TELL_WAITING_NS:
            self._waited_ns = now_ns
            text = f"waiting: {waiting_for}"
            self._publish(Severity.INFO, EventKind.MISSION_WAITING, "session", text)

    def _close(self) -> str:
        if self._deadlines.missed:
            text = f"{self._deadlines} in all"
            self._publish(Severity.WARN, EventKind.DEADLINE_MISSED, "session", text)
        for link in getattr(self.backend, "links", ()):
            severity = Severity.WARN if link.counts.refused else Severity.INFO
            text = f"{link.endpoint}: {link.counts}; {link.counts.rates(self.clock.now_ns())}"
            self._publish(severity, EventKind.LINK_STATISTICS, "link", text)
        self.clock_end_ns = self.clock.now_ns()
        self.runner.close()
        try:
            self._recorder.close()
        except (LogError, OSError) as error:
            return str(error)
        finally:
            self.backend.stop()
        return ""

    def _examine_demands(self) -> tuple[Demand, ...]:
        wanted = self._order.robot.flight_controller.parameters
        if not wanted:
            return ()
        if not hasattr(self.backend, "vehicle"):
            raise ConfigError(
                f"robot {self._order.robot.name} demands parameters, and its HAL can't read any"
            )
        return examine_demands(self.backend.vehicle, wanted, apply=self._order.apply_params)

    def _tell_news(self) -> None:
        news, self._news = self._news, []
        for severity, kind, text in news:
            self._publish(severity, kind, "link", text)

    def _publish(self, severity: Severity, kind: str, source: str, text: str) -> None:
        self.bus.publish(EVENTS, Event(self.clock.now_ns(), severity, kind, source, text))

    def _on_link(self, link: Any, up: bool, why: str) -> None:
        if up:
            self._news.append((Severity.INFO, EventKind.LINK_UP, f"{link.endpoint} is up"))
        else:
            text = f"{link.endpoint} is down: {why}"
            self._news.append((Severity.ERROR, EventKind.LINK_DOWN, text))

    def _on_text(self, severity: int, text: str) -> None:
        level = _SEVERITIES[severity] if severity < len(_SEVERITIES) else Severity.INFO
        # What is critical to PX4 is no alarm of ours: the flight controller acts on it by itself.
        self._news.append((min(level, Severity.ERROR), EventKind.FLIGHT_CONTROLLER_SAYS, text))

    def _on_change(self, change: Change) -> None:
        self._news.append(told(change))

    def _on_ack(self, ack: ActionAck) -> None:
        self._has_armed |= ack.accepted and ack.action is Action.ARM

    def _on_event(self, event: Event) -> None:
        if event.kind == EventKind.LOG_FAILED:
            self._log_failed = True

    def _is_armed(self) -> bool:
        status = self.statistics.status
        return status is not None and status.armed

    def _silent_ns(self, now_ns: int) -> int:
        """Since the flight controller's last word of how it is."""
        status = self.statistics.status
        is_silent = status is None or status.health is Health.OFFLINE
        return now_ns - (status.stamp_ns if status is not None else 0) if is_silent else 0

    def _publisher(self, channel: Channel[Any]) -> Callable[[Sample], None]:
        publish = self.bus.publish
        return lambda sample: publish(channel, sample)


class _undisturbed:  # noqa: N801 - reads as what it is: with _undisturbed()
    """No garbage collection in the flight loop, and real-time priority where it may be had."""

    def __enter__(self) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()
        self._before = os.sched_getscheduler(0), os.sched_getparam(0)
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))

    def __exit__(self, *_: object) -> None:
        gc.enable()
        gc.unfreeze()
        with suppress(PermissionError):
            os.sched_setscheduler(0, *self._before)


def recover_unfinished(folder: Path) -> list[str]:
    """Repair what a crash or a power cut left behind; a line for each."""
    lines = []
    for path in sorted(folder.glob("*/manifest.yaml")):
        with suppress(GhostError, OSError):  # a folder that can't be read is no reason not to fly
            if read_manifest(path.parent).log.status == "recording":
                lines.append(f"{path.parent} was cut off; lost: {recover(path.parent).lost}")
    return lines


def is_simulated(identity: Any) -> bool:
    """Whether a flight controller says of itself that it is simulated. A board has the number of
    its processor; PX4's simulation has its instance there, and nothing else.
    """
    uid = bytes.fromhex(identity.uid.zfill(len(identity.uid) + len(identity.uid) % 2))
    is_marked = any(mark in uid or mark[::-1] in uid for mark in SIMULATED_MARKS)
    return is_marked or not any(uid[2:])


def _given(**arguments: Any) -> dict[str, Any]:
    """Those that were: a HAL of somebody's own need not know of the others."""
    return {name: value for name, value in arguments.items() if value is not None}


def _refuse_simulated(identity: Any, *, hil: bool) -> None:
    if is_simulated(identity) and not hil:
        raise RefusedError(
            f"the flight controller on this link is a simulated one ({identity.autopilot} "
            f"{identity.firmware}); `deploy run` means real hardware: give --hil to fly it anyway"
        )


def _manifest(order: RunOrder, identity: Any, demands: tuple[Demand, ...]) -> Manifest:
    robot = order.robot
    return describe_run(
        robot=robot.name,
        scenario="hil" if order.hil else "real",
        seed=0,
        deterministic=False,
        reproduce=order.reproduce,
        run_id=f"{robot.name}-{'hil' if order.hil else 'real'}-{time.strftime('%Y%m%dT%H%M%S')}",
        config={
            "robot": robot.plain,
            "mission": order.mission.plain or {"name": order.mission.name},
            "links": list(order.links),
            "flight_controller": asdict(identity),
            "parameters": {one.name: one.found if one.was is None else one.was for one in demands},
            "applied_parameters": {one.name: one.found for one in demands if one.was is not None},
            "hil": order.hil,
        },
    )
