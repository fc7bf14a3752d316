"""What PX4 is sent, beside values that were worked out by hand from the protocol."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from firmware_bridge.messages import encode_values
from ghost.core.errors import ConfigError
from ghost.core.frames import LocalFrame
from ghost.hal import Health, SensorKind
from ghost.sitl.px4.airframe import px4_parameters
from ghost.sitl.px4.packets import hil_state
from ghost.sitl.px4.readings import Readings, Told
from tests.sitl.px4 import rig


def told(*arrived: Any) -> Told:
    return Readings(rig.setup()).told(8000, arrived)


def test_a_whole_sensor_message_has_these_bytes() -> None:
    values = told(rig.imu(), rig.magnetometer(), rig.barometer()).hil_sensor
    packet = encode_values(107, values, system=3, component=200, sequence=7)
    # id is 0 and cut off, as MAVLink 2 does with zeros at the end.
    head, payload = packet[:10], packet[10:-2].ljust(65, b"\0")
    assert head == bytes((0xFD, len(packet) - 12, 0, 0, 7, 3, 200, 107, 0, 0))
    time_us, *readings, fields, sensor = struct.unpack("<Q13fIB", payload)
    assert (time_us, fields, sensor) == (8000, 0x3F | 0x1C0 | 0x1A00, 0)
    assert readings == pytest.approx(
        [0.5, -0.25, -9.5, 0.125, -0.25, -0.5, 0.2, -0.1, 0.4, 1013.25, 0.0, 0.0, 25.0], abs=1e-6
    )


@pytest.mark.parametrize(
    ("arrived", "fields"),
    [
        ([rig.imu()], 0x3F),
        ([rig.imu(), rig.barometer()], 0x3F | 0x1A00),
        ([rig.imu(), rig.magnetometer()], 0x3F | 0x1C0),
        ([rig.imu(), rig.magnetometer(Health.OFFLINE)], 0x3F),
        ([rig.imu(health=Health.OFFLINE), rig.barometer()], 0x1A00),
        ([], 0),
    ],
)
def test_only_what_arrived_and_works_is_said_to_be_new(arrived: list[Any], fields: int) -> None:
    time_us, *_, seen, _ = told(*arrived).hil_sensor
    assert (time_us, seen) == (8000, fields)
    assert told(*arrived).has_imu == bool(fields & 0x3F)


def test_gps_in_centimetres_and_north_east_down() -> None:
    (sent,) = told(rig.gps(), rig.imu()).before
    assert (sent.lat, sent.lon, sent.alt) == (471_234_567, 85_000_000, 488_250)
    assert (sent.vn, sent.ve, sent.vd, sent.vel) == (400, -300, -50, 500)
    assert sent.cog == 32313  # atan2(-3, 4) is -36.87 degrees
    assert (sent.eph, sent.epv) == (40, 80)
    assert (sent.fix_type, sent.satellites_visible, sent.id) == (3, 14, 0)


@pytest.mark.parametrize(("range_m", "seen_cm"), [(1.234, 123), (float("inf"), 1201)])
def test_a_range_downwards(range_m: float, seen_cm: int) -> None:
    (sent,) = told(rig.rangefinder(range_m), rig.imu()).before
    assert (sent.min_distance, sent.max_distance, sent.current_distance) == (5, 1200, seen_cm)
    assert (sent.orientation, sent.time_boot_ms) == (25, 8)


def test_truth_nose_to_the_east_is_a_quarter_turn_from_north() -> None:
    sent = hil_state(8000, rig.truth(), LocalFrame(rig.ORIGIN))
    assert sent.attitude_quaternion == pytest.approx([0.7071068, 0.0, 0.0, 0.7071068])
    assert (sent.rollspeed, sent.pitchspeed, sent.yawspeed) == pytest.approx((0.1, -0.2, -0.3))
    assert (sent.lat, sent.lon, sent.alt) == (470_000_000, 80_000_000, 1_500_000)
    assert (sent.vx, sent.vy, sent.vz) == (200, 0, 50)
    assert (sent.xacc, sent.yacc, sent.zacc) == (0, 0, -1000)
    assert sent.true_airspeed == 0  # it drifts with the wind


def test_a_quick_imu_is_averaged_and_a_slow_one_refused() -> None:
    assert told(rig.imu(9.0), rig.imu(10.0)).hil_sensor[3] == pytest.approx(-9.5)
    assert imu_of(1_000_000).tick_ns == 4_000_000
    assert imu_of(2_500_000).tick_ns == 5_000_000
    with pytest.raises(ConfigError, match="imu has a period of 20000000 ns; PX4 needs one of"):
        imu_of(20_000_000)


def imu_of(period_ns: int) -> Readings:
    vehicle = rig.setup()
    models = [
        replace(model, period_ns=period_ns) if model.kind is SensorKind.IMU else model
        for model in vehicle.sensors
    ]
    return Readings(replace(vehicle, sensors=tuple(models)))


def test_px4_needs_a_compass() -> None:
    vehicle = rig.setup()
    kept = tuple(one for one in vehicle.sensors if one.kind is not SensorKind.MAGNETOMETER)
    with pytest.raises(ConfigError, match="the robot has no magnetometer, only barometer"):
        Readings(replace(vehicle, sensors=kept))


def test_px4_is_told_of_the_robot_s_rotors() -> None:
    parameters = px4_parameters(rig.setup("hexa"), rig.ORIGIN)
    assert parameters["CA_ROTOR_COUNT"] == "6"
    assert [parameters[f"PWM_MAIN_FUNC{number}"] for number in (1, 6)] == ["101", "106"]
    # Rotor 4 is forward right, 0.17 m along FLU's -y, and above the centre of mass.
    told = [parameters[f"CA_ROTOR4_{name}"] for name in ("PX", "PY", "PZ", "AZ", "KM")]
    assert told == ["0.2944", "0.17", "-0.05", "-1", "0.018"]
    assert parameters["SENS_GPS0_DELAY"] == "120"
    assert float(parameters["MPC_THR_HOVER"]) == pytest.approx(3.6 * 9.80665 / 75.0, abs=1e-4)
