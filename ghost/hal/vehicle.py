"""What a flight controller says of itself: its estimate, its mode, what its loops are doing.

These cross the HAL as sensor samples do, whoever flies: the embedded autopilot, or PX4 behind
MAVLink.
"""

from enum import IntEnum

from ghost.hal.message import Matrix3, Quaternion, Vector, Vector3, message
from ghost.hal.samples import Health


class EstimateHealth(IntEnum):
    """GOOD: fly anything. DEGRADED: position is drifting, land soon. LOST: attitude at best."""

    GOOD = 1
    DEGRADED = 2
    LOST = 3


class FlightMode(IntEnum):
    """MANUAL takes motors, rates and attitudes, and needs no position; with a pilot it is whatever
    the pilot flies. OFFBOARD takes any level. OTHER has no name here.
    """

    MANUAL = 1
    HOLD = 2
    TAKEOFF = 3
    LAND = 4
    RETURN = 5
    OFFBOARD = 6
    OTHER = 7


class Failsafe(IntEnum):
    """Why the flight controller acts on its own; the later one is the graver."""

    NONE = 1
    COMMAND_LOSS = 2
    GEOFENCE = 3
    LOW_BATTERY = 4
    ESTIMATE_DEGRADED = 5
    CRITICAL_BATTERY = 6
    ESTIMATE_LOST = 7
    OTHER = 8


@message
class VehicleState:
    """Where the vehicle believes it is, and how sure it is of that.

    Covariances are of position and velocity in ENU, and of a small rotation in the body frame.
    """

    stamp_ns: int
    sequence: int
    position_enu_m: Vector3
    velocity_enu_mps: Vector3
    attitude: Quaternion
    rate_flu_rps: Vector3
    acceleration_enu_mps2: Vector3
    gyro_bias_flu_rps: Vector3
    accel_bias_flu_mps2: Vector3
    position_covariance_m2: Matrix3
    velocity_covariance_m2ps2: Matrix3
    attitude_covariance_rad2: Matrix3
    verdict: EstimateHealth

    @property
    def health(self) -> Health:
        return Health(self.verdict)


@message
class VehicleStatus:
    """blocked says why arming would be refused; empty when it wouldn't."""

    stamp_ns: int
    sequence: int
    mode: FlightMode
    armed: bool
    killed: bool
    on_ground: bool
    failsafe: Failsafe
    blocked: str
    home_enu_m: Vector3
    health: Health = Health.OK


@message
class ControlState:
    """What the loops are told and what they do; NaN where a loop is not running."""

    stamp_ns: int
    sequence: int
    position_enu_m: Vector3
    velocity_enu_mps: Vector3
    attitude: Quaternion
    rate_flu_rps: Vector3
    thrust: float
    motors: Vector
    health: Health = Health.OK


class Action(IntEnum):
    """What a flight controller can be asked to do, beside following set-points."""

    ARM = 1
    DISARM = 2
    KILL = 3
    MANUAL = 4
    HOLD = 5
    TAKEOFF = 6
    LAND = 7
    RETURN = 8
    OFFBOARD = 9


@message
class ActionRequest:
    """altitude_m is above home, and means something for TAKEOFF alone."""

    stamp_ns: int
    sequence: int
    action: Action
    altitude_m: float = 0.0


@message
class ActionAck:
    """Whether the flight controller does it; detail says why not."""

    stamp_ns: int
    sequence: int
    action: Action
    accepted: bool
    detail: str
