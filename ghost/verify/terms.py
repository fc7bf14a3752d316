"""What a flight is judged by, beside its log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghost.hal import SafetyEnvelope

_EMBEDDED_MARGIN_NS = 50_000_000
"""The embedded autopilot looks every 20 ms, and tells its status in the same step."""
_FOREIGN_MARGIN_NS = 500_000_000
"""A status from behind a link is as old as the newest heartbeat; they are asked for every 100 ms,
and one or the other is lost.
"""
_PX4_LOSS_NS = 1_000_000_000
"""COM_OF_LOSS_T, where nobody sets it."""
_LOSS_PARAMETER = "COM_OF_LOSS_T"


@dataclass(frozen=True, slots=True)
class Terms:
    """The envelope is None where the run has none. loss is what a flight controller waits for the
    next set-point; loss_from says who says so.
    """

    envelope: SafetyEnvelope | None
    is_embedded: bool
    loss_ns: int
    margin_ns: int
    loss_from: str


def terms_of(config: Mapping[str, Any], envelope: SafetyEnvelope | None) -> Terms:
    """From a manifest's config. The envelope is read by whoever knows what a robot is."""
    if not _is_foreign(config):
        timeout_ns = (envelope or SafetyEnvelope()).command_timeout_ns
        return Terms(envelope, True, timeout_ns, _EMBEDDED_MARGIN_NS, "the envelope")
    told_s = _loss_s(config)
    if told_s is None:
        loss_ns, loss_from = _PX4_LOSS_NS, f"{_LOSS_PARAMETER}'s default"
    else:
        loss_ns, loss_from = round(told_s * 1e9), f"the logged {_LOSS_PARAMETER}"
    return Terms(envelope, False, loss_ns, _FOREIGN_MARGIN_NS, loss_from)


def _is_foreign(config: Mapping[str, Any]) -> bool:
    """Whether something else than the embedded autopilot in the same process flew it."""
    vehicles = config.get("vehicles")
    firmwares = [
        vehicle.get("firmware")
        for vehicle in (vehicles if isinstance(vehicles, list) else [])
        if isinstance(vehicle, dict)
    ]
    is_px4_inside = str(config.get("simulator", "")).partition("@")[0].endswith("px4")
    return "flight_controller" in config or "px4" in firmwares or is_px4_inside


def _loss_s(config: Mapping[str, Any]) -> float | None:
    for key in ("applied_parameters", "parameters"):  # what was set counts, if anything was
        found = config.get(key)
        value = found.get(_LOSS_PARAMETER) if isinstance(found, dict) else None
        if isinstance(value, int | float) and 0.0 < value < 1e4:
            return float(value)
    return None
