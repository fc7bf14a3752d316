"""What goes over the wire to ArduPilot's Gazebo plugin, and what comes back.

A servo packet is little-endian: magic, frame rate, frame count, and a pulse width per channel. The
answer is a JSON object between line ends, with position and velocity in NED and the body in FRD.
"""

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ghost.core.errors import GhostError, shown

Triple = tuple[float, float, float]

MAGIC = {16: 18458, 32: 29569}
"""By the number of channels."""
FRAME_COUNTS = 1 << 16
"""The packet has room for 32 bits of a frame's count, and the plugin compares 16 of them."""
NO_OUTPUT_US = 0
"""A channel with this width has no servo, and the plugin leaves the joint alone."""

_LAYOUT = {channels: struct.Struct(f"<HHI{channels}H") for channels in MAGIC}
_UNIT_TOLERANCE = 1e-3


class GazeboError(GhostError):
    """Gazebo answered, and the answer makes no sense or no flight."""


@dataclass(frozen=True, slots=True)
class State:
    """One answer. has_lockstep is None where the plugin doesn't say."""

    time_ns: int
    rate_frd_rps: Triple
    specific_force_frd_mps2: Triple
    position_ned_m: Triple
    velocity_ned_mps: Triple
    attitude_ned: tuple[float, float, float, float]
    has_lockstep: bool | None


def encode_servos(
    channels: int, frame_rate_hz: int, frame_count: int, pulses_us: Sequence[int]
) -> bytes:
    """Channels beyond the pulses have no output."""
    unused = (NO_OUTPUT_US,) * (channels - len(pulses_us))
    layout = _LAYOUT[channels]
    return layout.pack(MAGIC[channels], frame_rate_hz, frame_count, *pulses_us, *unused)


def decode_state(datagram: bytes) -> State:
    """Keys that nobody asked for are passed over: plugins differ in the sensors that they add."""
    try:
        plain = json.loads(datagram)
    except (ValueError, RecursionError) as error:
        raise GazeboError(f"{shown(datagram)} is no JSON ({error})") from None
    timestamp_s = _number(plain, "timestamp")
    gyro = _numbers(plain, "imu", "gyro")
    accel = _numbers(plain, "imu", "accel_body")
    position = _numbers(plain, "position")
    velocity = _numbers(plain, "velocity")
    attitude = _numbers(plain, "quaternion", count=4)
    w, x, y, z = attitude
    if abs(w * w + x * x + y * y + z * z - 1.0) > _UNIT_TOLERANCE:
        raise GazeboError(f"quaternion is {shown(attitude)}; expected one of length 1")
    has_no_lockstep = plain.get("no_lockstep")
    return State(
        round(timestamp_s * 1e9),
        gyro,
        accel,
        position,
        velocity,
        attitude,
        None if has_no_lockstep is None else not has_no_lockstep,
    )


def _number(plain: Any, key: str) -> float:
    value = _found(plain, key)
    if not (type(value) in {int, float} and abs(value) < math.inf):
        raise GazeboError(f"{key} is {shown(value)}; expected a finite number")
    return float(value)


def _numbers(plain: Any, *path: str, count: int = 3) -> Any:
    value = plain
    for key in path:
        value = _found(value, key)
    if type(value) is not list or len(value) != count:
        raise GazeboError(f"{'.'.join(path)} is {shown(value)}; expected {count} numbers")
    for part in value:
        if not (type(part) in {int, float} and abs(part) < math.inf):
            raise GazeboError(f"{'.'.join(path)} is {shown(value)}; expected finite numbers")
    return tuple(value)


def _found(plain: Any, key: str) -> Any:
    if type(plain) is not dict or key not in plain:
        raise GazeboError(f"{shown(plain)} has no {key}")
    return plain[key]
