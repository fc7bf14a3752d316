"""What a vehicle can be told, and what it answers.

A command can be built from anything: NaN, infinities, wrong shapes. The gate refuses it with a
reason; the constructor never does, or "the sink rejects NaN" could not be tested.
"""

from enum import IntEnum
from typing import TypeAlias

from ghost.hal.message import Quaternion, Vector, Vector3, command, message


class CommandLevel(IntEnum):
    """From the closest to the metal to the most autonomous."""

    DIRECT_MOTOR = 1
    BODY_RATE = 2
    ATTITUDE = 3
    VELOCITY = 4
    POSITION = 5
    TRAJECTORY = 6


@command
class MotorCommand:
    """One value per rotor, 0 (idle) to 1 (full), in mixer order."""

    stamp_ns: int
    sequence: int
    motors: Vector


@command
class BodyRateCommand:
    """thrust is collective, 0 to 1."""

    stamp_ns: int
    sequence: int
    rate_flu_rps: Vector3
    thrust: float


@command
class AttitudeCommand:
    stamp_ns: int
    sequence: int
    attitude: Quaternion
    thrust: float
    yaw_rate_rps: float = 0.0


@command
class VelocityCommand:
    """yaw is counted from east, anticlockwise, as everywhere in ENU."""

    stamp_ns: int
    sequence: int
    velocity_enu_mps: Vector3
    yaw_rad: float
    yaw_rate_rps: float = 0.0


@command
class PositionCommand:
    stamp_ns: int
    sequence: int
    position_enu_m: Vector3
    yaw_rad: float


@command
class TrajectoryCommand:
    """A point on a trajectory, with what the controller may feed forward."""

    stamp_ns: int
    sequence: int
    position_enu_m: Vector3
    velocity_enu_mps: Vector3
    acceleration_enu_mps2: Vector3
    yaw_rad: float
    yaw_rate_rps: float = 0.0


Command: TypeAlias = (
    MotorCommand
    | BodyRateCommand
    | AttitudeCommand
    | VelocityCommand
    | PositionCommand
    | TrajectoryCommand
)

LEVELS: dict[type, CommandLevel] = {
    MotorCommand: CommandLevel.DIRECT_MOTOR,
    BodyRateCommand: CommandLevel.BODY_RATE,
    AttitudeCommand: CommandLevel.ATTITUDE,
    VelocityCommand: CommandLevel.VELOCITY,
    PositionCommand: CommandLevel.POSITION,
    TrajectoryCommand: CommandLevel.TRAJECTORY,
}


class AckStatus(IntEnum):
    ACCEPTED = 1
    SATURATED = 2
    REJECTED = 3


class RejectReason(IntEnum):
    """In the order in which the gate checks."""

    NONE = 1
    MALFORMED = 2
    NOT_FINITE = 3
    OUT_OF_RANGE = 4
    STALE = 5
    OUT_OF_ORDER = 6
    UNSUPPORTED_LEVEL = 7
    NOT_ARMED = 8
    KILLED = 9
    GEOFENCE = 10
    ALTITUDE = 11
    SINK_FAILED = 12
    WRONG_MODE = 13


@message
class CommandAck:
    """The truth about one command: applied is what really went on, None when refused."""

    stamp_ns: int
    command_stamp_ns: int
    command_sequence: int
    status: AckStatus
    reason: RejectReason
    detail: str
    applied: Command | None

    @property
    def accepted(self) -> bool:
        return self.status is not AckStatus.REJECTED
