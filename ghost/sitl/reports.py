"""What the vehicle is, as MAVLink messages: NED, FRD, and the units of each message."""

import math

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.messages import Message, dialect
from ghost.core.earth import altitude_m
from ghost.core.frames import (
    LocalFrame,
    attitude_enu_to_ned,
    enu_to_ned,
    flu_to_frd,
)
from ghost.core.rotations import rotate_inverse, to_euler_zyx, to_matrix
from ghost.hal import (
    BarometerSample,
    BatterySample,
    EstimateHealth,
    GpsSample,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    VehicleState,
)

FloatArray = NDArray[np.float64]
NAN = float("nan")
RANGE_LIMIT_M = 100.0
_FLIP_YZ = np.diag([1.0, -1.0, -1.0])
_ENU_TO_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
_UNKNOWN_16 = 0xFFFF
_LOWEST_FLIGHT = EstimateHealth.DEGRADED


def attitude(state: VehicleState) -> Message:
    roll, pitch, yaw = to_euler_zyx(attitude_enu_to_ned(state.attitude))
    rates = flu_to_frd(state.rate_flu_rps).tolist()
    return dialect.MAVLink_attitude_message(_ms(state.stamp_ns), roll, pitch, yaw, *rates)


def attitude_quaternion(state: VehicleState) -> Message:
    quaternion = _upright(attitude_enu_to_ned(state.attitude))
    rates = flu_to_frd(state.rate_flu_rps).tolist()
    return dialect.MAVLink_attitude_quaternion_message(
        _ms(state.stamp_ns), *quaternion.tolist(), *rates
    )


def local_position(state: VehicleState) -> Message:
    place, velocity = enu_to_ned(state.position_enu_m), enu_to_ned(state.velocity_enu_mps)
    return dialect.MAVLink_local_position_ned_message(
        _ms(state.stamp_ns), *place.tolist(), *velocity.tolist()
    )


def global_position(state: VehicleState, frame: LocalFrame, home_enu_m: FloatArray) -> Message:
    place = frame.to_geodetic(state.position_enu_m)
    north, east, down = enu_to_ned(state.velocity_enu_mps).tolist()
    return dialect.MAVLink_global_position_int_message(
        _ms(state.stamp_ns),
        round(place.latitude_deg * 1e7),
        round(place.longitude_deg * 1e7),
        round(place.altitude_m * 1e3),
        round(float(state.position_enu_m[2] - home_enu_m[2]) * 1e3),
        _short(north * 100.0),
        _short(east * 100.0),
        _short(down * 100.0),
        round(heading_deg(state) * 100.0) % 36_000,
    )


def odometry(state: VehicleState) -> Message:
    """Velocities are in the body, as MAVLink has them. Of the rates' errors nothing is known."""
    turn = to_matrix(state.attitude)
    to_ned = _ENU_TO_NED
    position_covariance = to_ned @ state.position_covariance_m2 @ to_ned.T
    attitude_covariance = _FLIP_YZ @ state.attitude_covariance_rad2 @ _FLIP_YZ
    to_body = _FLIP_YZ @ turn.T
    velocity_covariance = to_body @ state.velocity_covariance_m2ps2 @ to_body.T
    velocity = flu_to_frd(rotate_inverse(state.attitude, state.velocity_enu_mps))
    return dialect.MAVLink_odometry_message(
        state.stamp_ns // 1000,
        dialect.MAV_FRAME_LOCAL_NED,
        dialect.MAV_FRAME_BODY_FRD,
        *enu_to_ned(state.position_enu_m).tolist(),
        _upright(attitude_enu_to_ned(state.attitude)).tolist(),
        *velocity.tolist(),
        *flu_to_frd(state.rate_flu_rps).tolist(),
        _triangle(position_covariance, attitude_covariance),
        _triangle(velocity_covariance, np.full((3, 3), NAN)),
        0,
        dialect.MAV_ESTIMATOR_TYPE_AUTOPILOT,
        {EstimateHealth.GOOD: 100, EstimateHealth.DEGRADED: 50}.get(state.verdict, -1),
    )


def highres_imu(
    imu: ImuSample, field: MagnetometerSample | None, air: BarometerSample | None
) -> Message:
    accel = flu_to_frd(imu.accel_flu_mps2).tolist()
    gyro = flu_to_frd(imu.gyro_flu_rps).tolist()
    updated = 0b111_111
    gauss, air_values = [0.0] * 3, [0.0, 0.0, 0.0]
    if field is not None:
        gauss = (flu_to_frd(field.field_flu_t) * 1e4).tolist()
        updated |= 0b111_000_000
    if air is not None:
        air_values = [air.pressure_pa / 100.0, 0.0, altitude_m(air.pressure_pa)]
        updated |= 1 << 9 | 1 << 11
    return dialect.MAVLink_highres_imu_message(
        imu.stamp_ns // 1000,
        *accel,
        *gyro,
        *gauss,
        *air_values,
        imu.temperature_c,
        updated | 1 << 12,
    )


def gps_raw(gps: GpsSample) -> Message:
    """Dilutions of precision are not known; the accuracies say what is. The sea's level is taken
    for the ellipsoid's, here and everywhere else.
    """
    east, north, _ = gps.velocity_enu_mps.tolist()
    variances = np.diag(gps.position_covariance_enu_m2).tolist()
    height_mm = round(gps.altitude_m * 1e3)
    return dialect.MAVLink_gps_raw_int_message(
        gps.stamp_ns // 1000,
        int(gps.fix),
        round(gps.latitude_deg * 1e7),
        round(gps.longitude_deg * 1e7),
        height_mm,
        _UNKNOWN_16,
        _UNKNOWN_16,
        round(math.hypot(east, north) * 100.0),
        round(math.degrees(math.atan2(east, north)) * 100.0) % 36_000,
        gps.satellites,
        height_mm,
        round(math.sqrt(max(variances[0], variances[1])) * 1e3),
        round(math.sqrt(variances[2]) * 1e3),
        round(gps.velocity_std_mps * 1e3),
    )


def altitude(state: VehicleState, frame: LocalFrame, home_enu_m: FloatArray) -> Message:
    up_m = float(state.position_enu_m[2])
    sea_m = frame.to_geodetic(state.position_enu_m).altitude_m
    return dialect.MAVLink_altitude_message(
        state.stamp_ns // 1000, sea_m, sea_m, up_m, up_m - float(home_enu_m[2]), NAN, NAN
    )


def vfr_hud(state: VehicleState, frame: LocalFrame, motors: FloatArray) -> Message:
    east, north, up = state.velocity_enu_mps.tolist()
    speed = math.hypot(east, north)
    return dialect.MAVLink_vfr_hud_message(
        speed,
        speed,
        round(heading_deg(state)) % 360,
        round(float(motors.mean()) * 100.0),
        frame.to_geodetic(state.position_enu_m).altitude_m,
        up,
    )


def battery_status(battery: BatterySample, *, low: float, critical: float) -> Message:
    """The whole pack is told as one cell, as PX4 does where it doesn't know their number."""
    charge_state = dialect.MAV_BATTERY_CHARGE_STATE_OK
    if battery.remaining < critical:
        charge_state = dialect.MAV_BATTERY_CHARGE_STATE_CRITICAL
    elif battery.remaining < low:
        charge_state = dialect.MAV_BATTERY_CHARGE_STATE_LOW
    return dialect.MAVLink_battery_status_message(
        0,
        dialect.MAV_BATTERY_FUNCTION_ALL,
        dialect.MAV_BATTERY_TYPE_LIPO,
        0x7FFF,
        [round(battery.voltage_v * 1e3), *[_UNKNOWN_16] * 9],
        _short(battery.current_a * 100.0),
        -1,
        -1,
        round(battery.remaining * 100.0),
        charge_state=charge_state,
    )


def estimator_status(state: VehicleState) -> Message:
    flags = dialect.ESTIMATOR_ATTITUDE
    if state.verdict <= _LOWEST_FLIGHT:
        flags |= (
            dialect.ESTIMATOR_VELOCITY_HORIZ
            | dialect.ESTIMATOR_VELOCITY_VERT
            | dialect.ESTIMATOR_POS_HORIZ_REL
            | dialect.ESTIMATOR_POS_VERT_ABS
        )
    if state.verdict is EstimateHealth.GOOD:
        flags |= dialect.ESTIMATOR_POS_HORIZ_ABS
    east, north, up = np.diag(state.position_covariance_m2).tolist()
    return dialect.MAVLink_estimator_status_message(
        state.stamp_ns // 1000,
        flags,
        *[0.0] * 6,
        math.sqrt(east + north),
        math.sqrt(up),
    )


def servo_output(now_ns: int, motors: FloatArray) -> Message:
    """As pulses of 1000 to 2000 us; 0 where there is no motor."""
    pulses = [round(1000.0 + 1000.0 * motor) for motor in motors.tolist()]
    padded = (pulses + [0] * 16)[:16]
    return dialect.MAVLink_servo_output_raw_message(now_ns // 1000 & 0xFFFFFFFF, 0, *padded)


def distance(beam: RangefinderSample) -> Message:
    """Straight down; where nothing is hit it says its longest."""
    is_far = not beam.range_m < RANGE_LIMIT_M
    return dialect.MAVLink_distance_sensor_message(
        _ms(beam.stamp_ns),
        0,
        round(RANGE_LIMIT_M * 100.0),
        round(RANGE_LIMIT_M * 100.0) if is_far else round(beam.range_m * 100.0),
        dialect.MAV_DISTANCE_SENSOR_LASER,
        0,
        dialect.MAV_SENSOR_ROTATION_PITCH_270,
        255,
    )


def home_position(now_ns: int, frame: LocalFrame, home_enu_m: FloatArray) -> Message:
    place = frame.to_geodetic(home_enu_m)
    return dialect.MAVLink_home_position_message(
        round(place.latitude_deg * 1e7),
        round(place.longitude_deg * 1e7),
        round(place.altitude_m * 1e3),
        *enu_to_ned(home_enu_m).tolist(),
        [1.0, 0.0, 0.0, 0.0],
        NAN,
        NAN,
        NAN,
        now_ns // 1000,
    )


def heading_deg(state: VehicleState) -> float:
    """From north, clockwise, 0 to 360."""
    _, _, yaw = to_euler_zyx(attitude_enu_to_ned(state.attitude))
    return math.degrees(yaw) % 360.0


def _triangle(upper_left: FloatArray, lower_right: FloatArray) -> list[float]:
    """The upper triangle of a 6 by 6 covariance, row by row; nothing is known between its halves,
    and 0 stands there.
    """
    whole = np.zeros((6, 6))
    whole[:3, :3], whole[3:, 3:] = upper_left, lower_right
    values: list[float] = whole[np.triu_indices(6)].tolist()
    return values


def _upright(quaternion: FloatArray) -> FloatArray:
    """Of the two quaternions of an attitude, the one with w above 0."""
    return -quaternion if quaternion[0] < 0.0 else quaternion


def _short(value: float) -> int:
    return min(max(round(value), -32_768), 32_767)


def _ms(stamp_ns: int) -> int:
    return stamp_ns // 1_000_000 & 0xFFFFFFFF
