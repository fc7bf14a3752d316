"""A simulated flight from take-off to the closed log."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghost.core.channels import Channel
from ghost.core.errors import ConfigError, GhostError, LogError
from ghost.deploy.hal import build_hal
from ghost.deploy.robot import RobotDescription
from ghost.deploy.scenario import Scenario
from ghost.deploy.statistics import FlightStatistics, Summary
from ghost.deploy.surroundings import introduce, watch_contacts
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import Action, Pose, Sample, SimulationBackend
from ghost.hal.channels import GROUNDTRUTH_POSE, GROUNDTRUTH_STATE
from ghost.mission import Mission, MissionRunner, Outcome, Result
from ghost.perception import ObstacleFinder, obstacle_sensors
from ghost.telemetry import Manifest, RunRecorder, describe_run, recover

CYCLE_NS = 20_000_000
AFTER_LANDING_NS = 500_000_000
LONGEST_ABORT_NS = 120_000_000_000


@dataclass(frozen=True, slots=True)
class Order:
    """What to fly. reproduce is the command that would fly it again."""

    robot: RobotDescription
    mission: Mission
    scenario: Scenario
    out: Path
    simulator: str | None = None
    speed: float | None = None
    """How many times real time, at most; None is as fast as it goes."""
    reproduce: str = ""
    view: bool = False
    """Whether to watch it in the simulator's own window."""


@dataclass(frozen=True, slots=True)
class Flight:
    """How it went."""

    outcome: Outcome
    summary: Summary
    folder: Path
    simulated_ns: int
    wall_ns: int

    @property
    def succeeded(self) -> bool:
        return self.outcome.result is Result.COMPLETED


class SimulatedFlight:
    """One run. Step it with run(); request_landing() may be called from a signal handler."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._landing_requested = False
        self._stop_requested = False
        self._log_failed = False
        robot, scenario = order.robot, order.scenario
        self.backend: SimulationBackend = build_hal(robot, mode="sim", **_arguments(order))
        sees = None if robot.hal.sim else bool(obstacle_sensors(one.spec for one in robot.sensors))
        order.mission.check(
            robot.envelope, scenario.start.position_enu_m or (0.0, 0.0, 0.0), sees=sees
        )
        try:
            self.backend.reset(scenario.spec, scenario.spec.seed)
            self.clock = self.backend.clock
            self.bus = Bus(self.clock)
            self.statistics = FlightStatistics(self.bus)
            self.bus.subscribe(EVENTS, self._on_event, name="session")
            self.bus.guard(self._on_alarm)
            capabilities = self.backend.capabilities
            _refuse_pace(order, is_stepped=capabilities.synchronous_step)
            for spec in capabilities.sensors:
                self.backend.sensors[spec.name].subscribe(self._publisher(spec.channel))
            watch_contacts(self.bus)
            self._finder = ObstacleFinder(self.bus, capabilities.sensors)
            self.runner = MissionRunner(
                order.mission,
                self.bus,
                actuators=self.backend.actuators,
                flight_controller=self.backend.flight_controller,
                envelope=robot.envelope,
            )
            manifest = _manifest(order, deterministic=capabilities.deterministic)
            self._recorder = RunRecorder(order.out, self.bus, manifest)  # leaves files, so last
            introduce(self.bus, capabilities.sensors, scenario.scenery)
            self._introduce_simulator()
        except BaseException:
            self.backend.shutdown()
            raise

    def run(self, on_cycle: Callable[["SimulatedFlight"], None] = lambda _: None) -> Flight:
        """Fly until the vehicle is down, or the scenario is over. The log is closed, come what
        may.
        """
        started_ns = time.monotonic_ns()
        try:
            self._fly(on_cycle, started_ns)
        finally:
            log_problem = self._close_log()
            simulated_ns = self.clock.now_ns()
            self.backend.shutdown()
        outcome = self.runner.outcome
        return Flight(
            Outcome(Result.FAILED, log_problem) if log_problem else outcome,
            self.statistics.summary(),
            self._order.out,
            simulated_ns,
            time.monotonic_ns() - started_ns,
        )

    def request_landing(self) -> None:
        """Land and close the log; asked again, close it at once."""
        self._stop_requested = self._landing_requested
        self._landing_requested = True

    def take_news(self) -> list[str]:
        """What happened since the last call, a line each."""
        news, self.statistics.news = self.statistics.news, []
        return [f"{event.stamp_ns / 1e9:8.2f} s  {mark(event)}{event.text}" for event in news]

    @property
    def was_asked_to_land(self) -> bool:
        return self._landing_requested

    def _fly(self, on_cycle: Callable[["SimulatedFlight"], None], started_ns: int) -> None:
        duration_ns = self._order.scenario.spec.duration_ns
        down_ns: int | None = None
        aborted_ns: int | None = None
        self._publish_truth()
        while not self._stop_requested:
            now_ns = self.clock.now_ns()
            if aborted_ns is None and (self._landing_requested or self._log_failed):
                aborted_ns = now_ns
                asked = "the operator asked to land"
                self.runner.abort("the flight log failed" if self._log_failed else asked)
            if self.runner.outcome.over and not self._is_armed():
                down_ns = now_ns if down_ns is None else down_ns
                if now_ns - down_ns >= AFTER_LANDING_NS:
                    return
            elif aborted_ns is None and now_ns >= duration_ns:
                over = f"the scenario's duration_s of {duration_ns / 1e9:g} is over"
                self._break_off(Result.FAILED, f"still {self._doing()}, and {over}")
                return
            elif aborted_ns is not None and now_ns - aborted_ns >= LONGEST_ABORT_NS:
                waited = f"{LONGEST_ABORT_NS / 1e9:g} s after it was told to land"
                self._break_off(Result.FAILED, f"still {self._doing()}, {waited}")
                return
            self.backend.step(CYCLE_NS)
            self._publish_truth()
            on_cycle(self)
            if self._order.speed is not None:
                due_ns = started_ns + round(self.clock.now_ns() / self._order.speed)
                time.sleep(max(due_ns - time.monotonic_ns(), 0) / 1e9)
        if not self.runner.outcome.over:
            self._break_off(Result.ABORTED, "the operator broke it off in flight")

    def _introduce_simulator(self) -> None:
        """One that brings more than physics says what that is."""
        name = getattr(self.backend, "name", "")
        if name:
            now_ns, kind = self.clock.now_ns(), EventKind.SIMULATOR_STARTED
            self.bus.publish(EVENTS, Event(now_ns, Severity.INFO, kind, "session", name))

    def _publish_truth(self) -> None:
        if not self.backend.capabilities.ground_truth:
            return
        truth = self.backend.ground_truth()
        self.bus.publish(GROUNDTRUTH_STATE, truth)
        self.bus.publish(
            GROUNDTRUTH_POSE, Pose(truth.stamp_ns, truth.position_enu_m, truth.attitude)
        )

    def _break_off(self, result: Result, text: str) -> None:
        """End the mission where it is; what came of it before is not forgotten."""
        self.runner.close()
        if self.runner.outcome.reason:
            text = f"{text}; {self.runner.outcome.reason}"
        self.runner.outcome = Outcome(result, text)
        failed = result is Result.FAILED
        severity = Severity.ERROR if failed else Severity.WARN
        kind = EventKind.MISSION_FAILED if failed else EventKind.MISSION_ABORTED
        self.bus.publish(EVENTS, Event(self.clock.now_ns(), severity, kind, "session", text))

    def _close_log(self) -> str:
        """What is wrong with the log, and what to do about it; empty when nothing is."""
        folder = self._order.out
        try:
            self._recorder.close()
        except (LogError, OSError) as error:
            is_down = self._log_failed and not self._is_armed()
            landed = ", so the vehicle was landed" if is_down else ""
            try:
                recover(folder)
            except (GhostError, OSError):
                return f"{error}{landed}; make room, then run `ghost log recover {folder}`"
            return f"{error}{landed}; what it held by then is whole; make room and fly again"
        return ""

    def _on_alarm(self, event: Event) -> None:
        """Whoever flies it is told to land, before the step in which it happened goes on."""
        if event.kind == EventKind.COLLISION and self._is_armed():
            self.backend.flight_controller.request(Action.LAND)

    def _on_event(self, event: Event) -> None:
        if event.kind == EventKind.LOG_FAILED:
            self._log_failed = True

    def _doing(self) -> str:
        return "armed" if self.runner.outcome.over else "under way"

    def _is_armed(self) -> bool:
        status = self.statistics.status
        return status is not None and status.armed

    def _publisher(self, channel: Channel[Any]) -> Callable[[Sample], None]:
        publish = self.bus.publish
        return lambda sample: publish(channel, sample)


def _refuse_pace(order: Order, *, is_stepped: bool) -> None:
    if order.speed is not None and not is_stepped:
        raise ConfigError(
            "the simulator's time passes by itself, so --realtime can't pace it; leave it out, or "
            "give the simulator a speed if it takes one, as in --simulator gazebo_px4@speed=2"
        )


def mark(event: Event) -> str:
    return f"{event.severity.name} " if event.severity >= Severity.WARN else ""


def _manifest(order: Order, *, deterministic: bool) -> Manifest:
    robot, scenario = order.robot, order.scenario
    return describe_run(
        robot=robot.name,
        scenario=scenario.spec.name,
        seed=scenario.spec.seed,
        deterministic=deterministic,
        reproduce=order.reproduce,
        config={
            "robot": robot.plain,
            "scenario": scenario.plain,
            "mission": order.mission.plain or {"name": order.mission.name},
            "simulator": order.simulator or (robot.sim.simulator if robot.sim else ""),
        },
    )


def _arguments(order: Order) -> dict[str, Any]:
    """What the scenario asks of the backend. A backend of the robot's own may take none of it, and
    then a scenario that asks for it is refused.
    """
    scenario = order.scenario
    asked: dict[str, tuple[Any, bool]] = {
        "simulator": (order.simulator, order.simulator is not None),
        "wind": (scenario.wind, "wind" in scenario.plain),
        "happenings": (scenario.happenings, "events" in scenario.plain),
        "start": (scenario.start, "start" in scenario.plain),
        "scenery": (scenario.scenery, bool(scenario.scenery.solids)),
        "view": (order.view, order.view),
    }
    is_derived = order.robot.hal.sim is None
    return {name: value for name, (value, is_asked) in asked.items() if is_asked or is_derived}
