"""What sensors say. SI units, body frame FLU, world frame ENU, quaternions w first.

stamp_ns is run time at the moment of measurement, sequence counts up per sensor, health is the
sensor's own verdict: a broken sensor says so here and never raises.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

from ghost.hal.message import (
    NO_EXTENSIONS,
    DepthPixels,
    Facets,
    Matrix3,
    Points,
    Quaternion,
    Ranges,
    RgbPixels,
    Solids,
    Vector,
    Vector3,
    message,
)


class Health(IntEnum):
    OK = 1
    DEGRADED = 2
    OFFLINE = 3


class GpsFix(IntEnum):
    NONE = 1
    TWO_D = 2
    THREE_D = 3
    DIFFERENTIAL = 4
    RTK_FLOAT = 5
    RTK_FIXED = 6


class Sample(Protocol):
    """What every sensor message has."""

    @property
    def stamp_ns(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def health(self) -> Health: ...


@message
class ImuSample:
    """accel is the specific force: at rest and level it reads +9.81 on z."""

    stamp_ns: int
    sequence: int
    accel_flu_mps2: Vector3
    gyro_flu_rps: Vector3
    temperature_c: float = 25.0
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class GpsSample:
    """Altitude is above the WGS84 ellipsoid."""

    stamp_ns: int
    sequence: int
    latitude_deg: float
    longitude_deg: float
    altitude_m: float
    velocity_enu_mps: Vector3
    position_covariance_enu_m2: Matrix3
    velocity_std_mps: float
    satellites: int
    fix: GpsFix = GpsFix.THREE_D
    frame_id: str = "gps"
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class MagnetometerSample:
    stamp_ns: int
    sequence: int
    field_flu_t: Vector3
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class BarometerSample:
    stamp_ns: int
    sequence: int
    pressure_pa: float
    temperature_c: float
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class RangefinderSample:
    """One beam along the sensor's x axis; infinite where nothing was hit."""

    stamp_ns: int
    sequence: int
    range_m: float
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class DepthImage:
    """Distance along the optical axis, row 0 on top; infinite where nothing is in range, NaN where
    nothing can be said.
    """

    stamp_ns: int
    sequence: int
    depth_m: DepthPixels
    frame_id: str = "depth_camera"
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class RgbImage:
    stamp_ns: int
    sequence: int
    pixels: RgbPixels
    frame_id: str = "rgb_camera"
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class LaserScan:
    """One turn of a 2-D lidar: ranges evenly spread from start to end angle, both included;
    infinite where nothing is in range, NaN where nothing can be said.
    """

    stamp_ns: int
    sequence: int
    start_angle_rad: float
    end_angle_rad: float
    ranges_m: Ranges
    frame_id: str = "lidar"
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class PointCloud:
    """What a 3-D lidar hit, in the sensor's axes; a beam that hit nothing leaves no point, and one
    that can't tell leaves a point of NaN.
    """

    stamp_ns: int
    sequence: int
    points_m: Points
    frame_id: str = "lidar"
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class BatterySample:
    stamp_ns: int
    sequence: int
    voltage_v: float
    current_a: float
    remaining: float
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class RotorSpeedSample:
    """For vehicles whose speed controllers report; one value per rotor, in mixer order."""

    stamp_ns: int
    sequence: int
    speed_rps: Vector
    health: Health = Health.OK
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class ContactSample:
    """The vehicle touched something where it should not, or harder than its legs take."""

    stamp_ns: int
    sequence: int
    other: str
    position_enu_m: Vector3
    speed_mps: float
    health: Health = Health.OK


@message
class Pose:
    """Where child_frame stands in frame. Also a transform in the log."""

    stamp_ns: int
    position_m: Vector3
    attitude: Quaternion
    frame_id: str = "world"
    child_frame_id: str = "body"


@message
class GroundTruth:
    """What a simulator knows and nothing that flies may use."""

    stamp_ns: int
    position_enu_m: Vector3
    velocity_enu_mps: Vector3
    attitude: Quaternion
    rate_flu_rps: Vector3
    acceleration_enu_mps2: Vector3
    wind_enu_mps: Vector3
    rotor_speed_rps: Vector
    extensions: Mapping[str, Any] = NO_EXTENSIONS


@message
class Transform:
    """A fixed or slow transform, such as a sensor's mount."""

    stamp_ns: int
    parent_frame_id: str
    child_frame_id: str
    translation_m: Vector3
    rotation: Quaternion


@message
class CameraCalibration:
    """The lens of a camera, for whoever draws its images in the world."""

    stamp_ns: int
    frame_id: str
    width_px: int
    height_px: int
    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float


@message
class Scene:
    """The solid things of a simulated world, a row each, for whoever draws it and for nothing that
    flies. Boxes and cylinders are centre, attitude, size along their own axes (a cylinder stands
    along its z) and colour as red, green, blue from 0 to 1; a triangle is three corners and colour.
    """

    stamp_ns: int
    boxes: Solids
    cylinders: Solids
    triangles: Facets
    frame_id: str = "world"
