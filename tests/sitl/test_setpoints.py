"""Set-points by hand: masks, frames and signs."""

import math
from typing import Any

import pytest

from firmware_bridge.messages import Message, dialect
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.sitl.parameters import FLOAT, INT32, decode_value, encode_value
from ghost.sitl.setpoints import Here, attitude_command, position_command

NED, BODY = dialect.MAV_FRAME_LOCAL_NED, dialect.MAV_FRAME_BODY_NED
HERE = Here(yaw_rad=0.0, stamp_ns=5, sequence=7)  # nose to the east
POSITION, VELOCITY = 0b1101_1111_1000, 0b1101_1100_0111
NO_YAW, YAW, YAW_RATE = 0xFFFF, ~0x400, ~0x800


def target(mask: int, frame: int = NED, yaw: float = 0.0, yaw_rate: float = 0.0) -> Message:
    places, speeds, pulls = (1.0, 2.0, -3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)
    return dialect.MAVLink_set_position_target_local_ned_message(
        0, 1, 1, frame, mask, *places, *speeds, *pulls, yaw, yaw_rate
    )


def attitude(mask: int, quaternion: list[float]) -> Message:
    return dialect.MAVLink_set_attitude_target_message(
        0, 1, 1, mask, quaternion, 0.1, 0.2, 0.3, 0.6
    )


def test_position_and_heading() -> None:
    command = position_command(target(0b1001_1111_1000, yaw=0.0), HERE)
    assert isinstance(command, PositionCommand)
    assert command.position_enu_m.tolist() == [2.0, 1.0, 3.0]
    assert command.yaw_rad == pytest.approx(math.pi / 2.0)  # north
    assert (command.stamp_ns, command.sequence) == (5, 7)


def test_without_a_heading_it_keeps_its_own() -> None:
    for message in (target(0b1101_1111_1000), target(0b1001_1111_1000, yaw=math.nan)):
        command = position_command(message, HERE)
        assert isinstance(command, PositionCommand)
        assert command.yaw_rad == 0.0


def test_velocity_and_yaw_rate() -> None:
    command = position_command(target(0b0101_1100_0111, yaw_rate=0.5), HERE)
    assert isinstance(command, VelocityCommand)
    assert command.velocity_enu_mps.tolist() == [5.0, 4.0, -6.0]
    assert command.yaw_rate_rps == -0.5


def test_velocity_in_the_body() -> None:
    command = position_command(target(0b1101_1100_0111, frame=BODY), HERE)
    assert isinstance(command, VelocityCommand)
    # 4 ahead is east, 5 to the right is south.
    assert command.velocity_enu_mps == pytest.approx([4.0, -5.0, -6.0])


def test_position_with_velocity_and_acceleration_is_a_trajectory() -> None:
    command = position_command(target(0), HERE)
    assert isinstance(command, TrajectoryCommand)
    assert command.position_enu_m.tolist() == [2.0, 1.0, 3.0]
    assert command.velocity_enu_mps.tolist() == [5.0, 4.0, -6.0]
    assert command.acceleration_enu_mps2.tolist() == [8.0, 7.0, -9.0]
    alone = position_command(target(0b1101_1100_0000), HERE)
    assert isinstance(alone, TrajectoryCommand)
    assert alone.acceleration_enu_mps2.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (target(0b1101_1100_0011), "single axes"),
        (target(0b1100_0011_1111), "without position"),
        (target(0b0010_0000_0000), "forces"),
        (target(0, frame=BODY), "body's frame"),
        (target(0, frame=dialect.MAV_FRAME_GLOBAL), "frame 0"),
    ],
)
def test_what_it_can_not_follow_is_told(message: Message, why: str) -> None:
    answer = position_command(message, HERE)
    assert isinstance(answer, str)
    assert why in answer


def test_attitude() -> None:
    command = attitude_command(attitude(0x3, [1.0, 0.0, 0.0, 0.0]), HERE)
    assert isinstance(command, AttitudeCommand)
    half = math.sqrt(0.5)
    assert command.attitude == pytest.approx([half, 0.0, 0.0, half])  # north is 90 from east
    assert (command.thrust, command.yaw_rate_rps) == (0.6, -0.3)


def test_body_rates() -> None:
    command = attitude_command(attitude(0x80, [0.0] * 4), HERE)
    assert isinstance(command, BodyRateCommand)
    assert command.rate_flu_rps.tolist() == [0.1, -0.2, -0.3]
    assert command.thrust == 0.6


@pytest.mark.parametrize("arguments", [(0x7, [0.0] * 4), (0x40, [1.0, 0, 0, 0]), (0x87, [1.0] * 4)])
def test_attitudes_that_mean_nothing_are_told(arguments: Any) -> None:
    assert isinstance(attitude_command(attitude(*arguments), HERE), str)


@pytest.mark.parametrize("number", [0, 1, 4001, -1, 2**31 - 1])
def test_integers_travel_as_the_bits_of_a_float(number: int) -> None:
    assert decode_value(encode_value(number, INT32), INT32) == number


def test_one_is_the_smallest_float() -> None:
    assert encode_value(1, INT32) == 2.0**-149
    assert encode_value(2.5, FLOAT) == 2.5
