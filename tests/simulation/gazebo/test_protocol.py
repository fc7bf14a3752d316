"""Packets as the protocol's definition has them, and addresses of servers."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.simulation.gazebo.protocol import GazeboError, decode_state, encode_servos
from ghost.simulation.gazebo.server import Server, read_server
from tests.deploy.rig import LEAVE_OUT, changed

STATE: dict[str, Any] = {
    "timestamp": 2.753,
    "imu": {"gyro": [0.1, 0.2, 0.3], "accel_body": [1.0e-9, -1.4e-14, -10.567]},
    "position": [-2.5e-8, 2.0e-11, -2.38],
    "quaternion": [1.0, 0.0, 0.0, 0.0],
    "velocity": [1.0, 2.0, 3.0],
}
WIRE = (
    b'\n{"timestamp":2.753,"imu":{"gyro":[0.1,0.2,0.3],"accel_body":[1e-9,-1.4e-14,-10.567]},'
    b'"position":[-2.5e-8,2e-11,-2.38],"quaternion":[1.0,0.0,0.0,0.0],"velocity":[1.0,2.0,3.0],'
    b'"no_time_sync":true,"no_lockstep":false}\n'
)


def test_servo_packets_are_laid_out_to_the_byte() -> None:
    assert encode_servos(16, 1000, 0x01020304, [1100, 1500, 1900, 2000]) == bytes.fromhex(
        "1a48e803040302014c04dc056c07d007" + "0000" * 12
    )
    assert encode_servos(32, 400, 65535, range(1000, 1032)) == bytes.fromhex(
        "81739001ffff0000"
        "e803e903ea03eb03ec03ed03ee03ef03f003f103f203f303f403f503f603f703"
        "f803f903fa03fb03fc03fd03fe03ff0300040104020403040404050406040704"
    )


@given(st.sampled_from([16, 32]), st.integers(0, 65535), st.integers(0, 2**32 - 1), st.data())
def test_servo_packets_are_read_as_they_were_written(
    channels: int, rate_hz: int, count: int, data: st.DataObject
) -> None:
    pulses = data.draw(st.lists(st.integers(0, 65535), max_size=channels))
    layout = f"<HHI{channels}H"
    magic, *rest = struct.unpack(layout, encode_servos(channels, rate_hz, count, pulses))
    assert magic == {16: 18458, 32: 29569}[channels]
    assert rest == [rate_hz, count, *pulses, *[0] * (channels - len(pulses))]


def test_a_state_is_read_to_the_last_digit() -> None:
    state = decode_state(WIRE)
    assert state.time_ns == 2_753_000_000
    assert state.rate_frd_rps == (0.1, 0.2, 0.3)
    assert state.specific_force_frd_mps2 == (1.0e-9, -1.4e-14, -10.567)
    assert state.position_ned_m == (-2.5e-8, 2.0e-11, -2.38)
    assert state.velocity_ned_mps == (1.0, 2.0, 3.0)
    assert state.attitude_ned == (1.0, 0.0, 0.0, 0.0)
    assert state.has_lockstep is True


def test_what_nobody_asked_for_is_passed_over_and_lockstep_may_go_unsaid() -> None:
    extras = {"rng_1": 1.5, "windvane": {"direction": 0.0, "speed": 2.0}, "airspeed": None}
    state = decode_state(json.dumps(STATE | extras).encode())
    assert state.has_lockstep is None
    assert state.time_ns == 2_753_000_000


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"timestamp": LEAVE_OUT}, "has no timestamp"),
        ({"timestamp": "2.7"}, "timestamp is '2.7'; expected a finite number"),
        ({"timestamp": True}, "timestamp is True"),
        ({"timestamp": float("inf")}, "timestamp is inf"),
        ({"imu": LEAVE_OUT}, "has no imu"),
        ({"imu": None}, "None has no gyro"),
        ({"imu.gyro": LEAVE_OUT}, "has no gyro"),
        ({"imu.gyro.1": float("nan")}, r"imu.gyro is \[0.1, nan, 0.3\]; expected finite"),
        ({"imu.accel_body": [1.0, 2.0]}, r"imu.accel_body is \[1.0, 2.0\]; expected 3 numbers"),
        ({"position": LEAVE_OUT}, "has no position"),
        ({"position.2": None}, "position is .* expected finite numbers"),
        ({"position": {"x": 1.0}}, "position is .*; expected 3 numbers"),
        ({"velocity": LEAVE_OUT}, "has no velocity"),
        ({"velocity.0": float("-inf")}, "velocity is .* expected finite"),
        ({"quaternion": LEAVE_OUT}, "has no quaternion"),
        ({"quaternion": [0.0, 0.0, 0.0, 0.0]}, "expected one of length 1"),
        ({"quaternion": [1.0, 0.0, 0.0]}, "expected 4 numbers"),
    ],
)
def test_a_state_that_is_none_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(GazeboError, match=complaint):
        decode_state(json.dumps(changed(STATE, changes)).encode())


@pytest.mark.parametrize(
    "datagram",
    [
        b"\n",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"7",
        b"[" * 60_000,
        # Of what is no number the plugin writes nothing between the commas.
        WIRE.replace(b"0.2", b""),
    ],
)
def test_garbage_is_refused(datagram: bytes) -> None:
    with pytest.raises(GazeboError):
        decode_state(datagram)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_state_or_refused(datagram: bytes) -> None:
    with pytest.raises(GazeboError):
        decode_state(datagram)


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("", Server()),
        ("10.0.0.2", Server(host="10.0.0.2")),
        ("gazebo.local:9012", Server(host="gazebo.local", port=9012)),
        (
            "h:1,channels=32,pwm=1000-2000,timeout_ms=250",
            Server("h", 1, 32, 1000, 2000, 250_000_000),
        ),
        (",channels=32", Server(channels=32)),
    ],
)
def test_an_address_says_where_the_server_is_and_how_it_is_set_up(
    address: str, server: Server
) -> None:
    assert read_server(address) == server


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("h:", "port is ''"),
        ("h:x", "port is 'x'"),
        ("h:0", "port is 0; expected 1 to 65535"),
        ("h:70000", "port is 70000"),
        (":9002", "no host"),
        ("h:1,channels=8", "channels is 8; expected 16 or 32"),
        ("h:1,pwm=1900-1100", "pwm is 1900-1100"),
        ("h:1,pwm=1100", "pwm is ''"),
        ("h:1,timeout_ms=0", "timeout_ms is 0; expected above 0"),
        ("h:1,speed=3", "'speed=3' is no setting of a Gazebo server"),
        ("h:1,", "'' is no setting"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(address: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_server(address)


def test_every_vehicle_has_a_port_of_its_own() -> None:
    assert [Server().port_of(vehicle) for vehicle in (0, 1, 2)] == [9002, 9012, 9022]
    with pytest.raises(ConfigError, match="vehicle 1 would be on port 65541"):
        Server(port=65531).port_of(1)
