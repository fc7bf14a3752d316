"""Each message by hand: frames, signs and units."""

import math
from typing import Any

import numpy as np
import pytest

from firmware_bridge.messages import dialect
from ghost.core.frames import LocalFrame
from ghost.core.rotations import from_axis_angle, from_yaw, multiply
from ghost.hal import (
    BarometerSample,
    BatterySample,
    EstimateHealth,
    GpsFix,
    GpsSample,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    VehicleState,
)
from ghost.hal.scenario import ZURICH
from ghost.sitl import reports
from ghost.sitl.identity import vehicle_type

STAMP_NS = 1_234_567_890
FRAME = LocalFrame(ZURICH)
HOME = np.array([0.0, 0.0, 1.0])
NORTH = from_yaw(math.pi / 2.0)
EAST = from_yaw(0.0)


def state(**changed: Any) -> VehicleState:
    values: dict[str, Any] = {
        "stamp_ns": STAMP_NS,
        "sequence": 0,
        "position_enu_m": np.array([1.0, 2.0, 3.0]),
        "velocity_enu_mps": np.array([0.5, 1.5, -0.25]),
        "attitude": NORTH,
        "rate_flu_rps": np.array([0.1, 0.2, 0.3]),
        "acceleration_enu_mps2": np.zeros(3),
        "gyro_bias_flu_rps": np.zeros(3),
        "accel_bias_flu_mps2": np.zeros(3),
        "position_covariance_m2": np.array([[1.0, 0.5, 0.0], [0.5, 4.0, 0.0], [0.0, 0.0, 9.0]]),
        "velocity_covariance_m2ps2": np.diag([0.1, 0.2, 0.3]),
        "attitude_covariance_rad2": np.array(
            [[0.01, 0.002, 0.0], [0.002, 0.02, 0.0], [0.0, 0.0, 0.03]]
        ),
        "verdict": EstimateHealth.GOOD,
    }
    return VehicleState(**(values | changed))


def test_attitude_is_of_frd_in_ned() -> None:
    down_30_deg = from_axis_angle((0.0, 1.0, 0.0), math.radians(30.0))  # about the left wing
    message = reports.attitude(state(attitude=multiply(NORTH, down_30_deg)))
    assert message.time_boot_ms == 1234
    assert (message.roll, message.pitch, message.yaw) == pytest.approx(
        (0.0, math.radians(-30.0), 0.0), abs=1e-9
    )
    assert (message.rollspeed, message.pitchspeed, message.yawspeed) == pytest.approx(
        (0.1, -0.2, -0.3)
    )


def test_attitude_quaternion() -> None:
    message = reports.attitude_quaternion(state(attitude=EAST))
    half = math.sqrt(0.5)
    found = (message.q1, message.q2, message.q3, message.q4)
    assert found == pytest.approx((half, 0.0, 0.0, half))  # 90 degrees from north, clockwise


def test_local_position() -> None:
    message = reports.local_position(state())
    assert (message.x, message.y, message.z) == (2.0, 1.0, -3.0)
    assert (message.vx, message.vy, message.vz) == (1.5, 0.5, 0.25)


def test_global_position() -> None:
    above = state(position_enu_m=np.array([0.0, 0.0, 3.0]), attitude=EAST)
    message = reports.global_position(above, FRAME, HOME)
    assert (message.lat, message.lon) == (473977420, 85455940)
    assert (message.alt, message.relative_alt) == (491_000, 2_000)
    assert (message.vx, message.vy, message.vz) == (150, 50, 25)
    assert message.hdg == 9000


def test_odometry_has_velocity_in_the_body_and_both_covariances() -> None:
    message = reports.odometry(state())
    assert message.time_usec == 1_234_567
    assert (message.x, message.y, message.z) == (2.0, 1.0, -3.0)
    assert message.q == pytest.approx([1.0, 0.0, 0.0, 0.0])
    assert (message.vx, message.vy, message.vz) == pytest.approx((1.5, 0.5, 0.25))
    pose, velocity = message.pose_covariance, message.velocity_covariance
    assert [pose[place] for place in (0, 1, 6, 11)] == [4.0, 0.5, 1.0, 9.0]
    assert [pose[place] for place in (15, 16, 18, 20)] == [0.01, -0.002, 0.02, 0.03]
    assert [velocity[place] for place in (0, 6, 11)] == pytest.approx([0.2, 0.1, 0.3])
    assert math.isnan(velocity[15])
    frames = (message.frame_id, message.child_frame_id)
    assert frames == (dialect.MAV_FRAME_LOCAL_NED, dialect.MAV_FRAME_BODY_FRD)


def test_highres_imu() -> None:
    imu = ImuSample(STAMP_NS, 0, np.array([1.0, 2.0, 9.8]), np.array([0.1, 0.2, 0.3]), 31.0)
    field = MagnetometerSample(STAMP_NS, 0, np.array([20e-6, 10e-6, -40e-6]))
    air = BarometerSample(STAMP_NS, 0, 101_325.0, 25.0)
    message = reports.highres_imu(imu, field, air)
    assert (message.xacc, message.yacc, message.zacc) == (1.0, -2.0, -9.8)
    assert (message.xgyro, message.ygyro, message.zgyro) == (0.1, -0.2, -0.3)
    assert (message.xmag, message.ymag, message.zmag) == pytest.approx((0.2, -0.1, 0.4))
    assert message.abs_pressure == 1013.25
    assert message.pressure_alt == pytest.approx(0.0, abs=1e-6)
    assert message.fields_updated == 0x1BFF
    assert reports.highres_imu(imu, None, None).fields_updated == 0x103F


def test_gps_raw() -> None:
    covariance = np.diag([0.25, 0.36, 1.44])
    velocity = np.array([3.0, 4.0, 1.0])
    gps = GpsSample(
        STAMP_NS, 0, 47.5, -8.25, 500.5, velocity, covariance, 0.1, 12, GpsFix.RTK_FIXED
    )
    message = reports.gps_raw(gps)
    assert (message.lat, message.lon, message.alt) == (475_000_000, -82_500_000, 500_500)
    assert (message.vel, message.cog) == (500, 3687)  # 3 east and 4 north
    assert (message.h_acc, message.v_acc, message.vel_acc) == (600, 1200, 100)
    assert (message.fix_type, message.satellites_visible) == (dialect.GPS_FIX_TYPE_RTK_FIXED, 12)
    assert message.alt_ellipsoid == 500_500


def test_altitude() -> None:
    message = reports.altitude(state(position_enu_m=np.array([0.0, 0.0, 3.0])), FRAME, HOME)
    assert message.altitude_amsl == pytest.approx(491.0)
    assert (message.altitude_local, message.altitude_relative) == (3.0, 2.0)


def test_vfr_hud() -> None:
    moving = state(velocity_enu_mps=np.array([3.0, 4.0, -1.0]), attitude=EAST)
    message = reports.vfr_hud(moving, FRAME, np.array([0.5, 0.7, 0.5, 0.7]))
    assert (message.groundspeed, message.climb) == (5.0, -1.0)
    assert (message.heading, message.throttle) == (90, 60)


@pytest.mark.parametrize(
    ("remaining", "charge"),
    [
        (0.5, dialect.MAV_BATTERY_CHARGE_STATE_OK),
        (0.19, dialect.MAV_BATTERY_CHARGE_STATE_LOW),
        (0.07, dialect.MAV_BATTERY_CHARGE_STATE_CRITICAL),
    ],
)
def test_battery_status(remaining: float, charge: int) -> None:
    battery = BatterySample(STAMP_NS, 0, 15.2, 12.34, remaining)
    message = reports.battery_status(battery, low=0.2, critical=0.08)
    assert message.voltages == [15_200, *[0xFFFF] * 9]
    assert (message.current_battery, message.battery_remaining) == (1234, round(remaining * 100))
    assert message.charge_state == charge


@pytest.mark.parametrize(
    ("verdict", "flags"),
    [(EstimateHealth.GOOD, 63), (EstimateHealth.DEGRADED, 47), (EstimateHealth.LOST, 1)],
)
def test_estimator_status(verdict: EstimateHealth, flags: int) -> None:
    message = reports.estimator_status(state(verdict=verdict))
    assert message.flags == flags
    assert message.pos_horiz_accuracy == pytest.approx(math.sqrt(5.0))
    assert message.pos_vert_accuracy == 3.0


def test_servo_output() -> None:
    message = reports.servo_output(STAMP_NS, np.array([0.0, 0.25, 0.5, 1.0]))
    pulses = [getattr(message, f"servo{number}_raw") for number in range(1, 17)]
    assert pulses == [1000, 1250, 1500, 2000, *[0] * 12]


def test_home_position() -> None:
    message = reports.home_position(STAMP_NS, FRAME, np.array([0.0, 0.0, 1.0]))
    assert (message.latitude, message.longitude) == (473977420, 85455940)
    assert message.altitude == 489_000
    assert (message.x, message.y, message.z) == (0.0, 0.0, -1.0)


def test_distance() -> None:
    assert reports.distance(RangefinderSample(STAMP_NS, 0, 2.5)).current_distance == 250
    far = reports.distance(RangefinderSample(STAMP_NS, 0, math.inf))
    assert far.current_distance == far.max_distance


def test_vehicle_type_goes_by_the_rotors() -> None:
    assert vehicle_type(4) == dialect.MAV_TYPE_QUADROTOR
    assert vehicle_type(6) == dialect.MAV_TYPE_HEXAROTOR
    assert vehicle_type(8) == dialect.MAV_TYPE_OCTOROTOR
