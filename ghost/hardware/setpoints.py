"""From commands of the HAL to PX4's set-points: ENU and FLU in, NED and FRD out."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.messages import Message, dialect
from ghost.core.frames import attitude_enu_to_ned, flu_to_frd
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    CommandLevel,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)

LEVELS = (
    CommandLevel.BODY_RATE,
    CommandLevel.ATTITUDE,
    CommandLevel.VELOCITY,
    CommandLevel.POSITION,
    CommandLevel.TRAJECTORY,
)

_LOCAL_NED = dialect.MAV_FRAME_LOCAL_NED
_NO_POSITION, _NO_VELOCITY, _NO_ACCELERATION = 0x7, 0x38, 0x1C0
_NO_YAW, _NO_YAW_RATE = 0x400, 0x800
_NO_RATES, _NO_ATTITUDE = 0x7, 0x80
_NOWHERE = (0.0, 0.0, 0.0)


def encode_command(command: Any, *, boot_ms: int, system: int, component: int) -> Message:
    """boot_ms is our own run time: PX4 takes what it hears for fresh, and no older."""
    head = (boot_ms, system, component)
    match command:
        case TrajectoryCommand():
            return _position_target(
                head,
                0,
                *_ned(command.position_enu_m),
                *_ned(command.velocity_enu_mps),
                *_ned(command.acceleration_enu_mps2),
                yaw_ned_rad(command.yaw_rad),
                -command.yaw_rate_rps,
            )
        case PositionCommand():
            return _position_target(
                head,
                _NO_VELOCITY | _NO_ACCELERATION | _NO_YAW_RATE,
                *_ned(command.position_enu_m),
                *_NOWHERE,
                *_NOWHERE,
                yaw_ned_rad(command.yaw_rad),
                0.0,
            )
        case VelocityCommand():
            return _position_target(
                head,
                _NO_POSITION | _NO_ACCELERATION,
                *_NOWHERE,
                *_ned(command.velocity_enu_mps),
                *_NOWHERE,
                yaw_ned_rad(command.yaw_rad),
                -command.yaw_rate_rps,
            )
        case AttitudeCommand():
            quaternion = attitude_enu_to_ned(command.attitude).tolist()
            rates = (0.0, 0.0, -command.yaw_rate_rps)
            return dialect.MAVLink_set_attitude_target_message(
                *head, _NO_RATES & ~0x4, quaternion, *rates, command.thrust
            )
        case BodyRateCommand():
            rates = flu_to_frd(command.rate_flu_rps).tolist()
            return dialect.MAVLink_set_attitude_target_message(
                *head, _NO_ATTITUDE, [1.0, 0.0, 0.0, 0.0], *rates, command.thrust
            )
    raise TypeError(f"no set-point for a {type(command).__name__}")  # the gate has refused it


def yaw_ned_rad(yaw_enu_rad: float) -> float:
    """From east and anticlockwise to north and clockwise, in -pi to pi."""
    yaw_rad = 0.5 * math.pi - yaw_enu_rad
    return math.atan2(math.sin(yaw_rad), math.cos(yaw_rad))


def _position_target(head: tuple[int, int, int], mask: int, *values: float) -> Message:
    """Values are position, velocity and acceleration, then yaw and its rate."""
    return dialect.MAVLink_set_position_target_local_ned_message(*head, _LOCAL_NED, mask, *values)


def _ned(vector_enu: NDArray[np.float64]) -> tuple[float, float, float]:
    east, north, up = vector_enu.tolist()
    return north, east, -up
