"""What changed about a flight controller, as events."""

from firmware_bridge.notices import (
    ArmedChanged,
    Change,
    FailsafeChanged,
    HealthChanged,
    LandedChanged,
    ModeChanged,
    ReadyChanged,
)
from ghost.events import EventKind, Severity

__all__ = ["Change", "told"]


def told(change: Change) -> tuple[Severity, EventKind, str]:
    changed = EventKind.FLIGHT_CONTROLLER_CHANGED
    match change:
        case FailsafeChanged(is_failsafe=True, state=state):
            return Severity.ERROR, EventKind.FAILSAFE, f"failsafe: {state}"
        case FailsafeChanged(state=state):
            return Severity.INFO, EventKind.FAILSAFE, f"failsafe over: {state}"
        case ModeChanged(before=before, after=after):
            return Severity.INFO, changed, f"mode {before} -> {after}"
        case ArmedChanged(is_armed=is_armed):
            return Severity.INFO, changed, "armed" if is_armed else "disarmed"
        case LandedChanged(before=before, after=after):
            return Severity.DEBUG, changed, f"landed state {before} -> {after}"
        case ReadyChanged(is_ready=is_ready):
            return Severity.DEBUG, changed, "ready to arm" if is_ready else "not ready to arm"
        case HealthChanged(unhealthy=()):
            return Severity.INFO, changed, "everything is healthy"
        case HealthChanged(unhealthy=unhealthy):
            return Severity.WARN, changed, f"unhealthy: {', '.join(unhealthy)}"
