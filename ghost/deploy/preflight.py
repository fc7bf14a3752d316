"""What a pilot would look at before take-off."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghost.hal import BatterySample, EstimateHealth


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the list. What isn't needed is told, and flown without."""

    name: str
    passed: bool
    detail: str
    is_needed: bool = True

    @property
    def mark(self) -> str:
        if self.passed:
            return "PASS"
        return "FAIL" if self.is_needed else "WARN"


def examine(backend: Any, *, allow_arming: bool) -> list[Check]:
    """What fails now may pass within the time that the mission waits for it."""
    identity, sensors = backend.identity, backend.sensors
    status, state = sensors["status"].poll(), sensors["vehicle"].poll()
    told = f"{identity.autopilot} {identity.firmware}, system {identity.system}"
    return [
        Check("flight controller", passed=True, detail=told),
        *(_stream(name, sensors) for name in ("imu", "gps")),
        Check("estimate", state.verdict is EstimateHealth.GOOD, state.verdict.name.lower()),
        _battery(sensors["battery"].poll() if "battery" in sensors else None),
        Check("disarmed", not status.armed, "no: somebody flies it" if status.armed else "yes"),
        Check("may be armed", not status.blocked, status.blocked or "yes"),
        Check("arming allowed", allow_arming, "yes" if allow_arming else "no: give --allow-arming"),
    ]


def _stream(name: str, sensors: Mapping[str, Any]) -> Check:
    is_there = name in sensors
    return Check(name, is_there, "streaming" if is_there else "not there", is_needed=False)


def _battery(battery: BatterySample | None) -> Check:
    if battery is None:
        return Check("battery", passed=False, detail="not reported", is_needed=False)
    volts = "" if math.isnan(battery.voltage_v) else f"{battery.voltage_v:.1f} V"
    if math.isnan(battery.remaining):
        told = f"{volts or 'no voltage'}, charge not reported"
        return Check("battery", passed=False, detail=told, is_needed=False)
    told = f"{battery.remaining:.0%}{volts and ', '}{volts}"
    return Check("battery", passed=True, detail=told)
