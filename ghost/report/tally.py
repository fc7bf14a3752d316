"""The figures of a flight, counted message by message: live off the bus, or out of its log."""

import math
from dataclasses import dataclass
from typing import Any

from ghost.core.channels import Channel
from ghost.events import EVENTS, Event, Severity
from ghost.hal import (
    CommandAck,
    ControlState,
    EstimateHealth,
    FlightMode,
    GroundTruth,
    Health,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import CMD_ACK, CONTROL, GROUNDTRUTH_STATE, STATUS, VEHICLE
from ghost.hal.message import Vector3
from ghost.report.summary import LastSeen, Place, Summary

COUNTED: tuple[Channel[Any], ...] = (CMD_ACK, CONTROL, EVENTS, GROUNDTRUTH_STATE, STATUS, VEHICLE)

_FRESH_NS = 500_000_000
"""How old a set-point may be that is still flown, as an envelope has it if it says nothing."""
_LONGEST_GAP_NS = 2_000_000_000
"""What happened in a longer silence was not seen."""
_FURTHEST_M = 1e12


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
        return math.sqrt(self.squares / self.count)


class Tally:
    """Hears truth, estimate, status and set-points, in their order. Where there is no truth, as in
    reality, the vehicle's own word has to do.
    """

    def __init__(self) -> None:
        self.truth: GroundTruth | None = None
        self.state: VehicleState | None = None
        self.status: VehicleStatus | None = None
        self._heard_ns = 0
        self._control: ControlState | None = None
        self._told: Place | None = None
        self._told_ns = 0
        self._last: tuple[int, Place] | None = None
        self._starts = self._saw_start = False
        self._is_up = self._was_up = False
        self._home: Place | None = None
        self._landed: Place | None = None
        self._tracking, self._estimate = _Spread(), _Spread()
        self._path_m = self._highest_m = self._fastest_mps = 0.0
        self._airborne_ns = 0
        self._events = self._warnings = 0
        self._hearers: dict[type, Any] = {
            CommandAck: self._on_ack,
            ControlState: self._on_control,
            Event: self._on_event,
            GroundTruth: self._on_truth,
            VehicleState: self._on_state,
            VehicleStatus: self._on_status,
        }

    def hear(self, message: Any) -> None:
        """Any message; what doesn't count is let pass."""
        hearer = self._hearers.get(type(message))
        if hearer is not None:
            hearer(message)

    def summary(self) -> Summary:
        home, landed, status = self._home, self._landed, self.status
        tracking, estimate = self._tracking, self._estimate
        by = "estimate" if self.truth is None else "truth"
        return Summary(
            flown_ns=self._airborne_ns,
            path_m=self._path_m,
            highest_m=self._highest_m,
            fastest_mps=self._fastest_mps,
            tracking_rms_m=tracking.rms if tracking.count else math.nan,
            tracking_max_m=tracking.largest if tracking.count else math.nan,
            tracked_by=by if tracking.count else "",
            estimate_rms_m=estimate.rms if estimate.count else None,
            estimate_max_m=estimate.largest if estimate.count else None,
            was_airborne=self._was_up,
            home_enu_m=home,
            saw_start=self._saw_start,
            landed_enu_m=landed,
            landing_error_m=_distance(home[:2], landed[:2]) if home and landed else None,
            last_seen=_last_seen(status) if status is not None else None,
            warnings=self._warnings,
            events=self._events,
        )

    def _on_truth(self, truth: GroundTruth) -> None:
        self.truth = truth
        self._on_motion(truth)

    def _on_state(self, state: VehicleState) -> None:
        self.state = state
        # What is LOST may be the last one that was heard, again and again.
        if self.truth is None and state.verdict is not EstimateHealth.LOST:
            self._on_motion(state)

    def _on_motion(self, motion: GroundTruth | VehicleState) -> None:
        here, status = _place(motion.position_enu_m), self.status
        if here is None:
            return
        before, self._last = self._last, (motion.stamp_ns, here)
        if status is None or not status.armed:
            return
        home = self._home_at(here, status)
        if not status.on_ground:
            if before is not None:
                self._fly_on(before, motion, here)
            self._highest_m = max(self._highest_m, here[2] - home[2])
        wanted = self._wanted(motion.stamp_ns, status)
        if wanted is not None:
            self._tracking.add(_distance(wanted, here))
        state = self.state
        if motion is self.truth and state is not None and state.stamp_ns == motion.stamp_ns:
            believed = _place(state.position_enu_m)
            if believed is not None:
                self._estimate.add(_distance(believed, here))

    def _home_at(self, here: Place, status: VehicleStatus) -> Place:
        """Where it was armed first. If it was in the air before, where it says that home is."""
        if self._starts and not self._saw_start:
            self._saw_start = True
            self._home = here
        if self._home is None:
            self._home = _place(status.home_enu_m) or (0.0, 0.0, 0.0)
        return self._home

    def _fly_on(
        self, before: tuple[int, Place], motion: GroundTruth | VehicleState, here: Place
    ) -> None:
        passed_ns = motion.stamp_ns - before[0]
        if passed_ns > _LONGEST_GAP_NS:
            return
        self._path_m += _distance(before[1], here)
        self._airborne_ns += passed_ns
        velocity_mps = _place(motion.velocity_enu_mps)
        if velocity_mps is not None:
            self._fastest_mps = max(self._fastest_mps, _distance(velocity_mps, (0.0, 0.0, 0.0)))

    def _wanted(self, stamp_ns: int, status: VehicleStatus) -> Place | None:
        """Where it should be, by the loops that the truth judges, or else by what it was told; None
        where it does not fly what it is told.
        """
        is_heard = status.health is not Health.OFFLINE
        is_heard = is_heard and stamp_ns - self._heard_ns <= _LONGEST_GAP_NS
        if status.mode is not FlightMode.OFFBOARD or not is_heard:
            return None
        if self._told is None or stamp_ns - self._told_ns > _FRESH_NS:
            return None
        if self._control is None or self.truth is None:
            return self._told
        is_now = self._control.stamp_ns == stamp_ns
        return _place(self._control.position_enu_m) if is_now else None

    def _on_ack(self, ack: CommandAck) -> None:
        if isinstance(ack.applied, TrajectoryCommand):  # None where it was refused
            self._told = _place(ack.applied.position_enu_m)
            self._told_ns = ack.command_stamp_ns

    def _on_control(self, control: ControlState) -> None:
        self._control = control

    def _on_status(self, status: VehicleStatus) -> None:
        before, self.status = self.status, status
        if status.health is Health.OFFLINE:  # the last one that was heard, again
            return
        silent_ns, self._heard_ns = status.stamp_ns - self._heard_ns, status.stamp_ns
        was_armed = not status.on_ground if before is None else before.armed
        if status.armed and not was_armed:
            self._starts = True
        if status.armed and not status.on_ground:
            self._is_up = self._was_up = True
            self._landed = None
        elif self._is_up and not status.armed:
            # In the air, then silent, and then disarmed: it was restarted, and so was its frame.
            was_flying = before is not None and before.armed and not before.on_ground
            if was_flying and silent_ns > _LONGEST_GAP_NS:
                self._is_up = False
            elif status.on_ground:
                self._is_up = False
                self._landed = self._last[1] if self._last else None

    def _on_event(self, event: Event) -> None:
        self._events += 1
        self._warnings += event.severity >= Severity.WARN


def _last_seen(status: VehicleStatus) -> LastSeen:
    is_silent = status.health is Health.OFFLINE
    return LastSeen(status.mode.name, status.armed, status.on_ground, is_silent)


def _place(vector: Vector3) -> Place | None:
    """None for what isn't a number, and for what diverged beyond all units."""
    east, north, up = vector.tolist()
    is_sane = all(abs(each) <= _FURTHEST_M for each in (east, north, up))
    return (east, north, up) if is_sane else None


def _distance(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return math.sqrt(math.fsum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))
