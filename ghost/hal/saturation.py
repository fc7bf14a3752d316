"""Bring a command inside the envelope's limits, changing no more than it must."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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
    if isinstance(command, VelocityCommand | TrajectoryCommand):
        limited["velocity_enu_mps"] = _limited_velocity(command.velocity_enu_mps, envelope)
    if isinstance(command, VelocityCommand | TrajectoryCommand | AttitudeCommand):
        limited["yaw_rate_rps"] = _clamped(command.yaw_rate_rps, envelope.max_rate_rps)
    if isinstance(command, AttitudeCommand):
        limited["attitude"] = limit_tilt(command.attitude, envelope.max_tilt_rad)
    if isinstance(command, BodyRateCommand):
        limit_rps = envelope.max_rate_rps
        limited["rate_flu_rps"] = np.clip(command.rate_flu_rps, -limit_rps, limit_rps)
    changes = {
        name: value
        for name, value in limited.items()
        if not np.array_equal(value, getattr(command, name))
    }
    return replace(command, **changes) if changes else command


def _limited_velocity(
    velocity_mps: NDArray[np.float64], envelope: SafetyEnvelope
) -> NDArray[np.float64]:
    """Horizontal speed keeps its direction; climb and descent are limited on their own."""
    east, north, up = velocity_mps.tolist()
    speed = float(np.sqrt(east * east + north * north))
    scale = envelope.max_speed_mps / speed if speed > envelope.max_speed_mps else 1.0
    return np.array([east * scale, north * scale, _clamped(up, envelope.max_climb_mps)])


def _clamped(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
