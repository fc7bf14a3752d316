"""When the autopilot stops doing as it is told, and what it does instead."""

from dataclasses import dataclass

from ghost.autopilot.config import AutopilotConfig
from ghost.hal import EstimateHealth, Failsafe, FlightMode, SafetyEnvelope

# A lookup in an enum is slow.
_NONE = Failsafe.NONE
_LOST, _DEGRADED = EstimateHealth.LOST, EstimateHealth.DEGRADED
_MANUAL, _OFFBOARD = FlightMode.MANUAL, FlightMode.OFFBOARD
_LAND, _RETURN = FlightMode.LAND, FlightMode.RETURN


@dataclass(slots=True)
class Situation:
    """All that the judgement rests on. charge is None before the battery was heard."""

    mode: FlightMode
    verdict: EstimateHealth
    charge: float | None
    command_age_ns: int
    position_enu_m: list[float]


def judge(
    now: Situation, config: AutopilotConfig, envelope: SafetyEnvelope
) -> tuple[Failsafe, FlightMode]:
    """The gravest reason to act, and the mode to be in because of it; NONE leaves the mode."""
    if now.mode is _MANUAL:
        return _NONE, now.mode
    if now.verdict is _LOST:
        return Failsafe.ESTIMATE_LOST, FlightMode.LAND
    charge = 1.0 if now.charge is None else now.charge
    if charge < config.land_below_charge:
        return Failsafe.CRITICAL_BATTERY, FlightMode.LAND
    if now.verdict is _DEGRADED:
        return Failsafe.ESTIMATE_DEGRADED, FlightMode.LAND
    homeward = now.mode if now.mode in (_LAND, _RETURN) else _RETURN
    if charge < config.return_below_charge:
        return Failsafe.LOW_BATTERY, homeward
    east_m, north_m, up_m = now.position_enu_m
    # A little slack: the gate keeps set-points inside, wind may push the vehicle over the line.
    too_high_m = up_m - envelope.max_altitude_m
    if envelope.outside_fence_m(east_m, north_m) > FENCE_SLACK_M or too_high_m > FENCE_SLACK_M:
        return Failsafe.GEOFENCE, homeward
    is_silent = now.command_age_ns > envelope.command_timeout_ns
    if now.mode is _OFFBOARD and is_silent:
        return Failsafe.COMMAND_LOSS, FlightMode.RETURN
    return _NONE, now.mode


FENCE_SLACK_M = 2.0
