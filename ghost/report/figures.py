"""What a flight came to, in a few numbers.

The definitions are those that a deployment prints at its end, so that the two agree.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.events import EventKind, Severity
from ghost.hal import FlightMode
from ghost.report.flight import Flight, FloatArray, IntArray, Motion, Status

_ENDINGS = {
    EventKind.MISSION_FINISHED: "completed",
    EventKind.MISSION_ABORTED: "aborted",
    EventKind.MISSION_INTERRUPTED: "interrupted",
    EventKind.MISSION_FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Spread:
    rms_m: float
    max_m: float


@dataclass(frozen=True, slots=True)
class Figures:
    """None where the log doesn't hold what a figure needs."""

    outcome: str
    reason: str
    airborne_ns: int
    path_m: float | None
    highest_m: float | None
    fastest_mps: float | None
    tracking: Spread | None
    estimate_error: Spread | None
    home_enu_m: FloatArray | None
    landed_enu_m: FloatArray | None
    landing_error_m: float | None
    warnings: int


def summarize(flight: Flight) -> Figures:
    outcome, reason = _outcome(flight)
    warnings = sum(event.severity >= Severity.WARN for event in flight.events)
    if flight.motion is None or flight.status is None:
        return Figures(outcome, reason, 0, None, None, None, None, None, None, None, None, warnings)
    motion, states = flight.motion, _States(flight.status, flight.motion.order)
    here = motion.position_enu_m
    home = here[states.armed][0] if states.armed.any() else None
    landed = _landed(motion, flight.status)
    return Figures(
        outcome,
        reason,
        int(np.diff(motion.stamp_ns)[states.airborne[1:]].sum()),
        float(np.nansum(_length(np.diff(here, axis=0))[states.airborne[1:]])),
        None if home is None else _largest((here[states.armed] - home)[:, 2]),
        _largest(_length(motion.velocity_enu_mps)[states.airborne]),
        _tracking(flight, motion, states.armed & states.offboard),
        _estimate_error(flight, states.armed),
        home,
        landed,
        None if home is None or landed is None else _largest(_length((home - landed)[None, :2])),
        warnings,
    )


class _States:
    """The last status that was out when each row of a motion was logged."""

    def __init__(self, status: Status, order: IntArray) -> None:
        last = np.searchsorted(status.order, order) - 1
        known = last >= 0
        says = status.messages
        armed = np.array([each.armed for each in says])
        flying = np.array([each.armed and not each.on_ground for each in says])
        offboard = np.array([each.mode is FlightMode.OFFBOARD for each in says])
        self.armed: NDArray[np.bool_] = known & armed[last]
        self.airborne: NDArray[np.bool_] = known & flying[last]
        self.offboard: NDArray[np.bool_] = known & offboard[last]


def _outcome(flight: Flight) -> tuple[str, str]:
    said = [event for event in flight.events if event.kind.startswith("MISSION_")]
    if not said:
        return "no mission", ""
    last = said[-1]
    ending = next((word for kind, word in _ENDINGS.items() if kind == last.kind), "unfinished")
    reason = last.payload.get("reason", "")
    return ending, reason if isinstance(reason, str) else ""


def _tracking(flight: Flight, motion: Motion, wanted: NDArray[np.bool_]) -> Spread | None:
    control = flight.control
    if control is None:
        return None
    _, ours, theirs = np.intersect1d(motion.stamp_ns, control.stamp_ns, return_indices=True)
    error_m = _length(motion.position_enu_m[ours] - control.position_enu_m[theirs])
    return _spread(error_m[wanted[ours]])


def _estimate_error(flight: Flight, wanted: NDArray[np.bool_]) -> Spread | None:
    if flight.truth is None or flight.estimate is None:
        return None
    truth, estimate = flight.truth.motion, flight.estimate.motion
    _, ours, theirs = np.intersect1d(truth.stamp_ns, estimate.stamp_ns, return_indices=True)
    error_m = _length(truth.position_enu_m[ours] - estimate.position_enu_m[theirs])
    return _spread(error_m[wanted[ours]])


def _landed(motion: Motion, status: Status) -> FloatArray | None:
    """Where the vehicle was when it was last disarmed."""
    armed = np.array([each.armed for each in status.messages])
    (disarmed,) = np.nonzero(armed[:-1] & ~armed[1:])
    if not disarmed.size:
        return None
    row = int(np.searchsorted(motion.order, status.order[disarmed[-1] + 1])) - 1
    return motion.position_enu_m[row] if row >= 0 else None


def _spread(error_m: FloatArray) -> Spread | None:
    finite = error_m[np.isfinite(error_m)]
    if not finite.size:
        return None
    return Spread(float(np.sqrt((finite * finite).mean())), float(finite.max()))


def _largest(values: FloatArray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else None


def _length(vectors: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt((vectors * vectors).sum(axis=-1))
    return length
