"""What a flight came to, gathered while it is flown."""

import math
from dataclasses import dataclass

from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import (
    BatterySample,
    ControlState,
    FlightMode,
    GroundTruth,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import BATTERY, CMD_TRAJECTORY, CONTROL, GROUNDTRUTH_STATE, STATUS, VEHICLE


@dataclass(slots=True)
class _Spread:
    """Root mean square and largest of a series."""

    squares: float = 0.0
    count: int = 0
    largest: float = 0.0

    def add(self, value: float) -> None:
        self.squares += value * value
        self.count += 1
        self.largest = max(self.largest, value)

    @property
    def rms(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors in metres; tracking is the true position against the set-point in OFFBOARD. Where
    there is no truth, the estimate's error is None, and tracking is by the estimate.
    """

    flown_ns: int
    path_m: float
    highest_m: float
    fastest_mps: float
    tracking_rms_m: float
    tracking_max_m: float
    estimate_rms_m: float | None
    estimate_max_m: float | None
    landing_error_m: float | None
    warnings: int
    events: int


class FlightStatistics:
    """Listens to truth, estimate and set-points; the truth serves to judge, and nothing else."""

    def __init__(self, bus: Bus) -> None:
        self.truth: GroundTruth | None = None
        self.state: VehicleState | None = None
        self.status: VehicleStatus | None = None
        self.news: list[Event] = []
        self.charge: float | None = None
        self._control: ControlState | None = None
        self._told: list[float] | None = None
        self._home: list[float] | None = None
        self._landed: list[float] | None = None
        self._tracking, self._estimate = _Spread(), _Spread()
        self._path_m = self._highest_m = self._fastest_mps = 0.0
        self._airborne_ns = 0
        self._events = self._warnings = 0
        bus.subscribe(GROUNDTRUTH_STATE, self._on_truth, name="statistics")
        bus.subscribe(VEHICLE, self._on_state, name="statistics")
        bus.subscribe(STATUS, self._on_status, name="statistics")
        bus.subscribe(CONTROL, self._on_control, name="statistics")
        bus.subscribe(BATTERY, self._on_battery, name="statistics")
        bus.subscribe(CMD_TRAJECTORY, self._on_told, name="statistics")
        bus.subscribe(EVENTS, self._on_event, name="statistics")

    def summary(self) -> Summary:
        landing_m = None
        if self._home is not None and self._landed is not None:
            landing_m = _distance(self._home[:2], self._landed[:2])
        return Summary(
            self._airborne_ns,
            self._path_m,
            self._highest_m,
            self._fastest_mps,
            self._tracking.rms,
            self._tracking.largest,
            self._estimate.rms if self._estimate.count else None,
            self._estimate.largest if self._estimate.count else None,
            landing_m,
            self._warnings,
            self._events,
        )

    def _on_truth(self, truth: GroundTruth) -> None:
        before, self.truth = self.truth, truth
        self._on_motion(truth, before)

    def _on_motion(
        self, truth: GroundTruth | VehicleState, before: GroundTruth | VehicleState | None
    ) -> None:
        """Where there is no truth, as in reality, the vehicle's own word has to do."""
        here = truth.position_enu_m.tolist()
        status = self.status
        if status is None or not status.armed:
            return
        if self._home is None:
            self._home = here
        if before is not None and not status.on_ground:
            self._path_m += _distance(before.position_enu_m.tolist(), here)
            self._airborne_ns += truth.stamp_ns - before.stamp_ns
            self._fastest_mps = max(
                self._fastest_mps, _distance(truth.velocity_enu_mps.tolist(), [0.0, 0.0, 0.0])
            )
        self._highest_m = max(self._highest_m, here[2] - self._home[2])
        wanted = self._wanted(truth.stamp_ns)
        if wanted is not None and status.mode is FlightMode.OFFBOARD:
            self._tracking.add(_distance(wanted, here))
        is_truth = isinstance(truth, GroundTruth)
        if is_truth and self.state is not None and self.state.stamp_ns == truth.stamp_ns:
            self._estimate.add(_distance(self.state.position_enu_m.tolist(), here))

    def _wanted(self, stamp_ns: int) -> list[float] | None:
        """Where it should be, by its loops, or else by what it was told."""
        if self._control is not None:
            wanted = self._control.position_enu_m.tolist()
            is_now = self._control.stamp_ns == stamp_ns
            return wanted if is_now and all(map(math.isfinite, wanted)) else None
        return self._told

    def _on_told(self, command: TrajectoryCommand) -> None:
        self._told = command.position_enu_m.tolist()

    def _on_state(self, state: VehicleState) -> None:
        before, self.state = self.state, state
        if self.truth is None:
            self._on_motion(state, before)

    def _on_control(self, control: ControlState) -> None:
        self._control = control

    def _on_status(self, status: VehicleStatus) -> None:
        was_armed = self.status is not None and self.status.armed
        self.status = status
        newest = self.truth or self.state
        if was_armed and not status.armed and newest is not None:
            self._landed = newest.position_enu_m.tolist()

    def _on_battery(self, sample: BatterySample) -> None:
        self.charge = sample.remaining

    def _on_event(self, event: Event) -> None:
        self._events += 1
        self._warnings += event.severity >= Severity.WARN
        if event.severity > Severity.DEBUG:
            self.news.append(event)


def _distance(a: list[float], b: list[float]) -> float:
    return math.sqrt(math.fsum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))
