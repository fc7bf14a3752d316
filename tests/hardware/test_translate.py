"""From PX4's axes and units to Ghost's, each with numbers that were worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from firmware_bridge.messages import Message, dialect
from ghost.core.frames import attitude_ned_to_enu, frd_to_flu, ned_to_enu
from ghost.core.rotations import rotate
from ghost.hal import EstimateHealth, GpsFix, Health
from ghost.hardware import translate

HALF = math.sqrt(0.5)
LOCAL_NED, LOCAL_FRD, BODY_FRD = 1, 20, 12
UNKNOWN_CELL = 65535
NOSE, LEFT, UP = np.eye(3)

# Quaternions of the FRD body in the NED world, w first.
FACING_NORTH = [1.0, 0.0, 0.0, 0.0]
FACING_EAST = [HALF, 0.0, 0.0, HALF]
NOSE_UP = [HALF, 0.0, HALF, 0.0]
RIGHT_DOWN = [HALF, HALF, 0.0, 0.0]


def highres(**fields: Any) -> Message:
    values = {
        "time_usec": 0,
        **dict.fromkeys(("xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro"), 0.0),
        **dict.fromkeys(("xmag", "ymag", "zmag"), 0.0),
        **dict.fromkeys(("abs_pressure", "diff_pressure", "pressure_alt", "temperature"), 0.0),
        "fields_updated": 0xFFFF,
    }
    return dialect.MAVLink_highres_imu_message(**{**values, **fields})


def gps(**fields: Any) -> Message:
    values = {
        "time_usec": 0,
        "fix_type": 3,
        "lat": 473977418,
        "lon": -1224194155,
        "alt": 488_000,
        "eph": 70,
        "epv": 110,
        "vel": 0,
        "cog": 0,
        "satellites_visible": 10,
    }
    return dialect.MAVLink_gps_raw_int_message(**{**values, **fields})


def battery(**fields: Any) -> Message:
    values = {
        "id": 0,
        "battery_function": 1,
        "type": 1,
        "temperature": 32767,
        "voltages": [UNKNOWN_CELL] * 10,
        "current_battery": -1,
        "current_consumed": -1,
        "energy_consumed": -1,
        "battery_remaining": -1,
    }
    return dialect.MAVLink_battery_status_message(**{**values, **fields})


def distance(current_cm: int, *, quality: int = 0, least_cm: int = 20) -> Message:
    return dialect.MAVLink_distance_sensor_message(
        0, least_cm, 4000, current_cm, 0, 0, 25, 0, signal_quality=quality
    )


def odometry(**fields: Any) -> Message:
    values = {
        "time_usec": 0,
        "frame_id": LOCAL_NED,
        "child_frame_id": LOCAL_NED,
        **dict.fromkeys(("x", "y", "z", "vx", "vy", "vz"), 0.0),
        **dict.fromkeys(("rollspeed", "pitchspeed", "yawspeed"), 0.0),
        "q": FACING_NORTH,
        "pose_covariance": triangle(),
        "velocity_covariance": triangle(),
        "reset_counter": 0,
        "estimator_type": 8,
        "quality": 0,
    }
    return dialect.MAVLink_odometry_message(**{**values, **fields})


def triangle(**entries: float) -> list[float]:
    """An upper triangle of 6 x 6, by row and column: r0c1=0.5."""
    matrix = np.zeros((6, 6))
    for name, value in entries.items():
        matrix[int(name[1]), int(name[3])] = value
    return [float(value) for value in matrix[np.triu_indices(6)]]


def symmetric(upper: list[float]) -> NDArray[np.float64]:
    matrix = np.zeros((6, 6))
    matrix[np.triu_indices(6)] = upper
    whole: NDArray[np.float64] = np.triu(matrix) + np.triu(matrix, 1).T
    return whole


# IMU, magnetometer, barometer.


def test_a_resting_imu_feels_gravity_upwards() -> None:
    sample = translate.imu(highres(zacc=-9.8, temperature=31.0), 7, 3)
    assert (sample.stamp_ns, sample.sequence, sample.temperature_c) == (7, 3, 31.0)
    assert sample.accel_flu_mps2.tolist() == [0.0, 0.0, 9.8]


def test_forward_stays_and_right_and_down_turn_to_left_and_up() -> None:
    message = highres(xacc=1.0, yacc=2.0, zacc=3.0, xgyro=0.1, ygyro=0.2, zgyro=0.3)
    sample = translate.imu(message, 0, 0)
    assert sample.accel_flu_mps2.tolist() == [1.0, -2.0, -3.0]
    assert sample.gyro_flu_rps.tolist() == [0.1, -0.2, -0.3]


def test_a_magnetic_field_of_half_a_gauss_is_50_microtesla() -> None:
    sample = translate.magnetometer(highres(xmag=0.5, ymag=0.1, zmag=0.4), 0, 0)
    assert sample.field_flu_t == pytest.approx([50e-6, -10e-6, -40e-6])


def test_a_pressure_is_a_hundred_times_as_many_pascal() -> None:
    sample = translate.barometer(highres(abs_pressure=955.5, temperature=15.0), 0, 0)
    assert sample.pressure_pa == pytest.approx(95_550.0)
    assert sample.temperature_c == 15.0


@pytest.mark.parametrize(
    ("updated", "there"),
    [
        (0x3F, (True, False, False)),
        (0x1F, (False, False, False)),
        (0x1C0, (False, True, False)),
        (0x0C0, (False, False, False)),
        (0x200, (False, False, True)),
        (0x3FF, (True, True, True)),
    ],
)
def test_only_what_was_updated_is_a_sample(updated: int, there: tuple[bool, ...]) -> None:
    message = highres(fields_updated=updated)
    has = (translate.has_imu, translate.has_magnetometer, translate.has_barometer)
    assert tuple(is_there(message) for is_there in has) == there


# GPS.


def test_a_fix_has_degrees_metres_and_metres_a_second() -> None:
    message = gps(vel=500, cog=9000, h_acc=900, v_acc=1780, vel_acc=400, alt_ellipsoid=535_250)
    sample = translate.gps(message, 0, 0)
    assert (sample.latitude_deg, sample.longitude_deg) == (47.3977418, -122.4194155)
    assert sample.altitude_m == 535.25
    assert sample.velocity_enu_mps == pytest.approx([5.0, 0.0, 0.0])
    assert np.diag(sample.position_covariance_enu_m2) == pytest.approx([0.81, 0.81, 3.1684])
    assert (sample.velocity_std_mps, sample.satellites) == (0.4, 10)
    assert sample.health is Health.OK


@pytest.mark.parametrize(
    ("course_cdeg", "enu"),
    [
        (0, (0.0, 2.0, 0.0)),
        (9000, (2.0, 0.0, 0.0)),
        (18000, (0.0, -2.0, 0.0)),
        (27000, (-2.0, 0.0, 0.0)),
    ],
)
def test_a_course_is_counted_from_north_clockwise(course_cdeg: int, enu: tuple[float, ...]) -> None:
    sample = translate.gps(gps(vel=200, cog=course_cdeg), 0, 0)
    assert sample.velocity_enu_mps == pytest.approx(enu, abs=1e-12)


def test_what_a_gps_does_not_know_is_very_uncertain_and_not_exact() -> None:
    sample = translate.gps(gps(vel=65535, cog=65535, satellites_visible=255), 0, 0)
    assert np.diag(sample.position_covariance_enu_m2) == pytest.approx([1e6] * 3)
    assert (sample.velocity_std_mps, sample.satellites) == (1000.0, 0)
    assert sample.altitude_m == 488.0  # above the sea, for want of the ellipsoid
    assert sample.velocity_enu_mps.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("number", "fix", "health"),
    [
        (0, GpsFix.NONE, Health.DEGRADED),
        (1, GpsFix.NONE, Health.DEGRADED),
        (2, GpsFix.TWO_D, Health.DEGRADED),
        (3, GpsFix.THREE_D, Health.OK),
        (4, GpsFix.DIFFERENTIAL, Health.OK),
        (5, GpsFix.RTK_FLOAT, Health.OK),
        (6, GpsFix.RTK_FIXED, Health.OK),
        (7, GpsFix.THREE_D, Health.OK),
        (8, GpsFix.DIFFERENTIAL, Health.OK),
        (99, GpsFix.NONE, Health.DEGRADED),
    ],
)
def test_fixes_are_told_by_their_numbers(number: int, fix: GpsFix, health: Health) -> None:
    sample = translate.gps(gps(fix_type=number), 0, 0)
    assert (sample.fix, sample.health) == (fix, health)


# Battery and rangefinder.


def test_cells_add_up() -> None:
    cells = [4000, 4010, 4020, 3990] + [UNKNOWN_CELL] * 6
    sample = translate.battery(
        battery(voltages=cells, current_battery=1250, battery_remaining=73), 0, 0
    )
    assert sample.voltage_v == pytest.approx(16.02)
    assert (sample.current_a, sample.remaining) == (12.5, 0.73)


def test_cells_beyond_the_tenth_add_up_too() -> None:
    message = battery(voltages=[4000] * 10, voltages_ext=[4000, 4000, 0, 0])
    assert translate.battery(message, 0, 0).voltage_v == pytest.approx(48.0)


def test_what_a_battery_does_not_know_is_not_a_number() -> None:
    sample = translate.battery(battery(), 0, 0)
    assert all(map(math.isnan, (sample.voltage_v, sample.current_a, sample.remaining)))


@pytest.mark.parametrize(
    ("message", "range_m", "health"),
    [
        (distance(250), 2.5, Health.OK),
        (distance(3999), 39.99, Health.OK),
        (distance(4000), math.inf, Health.OK),
        (distance(65535), math.inf, Health.OK),
        (distance(10), 0.1, Health.DEGRADED),
        (distance(0, quality=1, least_cm=0), math.inf, Health.DEGRADED),
        (distance(250, quality=80), 2.5, Health.OK),
    ],
)
def test_a_range_within_reach_is_metres(message: Message, range_m: float, health: Health) -> None:
    sample = translate.rangefinder(message, 0, 0)
    assert (sample.range_m, sample.health) == (range_m, health)


# The state.


def test_a_position_north_east_down_is_east_north_up() -> None:
    state = translate.state(odometry(x=1.0, y=2.0, z=-3.0, vx=0.1, vy=0.2, vz=-0.3), 9, 4)
    assert (state.stamp_ns, state.sequence) == (9, 4)
    assert state.position_enu_m.tolist() == [2.0, 1.0, 3.0]
    assert state.velocity_enu_mps.tolist() == [0.2, 0.1, 0.3]


@pytest.mark.parametrize(
    ("q", "nose", "left", "up"),
    [
        (FACING_NORTH, (0, 1, 0), (-1, 0, 0), (0, 0, 1)),
        (FACING_EAST, (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        (NOSE_UP, (0, 0, 1), (-1, 0, 0), (0, -1, 0)),
        (RIGHT_DOWN, (0, 1, 0), (0, 0, 1), (1, 0, 0)),
    ],
)
def test_nose_left_and_up_point_where_they_should(
    q: list[float], nose: tuple[int, ...], left: tuple[int, ...], up: tuple[int, ...]
) -> None:
    attitude = translate.state(odometry(q=q), 0, 0).attitude
    assert rotate(attitude, NOSE) == pytest.approx(nose, abs=1e-12)
    assert rotate(attitude, LEFT) == pytest.approx(left, abs=1e-12)
    assert rotate(attitude, UP) == pytest.approx(up, abs=1e-12)


@pytest.mark.parametrize(
    ("q", "enu"),
    [
        # 3 m/s along the nose, 2 to the right, 1 down.
        (FACING_NORTH, (2.0, 3.0, -1.0)),
        (FACING_EAST, (3.0, -2.0, -1.0)),
        (NOSE_UP, (2.0, 1.0, 3.0)),
        (RIGHT_DOWN, (-1.0, 3.0, -2.0)),
    ],
)
def test_a_velocity_in_the_body_is_turned_into_the_world(
    q: list[float], enu: tuple[float, ...]
) -> None:
    message = odometry(q=q, child_frame_id=BODY_FRD, vx=3.0, vy=2.0, vz=1.0)
    assert translate.state(message, 0, 0).velocity_enu_mps == pytest.approx(enu)


def test_rates_are_the_body_s() -> None:
    message = odometry(q=FACING_EAST, rollspeed=0.1, pitchspeed=0.2, yawspeed=0.3)
    assert translate.state(message, 0, 0).rate_flu_rps.tolist() == [0.1, -0.2, -0.3]


def test_covariances_turn_with_their_axes() -> None:
    pose = triangle(r0c0=1, r1c1=2, r2c2=3, r0c1=0.5, r0c2=0.25, r3c3=4, r4c4=5, r5c5=6, r3c4=0.75)
    speed = triangle(r0c0=1, r1c1=2, r2c2=3)
    state = translate.state(odometry(pose_covariance=pose, velocity_covariance=speed), 0, 0)
    assert state.position_covariance_m2.tolist() == [
        [2.0, 0.5, 0.0],
        [0.5, 1.0, -0.25],
        [0.0, -0.25, 3.0],
    ]
    assert state.attitude_covariance_rad2.tolist() == [
        [4.0, -0.75, 0.0],
        [-0.75, 5.0, 0.0],
        [0.0, 0.0, 6.0],
    ]
    assert np.diag(state.velocity_covariance_m2ps2).tolist() == [2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("q", "variances"),
    [(FACING_NORTH, (2, 1, 3)), (FACING_EAST, (1, 2, 3)), (NOSE_UP, (2, 3, 1))],
)
def test_the_covariance_of_a_body_velocity_turns_with_the_body(
    q: list[float], variances: tuple[int, ...]
) -> None:
    speed = triangle(r0c0=1, r1c1=2, r2c2=3)
    message = odometry(q=q, child_frame_id=BODY_FRD, velocity_covariance=speed)
    covariance = translate.state(message, 0, 0).velocity_covariance_m2ps2
    assert covariance == pytest.approx(np.diag(variances), abs=1e-12)


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=55, max_size=55))
def test_each_number_goes_where_its_frame_says(numbers: list[float]) -> None:
    vectors, q, pose, speed = numbers[:9], numbers[9:13], numbers[13:34], numbers[34:]
    names = ("x", "y", "z", "vx", "vy", "vz", "rollspeed", "pitchspeed", "yawspeed")
    covariances = {"pose_covariance": pose, "velocity_covariance": speed}
    message = odometry(q=q, **covariances, **dict(zip(names, vectors, strict=True)))
    state = translate.state(message, 0, 0)
    assert state.position_enu_m.tolist() == ned_to_enu(vectors[:3]).tolist()
    assert state.velocity_enu_mps.tolist() == ned_to_enu(vectors[3:6]).tolist()
    assert state.rate_flu_rps.tolist() == frd_to_flu(vectors[6:]).tolist()
    assert state.attitude.tolist() == attitude_ned_to_enu(q).tolist()
    for covariance, upper, first, turned in (
        (state.position_covariance_m2, pose, 0, ned_to_enu),
        (state.attitude_covariance_rad2, pose, 3, frd_to_flu),
        (state.velocity_covariance_m2ps2, speed, 0, ned_to_enu),
    ):
        block = symmetric(upper)[first : first + 3, first : first + 3]
        assert covariance.tolist() == turned(turned(block).T).tolist()


def test_variances_alone_are_independent() -> None:
    pose = triangle(r0c0=1, r1c1=2, r2c2=3)
    pose = [value or math.nan for value in pose]
    state = translate.state(odometry(pose_covariance=pose), 0, 0)
    assert state.position_covariance_m2.tolist() == [[2, 0, 0], [0, 1, 0], [0, 0, 3]]
    assert np.isnan(state.attitude_covariance_rad2).all()


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({}, EstimateHealth.GOOD),
        ({"pose_covariance": triangle(r0c0=4.4, r1c1=4.4)}, EstimateHealth.GOOD),
        ({"pose_covariance": triangle(r0c0=4.5, r1c1=4.5)}, EstimateHealth.DEGRADED),
        ({"pose_covariance": triangle(r0c0=450.0, r1c1=449.0)}, EstimateHealth.DEGRADED),
        ({"pose_covariance": triangle(r0c0=450.0, r1c1=450.0)}, EstimateHealth.LOST),
        ({"pose_covariance": [math.nan] * 21}, EstimateHealth.LOST),
        ({"frame_id": LOCAL_FRD}, EstimateHealth.LOST),
        ({"quality": -1}, EstimateHealth.LOST),
        ({"quality": 50}, EstimateHealth.DEGRADED),
        ({"quality": 100}, EstimateHealth.GOOD),
        ({"x": math.nan}, EstimateHealth.LOST),
        ({"vz": math.inf}, EstimateHealth.LOST),
        ({"q": [math.nan, 0.0, 0.0, 0.0]}, EstimateHealth.LOST),
    ],
)
def test_an_estimate_is_as_good_as_it_says(fields: dict[str, Any], verdict: EstimateHealth) -> None:
    assert translate.state(odometry(**fields), 0, 0).verdict is verdict
