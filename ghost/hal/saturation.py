"""Bring a command inside the envelope's limits, changing no more than it must."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ghost.core.rotations import limit_tilt
from ghost.hal.commands import (
    AttitudeCommand,
    BodyRateCommand,
    Command,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.hal.envelope import SafetyEnvelope

C = TypeVar("C", bound=Command)


def saturate(command: C, envelope: SafetyEnvelope) -> C:
    """The command itself when it is within limits, otherwise a limited copy."""
    limited: dict[str, Any] = {}
    match command:
        case VelocityCommand() | TrajectoryCommand():
            velocity_mps = command.velocity_enu_mps.tolist()
            limited["velocity_enu_mps"] = _limited_velocity(velocity_mps, envelope)
            limited["yaw_rate_rps"] = _clamped(command.yaw_rate_rps, envelope.max_rate_rps)
        case AttitudeCommand():
            limited["attitude"] = limit_tilt(command.attitude, envelope.max_tilt_rad).tolist()
            limited["yaw_rate_rps"] = _clamped(command.yaw_rate_rps, envelope.max_rate_rps)
        case BodyRateCommand():
            rates_rps = command.rate_flu_rps.tolist()
            limited["rate_flu_rps"] = [_clamped(one, envelope.max_rate_rps) for one in rates_rps]
    changes = {
        name: value for name, value in limited.items() if value != _plain(getattr(command, name))
    }
    return replace(command, **changes) if changes else command


def _limited_velocity(velocity_mps: list[float], envelope: SafetyEnvelope) -> list[float]:
    """Horizontal speed keeps its direction; climb and descent are limited on their own."""
    east, north, up = velocity_mps
    speed = float(np.sqrt(east * east + north * north))
    scale = envelope.max_speed_mps / speed if speed > envelope.max_speed_mps else 1.0
    return [east * scale, north * scale, _clamped(up, envelope.max_climb_mps)]


def _clamped(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)


def _plain(told: Any) -> Any:
    return told.tolist() if isinstance(told, np.ndarray) else told
