"""A vehicle's sensors and its truth as PX4's simulator interface wants them: NED, FRD, gauss, hPa.

A group of HIL_SENSOR counts for PX4 when all of its bits are set, and is left alone otherwise.
"""

import math

from firmware_bridge.messages import Message, dialect
from ghost.core.earth import altitude_m
from ghost.core.exact import arctangent2
from ghost.core.frames import LocalFrame, attitude_enu_to_ned
from ghost.hal import (
    BarometerSample,
    GpsSample,
    GroundTruth,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    Ranging,
)

IMU_FIELDS = 0x3F
MAGNETOMETER_FIELDS = 0x1C0
BAROMETER_FIELDS = 0x1A00

_GAUSS_PER_T = 1e4
_PA_PER_HPA = 100.0
_MILLI_G_PER_MPS2 = 1000.0 / 9.80665
_UNKNOWN_HEADING = 65535
_PRIMARY = 0
_INT16_MAX, _UINT16_MAX = 32_767, 65_535


def hil_sensor(
    now_us: int,
    imu: ImuSample | None,
    magnetometer: MagnetometerSample | None,
    barometer: BarometerSample | None,
) -> tuple[float, ...]:
    """The fields of HIL_SENSOR in the order of the wire. PX4's clock is what it carries, so it may
    come without any reading at all.
    """
    fields = 0
    ax = ay = az = p = q = r = mx = my = mz = 0.0
    pressure_hpa = height_m = temperature_c = 0.0
    if imu is not None:
        fields |= IMU_FIELDS
        ax, ay, az = imu.accel_flu_mps2.tolist()
        p, q, r = imu.gyro_flu_rps.tolist()
    if magnetometer is not None:
        fields |= MAGNETOMETER_FIELDS
        mx, my, mz = magnetometer.field_flu_t.tolist()
    if barometer is not None:
        fields |= BAROMETER_FIELDS
        pressure_hpa = barometer.pressure_pa / _PA_PER_HPA
        height_m = altitude_m(barometer.pressure_pa)
        temperature_c = barometer.temperature_c
    return (
        now_us,
        ax,
        -ay,
        -az,
        p,
        -q,
        -r,
        mx * _GAUSS_PER_T,
        -my * _GAUSS_PER_T,
        -mz * _GAUSS_PER_T,
        pressure_hpa,
        0.0,
        height_m,
        temperature_c,
        fields,
        _PRIMARY,
    )


def hil_gps(now_us: int, sample: GpsSample) -> Message:
    """PX4 takes it for measured its SENS_GPS0_DELAY before it came."""
    east, north, up = sample.velocity_enu_mps.tolist()
    speed = math.sqrt(east * east + north * north)
    course_deg = math.degrees(arctangent2(east, north)) % 360.0 if speed > 0.0 else None
    covariance = sample.position_covariance_enu_m2
    across_m = math.sqrt(max(covariance[0, 0].item(), covariance[1, 1].item()))
    return dialect.MAVLink_hil_gps_message(
        now_us,
        sample.fix,
        round(sample.latitude_deg * 1e7),
        round(sample.longitude_deg * 1e7),
        round(sample.altitude_m * 1e3),
        _unsigned(across_m * 100.0),
        _unsigned(math.sqrt(covariance[2, 2].item()) * 100.0),
        _unsigned(speed * 100.0),
        _signed(north * 100.0),
        _signed(east * 100.0),
        _signed(-up * 100.0),
        _UNKNOWN_HEADING if course_deg is None else round(course_deg * 100.0) % 36_000,
        sample.satellites,
    )


def distance_sensor(now_us: int, sample: RangefinderSample, ranging: Ranging) -> Message:
    """A beam downwards. What is farther than it sees is told as a centimetre beyond that."""
    most_cm = _unsigned(ranging.max_m * 100.0)
    seen_cm = most_cm + 1 if sample.range_m > ranging.max_m else _unsigned(sample.range_m * 100.0)
    return dialect.MAVLink_distance_sensor_message(
        now_us // 1000 % (1 << 32),
        _unsigned(ranging.min_m * 100.0),
        most_cm,
        seen_cm,
        dialect.MAV_DISTANCE_SENSOR_LASER,
        _PRIMARY,
        dialect.MAV_SENSOR_ROTATION_PITCH_270,
        min(_unsigned(ranging.noise_m * ranging.noise_m * 1e4), 254),
    )


def hil_state(now_us: int, truth: GroundTruth, place: LocalFrame) -> Message:
    """For PX4's log. Velocity and acceleration are along north, east and down."""
    where = place.to_geodetic(truth.position_enu_m)
    p, q, r = truth.rate_flu_rps.tolist()
    velocity = truth.velocity_enu_mps.tolist()
    east, north, up = velocity
    wind = truth.wind_enu_mps.tolist()
    drift = [own - air for own, air in zip(velocity, wind, strict=True)]
    airspeed = math.sqrt(drift[0] * drift[0] + drift[1] * drift[1] + drift[2] * drift[2])
    a_east, a_north, a_up = truth.acceleration_enu_mps2.tolist()
    return dialect.MAVLink_hil_state_quaternion_message(
        now_us,
        attitude_enu_to_ned(truth.attitude).tolist(),
        p,
        -q,
        -r,
        round(where.latitude_deg * 1e7),
        round(where.longitude_deg * 1e7),
        round(where.altitude_m * 1e3),
        _signed(north * 100.0),
        _signed(east * 100.0),
        _signed(-up * 100.0),
        _unsigned(airspeed * 100.0),
        _unsigned(airspeed * 100.0),
        _signed(a_north * _MILLI_G_PER_MPS2),
        _signed(a_east * _MILLI_G_PER_MPS2),
        _signed(-a_up * _MILLI_G_PER_MPS2),
    )


def _signed(value: float) -> int:
    return round(min(max(value, -_INT16_MAX), _INT16_MAX))


def _unsigned(value: float) -> int:
    return round(min(max(value, 0.0), _UINT16_MAX))
