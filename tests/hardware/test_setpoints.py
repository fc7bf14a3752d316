"""Set-points as PX4 takes them: the axes, the yaw, and the bits that say what to ignore."""

import math
from typing import Any

import numpy as np
import pytest

from firmware_bridge.messages import Message, dialect
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    CommandLevel,
    MotorCommand,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.hal.commands import LEVELS as LEVEL_OF
from ghost.hardware.setpoints import LEVELS, encode_command, yaw_ned_rad

HALF = math.sqrt(0.5)
FACING_EAST_ENU = np.array([1.0, 0.0, 0.0, 0.0])
FACING_NORTH_ENU = np.array([HALF, 0.0, 0.0, HALF])

IGNORE_POSITION = (
    dialect.POSITION_TARGET_TYPEMASK_X_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_Y_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_Z_IGNORE
)
IGNORE_VELOCITY = (
    dialect.POSITION_TARGET_TYPEMASK_VX_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_VY_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_VZ_IGNORE
)
IGNORE_ACCELERATION = (
    dialect.POSITION_TARGET_TYPEMASK_AX_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_AY_IGNORE
    | dialect.POSITION_TARGET_TYPEMASK_AZ_IGNORE
)
POSITION = PositionCommand(0, 0, np.array([1.0, 2.0, 3.0]), 0.0)
VELOCITY = VelocityCommand(0, 0, np.array([1.0, 2.0, 3.0]), 0.0, 0.4)
TRAJECTORY = TrajectoryCommand(
    0,
    0,
    np.array([1.0, 2.0, 3.0]),
    np.array([4.0, 5.0, 6.0]),
    np.array([7.0, 8.0, 9.0]),
    0.5 * math.pi,
    0.4,
)


def encoded(command: Any) -> Message:
    return encode_command(command, boot_ms=1234, system=7, component=1)


def vectors(message: Message) -> list[tuple[float, ...]]:
    return [
        (message.x, message.y, message.z),
        (message.vx, message.vy, message.vz),
        (message.afx, message.afy, message.afz),
    ]


@pytest.mark.parametrize("command", [POSITION, VELOCITY, TRAJECTORY])
def test_a_set_point_is_addressed_in_local_ned(command: Any) -> None:
    message = encoded(command)
    assert (message.time_boot_ms, message.target_system, message.target_component) == (1234, 7, 1)
    assert message.coordinate_frame == dialect.MAV_FRAME_LOCAL_NED
    assert not message.type_mask & dialect.POSITION_TARGET_TYPEMASK_FORCE_SET
    assert not message.type_mask >> 12


def test_a_position_is_north_east_down_and_nothing_else() -> None:
    message = encoded(POSITION)
    yaw_rate = dialect.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE
    assert message.type_mask == IGNORE_VELOCITY | IGNORE_ACCELERATION | yaw_rate == 0b1001_1111_1000
    assert vectors(message) == [(2.0, 1.0, -3.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]
    assert message.yaw == pytest.approx(0.5 * math.pi)


def test_a_velocity_has_yaw_and_yaw_rate() -> None:
    message = encoded(VELOCITY)
    assert message.type_mask == IGNORE_POSITION | IGNORE_ACCELERATION == 0b0001_1100_0111
    assert vectors(message)[1] == (2.0, 1.0, -3.0)
    assert (message.yaw, message.yaw_rate) == (pytest.approx(0.5 * math.pi), -0.4)


def test_a_trajectory_ignores_nothing() -> None:
    message = encoded(TRAJECTORY)
    assert message.type_mask == 0
    assert vectors(message) == [(2.0, 1.0, -3.0), (5.0, 4.0, -6.0), (8.0, 7.0, -9.0)]
    assert (message.yaw, message.yaw_rate) == (pytest.approx(0.0), -0.4)


@pytest.mark.parametrize(
    ("enu_rad", "ned_rad"),
    [
        (0.0, 0.5 * math.pi),  # east
        (0.5 * math.pi, 0.0),  # north
        (math.pi, -0.5 * math.pi),  # west
        (-0.5 * math.pi, math.pi),  # south
        (0.25 * math.pi, 0.25 * math.pi),  # north-east is the same in both
        (6.5 * math.pi, 0.0),
        (-3.0 * math.pi, -0.5 * math.pi),
    ],
)
def test_yaw_goes_from_east_anticlockwise_to_north_clockwise(
    enu_rad: float, ned_rad: float
) -> None:
    yaw_rad = yaw_ned_rad(enu_rad)
    assert math.cos(yaw_rad - ned_rad) == pytest.approx(1.0)
    assert -math.pi <= yaw_rad <= math.pi


@pytest.mark.parametrize(
    ("attitude", "q"),
    [(FACING_NORTH_ENU, (1.0, 0.0, 0.0, 0.0)), (FACING_EAST_ENU, (HALF, 0.0, 0.0, HALF))],
)
def test_an_attitude_ignores_roll_and_pitch_rates_and_feeds_yaw_rate_forward(
    attitude: Any, q: tuple[float, ...]
) -> None:
    message = encoded(AttitudeCommand(0, 0, attitude, 0.6, 0.4))
    ignored = (
        dialect.ATTITUDE_TARGET_TYPEMASK_BODY_ROLL_RATE_IGNORE
        | dialect.ATTITUDE_TARGET_TYPEMASK_BODY_PITCH_RATE_IGNORE
    )
    assert message.type_mask == ignored == 0b0000_0011
    assert message.q == pytest.approx(q)
    assert (message.body_roll_rate, message.body_pitch_rate) == (0.0, 0.0)
    assert (message.body_yaw_rate, message.thrust) == (-0.4, 0.6)
    assert (message.target_system, message.target_component) == (7, 1)


def test_a_pitch_forward_lowers_the_nose() -> None:
    """Nose down is a positive pitch in FLU and a negative one in FRD."""
    sine, cosine = math.sin(0.1), math.cos(0.1)
    nose_down_facing_east = np.array([cosine, 0.0, sine, 0.0])
    w, x, y, z = encoded(AttitudeCommand(0, 0, nose_down_facing_east, 0.6)).q
    pitch_ned_rad = math.asin(2.0 * (w * y - z * x))
    assert pitch_ned_rad == pytest.approx(-0.2)


def test_body_rates_ignore_the_attitude_alone() -> None:
    message = encoded(BodyRateCommand(0, 0, np.array([0.1, 0.2, 0.3]), 0.5))
    assert message.type_mask == dialect.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE == 0b1000_0000
    rates = (message.body_roll_rate, message.body_pitch_rate, message.body_yaw_rate)
    assert rates == (0.1, -0.2, -0.3)
    assert message.thrust == 0.5


def test_there_are_no_motors_over_mavlink() -> None:
    assert set(LEVEL_OF.values()) - set(LEVELS) == {CommandLevel.DIRECT_MOTOR}
    with pytest.raises(TypeError, match="no set-point for a MotorCommand"):
        encoded(MotorCommand(0, 0, np.zeros(4)))
