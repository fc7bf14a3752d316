"""From PX4's messages to samples of the HAL: NED and FRD in, ENU and FLU out. Plain functions.

What ghost.core.frames does for any array is done here for three and four floats, in a sixth of the
time: a set-point waits for it.
"""

import math
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core.rotations import rotate, to_matrix
from ghost.hal import (
    BarometerSample,
    BatterySample,
    EstimateHealth,
    GpsFix,
    GpsSample,
    Health,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    VehicleState,
)

FloatArray = NDArray[np.float64]
Triangle = tuple[float, ...]
"""xx, xy, xz, yy, yz and zz of a covariance."""

GAUSS_T = 1e-4
_HIGHRES_ACCEL, _HIGHRES_GYRO, _HIGHRES_MAG, _HIGHRES_PRESSURE = 0x7, 0x38, 0x1C0, 0x200
_FIXES = {
    2: GpsFix.TWO_D,
    3: GpsFix.THREE_D,
    4: GpsFix.DIFFERENTIAL,
    5: GpsFix.RTK_FLOAT,
    6: GpsFix.RTK_FIXED,
    7: GpsFix.THREE_D,  # a base station's
    8: GpsFix.DIFFERENTIAL,  # PPP
}
_LOCAL_NED, _BODY_FRD = 1, 12
_INVALID_SIGNAL = 1
_UNKNOWN = np.full(3, np.nan)
_LINEAR, _ANGULAR = itemgetter(0, 1, 2, 6, 7, 11), itemgetter(15, 16, 17, 18, 19, 20)
"""A Triangle out of that of a 6 x 6 matrix."""
UNKNOWN_VARIANCE = 1e6
DEGRADED_STD_M, LOST_STD_M = 3.0, 30.0
_GOOD_QUALITY = 51
"""In percent, where the flight controller tells one; 0 is for none, and PX4 says no more."""


def has_imu(message: Any) -> bool:
    wanted = _HIGHRES_ACCEL | _HIGHRES_GYRO
    return bool(message.fields_updated & wanted == wanted)


def has_magnetometer(message: Any) -> bool:
    return bool(message.fields_updated & _HIGHRES_MAG == _HIGHRES_MAG)


def has_barometer(message: Any) -> bool:
    return bool(message.fields_updated & _HIGHRES_PRESSURE)


def imu(message: Any, stamp_ns: int, sequence: int) -> ImuSample:
    """From HIGHRES_IMU."""
    return ImuSample(
        stamp_ns,
        sequence,
        _flu(message.xacc, message.yacc, message.zacc),
        _flu(message.xgyro, message.ygyro, message.zgyro),
        message.temperature,
    )


def magnetometer(message: Any, stamp_ns: int, sequence: int) -> MagnetometerSample:
    """From HIGHRES_IMU, which counts in gauss."""
    field = _flu(message.xmag, message.ymag, message.zmag)
    return MagnetometerSample(stamp_ns, sequence, field * GAUSS_T)


def barometer(message: Any, stamp_ns: int, sequence: int) -> BarometerSample:
    """From HIGHRES_IMU, which counts in hectopascal."""
    return BarometerSample(stamp_ns, sequence, message.abs_pressure * 100.0, message.temperature)


def gps(message: Any, stamp_ns: int, sequence: int) -> GpsSample:
    """From GPS_RAW_INT. Accuracies are extensions that may be absent, and are then unknown."""
    fix = _FIXES.get(message.fix_type, GpsFix.NONE)
    horizontal_m = message.h_acc / 1e3 if message.h_acc else math.sqrt(UNKNOWN_VARIANCE)
    vertical_m = message.v_acc / 1e3 if message.v_acc else math.sqrt(UNKNOWN_VARIANCE)
    altitude_m = (message.alt_ellipsoid or message.alt) / 1e3
    speed_mps = 0.0 if message.vel == 65535 else message.vel / 100.0
    course_rad = 0.0 if message.cog == 65535 else math.radians(message.cog / 100.0)
    north_mps, east_mps = speed_mps * math.cos(course_rad), speed_mps * math.sin(course_rad)
    return GpsSample(
        stamp_ns,
        sequence,
        message.lat / 1e7,
        message.lon / 1e7,
        altitude_m,
        np.array([east_mps, north_mps, 0.0]),
        np.diag(np.square([horizontal_m, horizontal_m, vertical_m])),
        message.vel_acc / 1e3 if message.vel_acc else math.sqrt(UNKNOWN_VARIANCE),
        0 if message.satellites_visible == 255 else message.satellites_visible,
        fix,
        health=Health.OK if fix >= GpsFix.THREE_D else Health.DEGRADED,
    )


def battery(message: Any, stamp_ns: int, sequence: int) -> BatterySample:
    """From BATTERY_STATUS; what it doesn't know is NaN."""
    cells_mv = [cell for cell in message.voltages if cell != 65535]
    cells_mv += [cell for cell in message.voltages_ext if cell not in (0, 65535)]
    return BatterySample(
        stamp_ns,
        sequence,
        sum(cells_mv) / 1e3 if cells_mv else math.nan,
        message.current_battery / 100.0 if message.current_battery >= 0 else math.nan,
        message.battery_remaining / 100.0 if message.battery_remaining >= 0 else math.nan,
    )


def rangefinder(message: Any, stamp_ns: int, sequence: int) -> RangefinderSample:
    """From DISTANCE_SENSOR; beyond its reach is infinite, and so is what it doesn't trust."""
    is_trusted = message.signal_quality != _INVALID_SIGNAL
    is_far = message.current_distance >= message.max_distance
    is_near = message.current_distance < message.min_distance
    return RangefinderSample(
        stamp_ns,
        sequence,
        math.inf if is_far or not is_trusted else message.current_distance / 100.0,
        Health.OK if is_trusted and not is_near else Health.DEGRADED,
    )


def state(message: Any, stamp_ns: int, sequence: int) -> VehicleState:
    """From ODOMETRY: position in NED, rates in the body's FRD, and velocity in either: PX4 v1.18
    sends NED.
    """
    attitude = _attitude_enu(*message.q)
    linear = _known(_LINEAR(message.pose_covariance))
    angular = _known(_ANGULAR(message.pose_covariance))
    speeds = _known(_LINEAR(message.velocity_covariance))
    if message.child_frame_id == _BODY_FRD:
        turn = to_matrix(attitude)
        velocity_enu = rotate(attitude, _flu(message.vx, message.vy, message.vz))
        velocity_covariance = turn @ _covariance_flu(speeds) @ turn.T
    else:
        velocity_enu = _enu(message.vx, message.vy, message.vz)
        velocity_covariance = _covariance_enu(speeds)
    return VehicleState(
        stamp_ns,
        sequence,
        _enu(message.x, message.y, message.z),
        velocity_enu,
        attitude,
        _flu(message.rollspeed, message.pitchspeed, message.yawspeed),
        _UNKNOWN,
        _UNKNOWN,
        _UNKNOWN,
        _covariance_enu(linear),
        velocity_covariance,
        _covariance_flu(angular),
        _verdict(message, linear[0] + linear[3]),
    )


def _verdict(message: Any, variance_m2: float) -> EstimateHealth:
    """A frame that isn't aligned to north is as good as none."""
    where = (message.x, message.y, message.z, message.vx, message.vy, message.vz, *message.q)
    if message.frame_id != _LOCAL_NED or message.quality < 0 or not all(map(math.isfinite, where)):
        return EstimateHealth.LOST
    if not variance_m2 < LOST_STD_M * LOST_STD_M:  # so that NaN is lost
        return EstimateHealth.LOST
    is_doubted = 0 < message.quality < _GOOD_QUALITY
    degraded = is_doubted or variance_m2 >= DEGRADED_STD_M * DEGRADED_STD_M
    return EstimateHealth.DEGRADED if degraded else EstimateHealth.GOOD


def _known(covariance: Triangle) -> Triangle:
    """Variances without covariances are independent; covariances without variances mean nothing."""
    if all(map(math.isfinite, covariance)):
        return covariance
    xx, _, _, yy, _, zz = covariance
    if not all(map(math.isfinite, (xx, yy, zz))):
        return (math.nan,) * 6
    return tuple(one if math.isfinite(one) else 0.0 for one in covariance)


def _enu(north: float, east: float, down: float) -> FloatArray:
    return np.array((east, north, -down))


def _flu(forward: float, right: float, down: float) -> FloatArray:
    return np.array((forward, -right, -down))


def _attitude_enu(w: float, x: float, y: float, z: float) -> FloatArray:
    scale = math.sqrt(0.5)
    return np.array((scale * (w + z), scale * (x + y), scale * (x - y), scale * (w - z)))


def _covariance_enu(covariance_ned: Triangle) -> FloatArray:
    nn, ne, nd, ee, ed, dd = covariance_ned
    return np.array(((ee, ne, -ed), (ne, nn, -nd), (-ed, -nd, dd)))


def _covariance_flu(covariance_frd: Triangle) -> FloatArray:
    ff, fr, fd, rr, rd, dd = covariance_frd
    return np.array(((ff, -fr, -fd), (-fr, rr, rd), (-fd, rd, dd)))
