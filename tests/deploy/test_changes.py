"""Every change of a flight controller has words, and a failsafe is the loudest."""

import pytest

from firmware_bridge.notices import (
    ArmedChanged,
    Change,
    FailsafeChanged,
    HealthChanged,
    LandedChanged,
    ModeChanged,
    ReadyChanged,
)
from ghost.deploy.changes import told
from ghost.events import EventKind, Severity

CHANGED, FAILSAFE = EventKind.FLIGHT_CONTROLLER_CHANGED, EventKind.FAILSAFE


@pytest.mark.parametrize(
    ("change", "severity", "kind", "text"),
    [
        (FailsafeChanged(True, "CRITICAL"), Severity.ERROR, FAILSAFE, "failsafe: CRITICAL"),
        (FailsafeChanged(False, "ACTIVE"), Severity.INFO, FAILSAFE, "failsafe over: ACTIVE"),
        (ModeChanged("HOLD", "OFFBOARD"), Severity.INFO, CHANGED, "mode HOLD -> OFFBOARD"),
        (ArmedChanged(True), Severity.INFO, CHANGED, "armed"),
        (ArmedChanged(False), Severity.INFO, CHANGED, "disarmed"),
        (
            LandedChanged("ON_GROUND", "IN_AIR"),
            Severity.DEBUG,
            CHANGED,
            "landed state ON_GROUND -> IN_AIR",
        ),
        (ReadyChanged(True), Severity.DEBUG, CHANGED, "ready to arm"),
        (ReadyChanged(False), Severity.DEBUG, CHANGED, "not ready to arm"),
        (HealthChanged(()), Severity.INFO, CHANGED, "everything is healthy"),
        (HealthChanged(("GPS", "3D_MAG")), Severity.WARN, CHANGED, "unhealthy: GPS, 3D_MAG"),
    ],
)
def test_a_change_is_told(change: Change, severity: Severity, kind: EventKind, text: str) -> None:
    assert told(change) == (severity, kind, text)
