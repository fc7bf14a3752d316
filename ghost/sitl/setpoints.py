"""From MAVLink's set-points to commands of the HAL: type masks, NED and FRD in, ENU and FLU out."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.messages import Message, dialect
from ghost.core.errors import FrameError
from ghost.core.frames import attitude_ned_to_enu, frd_to_flu, ned_to_enu
from ghost.core.rotations import from_yaw, normalize, rotate
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    Command,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)

FloatArray = NDArray[np.float64]

NO_POSITION, NO_VELOCITY, NO_ACCELERATION = 0x7, 0x38, 0x1C0
IS_FORCE, NO_YAW, NO_YAW_RATE = 0x200, 0x400, 0x800
NO_ROLL_PITCH_RATE, NO_TURN_RATE, NO_THRUST, NO_ATTITUDE = 0x3, 0x4, 0x40, 0x80


@dataclass(frozen=True, slots=True)
class Here:
    """What a set-point leaves out is taken from the vehicle: where it heads, and the command's
    stamp and sequence.
    """

    yaw_rad: float
    stamp_ns: int
    sequence: int


def position_command(message: Message, here: Here) -> Command | str:
    """From SET_POSITION_TARGET_LOCAL_NED; a text says why there is none. A place with a velocity
    is a point on a trajectory.
    """
    mask = message.type_mask
    has_position = _has(mask, NO_POSITION)
    has_velocity = _has(mask, NO_VELOCITY)
    if has_position is None or has_velocity is None:
        return "set-points of single axes are not supported"
    if mask & IS_FORCE:
        return "forces are not supported"
    frame = message.coordinate_frame
    if frame not in (dialect.MAV_FRAME_LOCAL_NED, dialect.MAV_FRAME_BODY_NED):
        return f"coordinate frame {frame} is not supported"
    is_body = frame == dialect.MAV_FRAME_BODY_NED
    if is_body and has_position:
        return "positions in the body's frame are not supported"
    place, way = [message.x, message.y, message.z], [message.vx, message.vy, message.vz]
    has_pull = bool(_has(mask, NO_ACCELERATION)) and has_position and has_velocity
    pull = [message.afx, message.afy, message.afz] if has_pull else [0.0, 0.0, 0.0]
    if not _is_finite([*(place if has_position else ()), *(way if has_velocity else ()), *pull]):
        return "its numbers are not finite"
    velocity = _velocity(way, here.yaw_rad, is_body=is_body) if has_velocity else np.zeros(3)
    has_yaw = not mask & NO_YAW and math.isfinite(message.yaw)
    yaw_rad = yaw_enu_rad(message.yaw) if has_yaw else here.yaw_rad
    yaw_rate_rps = 0.0 if mask & NO_YAW_RATE else -message.yaw_rate
    stamp = (here.stamp_ns, here.sequence)
    if has_position and has_velocity:
        return TrajectoryCommand(
            *stamp, ned_to_enu(place), velocity, ned_to_enu(pull), yaw_rad, yaw_rate_rps
        )
    if has_position:
        return PositionCommand(*stamp, ned_to_enu(place), yaw_rad)
    if has_velocity:
        return VelocityCommand(*stamp, velocity, yaw_rad, yaw_rate_rps)
    return "a set-point without position and velocity is not supported"


def attitude_command(message: Message, here: Here) -> Command | str:
    """From SET_ATTITUDE_TARGET; a text says why there is none."""
    mask = message.type_mask
    if mask & NO_THRUST:
        return "attitudes without a thrust are not supported"
    rates = [message.body_roll_rate, message.body_pitch_rate, message.body_yaw_rate]
    if mask & NO_ATTITUDE:
        if mask & (NO_ROLL_PITCH_RATE | NO_TURN_RATE):
            return "neither an attitude nor three rates"
        return BodyRateCommand(here.stamp_ns, here.sequence, frd_to_flu(rates), message.thrust)
    if not _is_finite(message.q):
        return "its numbers are not finite"
    try:
        attitude = normalize(attitude_ned_to_enu(message.q))
    except FrameError as error:
        return str(error)
    yaw_rate_rps = 0.0 if mask & NO_TURN_RATE else -message.body_yaw_rate
    return AttitudeCommand(here.stamp_ns, here.sequence, attitude, message.thrust, yaw_rate_rps)


def yaw_enu_rad(yaw_ned_rad: float) -> float:
    """From north and clockwise to east and anticlockwise, in -pi to pi."""
    yaw_rad = 0.5 * math.pi - yaw_ned_rad
    return math.atan2(math.sin(yaw_rad), math.cos(yaw_rad))


def _is_finite(numbers: list[float]) -> bool:
    return all(math.isfinite(number) for number in numbers)


def _has(mask: int, ignored: int) -> bool | None:
    """Whether all of a group's axes are meant, or none; None for some of them."""
    if mask & ignored == ignored:
        return False
    return None if mask & ignored else True


def _velocity(ned_or_frd: list[float], yaw_rad: float, *, is_body: bool) -> FloatArray:
    """The body's frame here is a level one: PX4 turns by the heading alone."""
    if not is_body:
        return ned_to_enu(ned_or_frd)
    return rotate(from_yaw(yaw_rad), frd_to_flu(ned_or_frd))
