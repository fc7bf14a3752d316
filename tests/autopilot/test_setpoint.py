"""Where each command goes in what the loops are told."""

from typing import Any

import numpy as np
import pytest

from ghost.autopilot import setpoint
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    CommandLevel,
    MotorCommand,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)

PLACE, SPEED, PUSH = np.arange(1.0, 10.0).reshape(3, 3)
TURN = np.array([0.5, -0.5, 0.5, -0.5])
STALE = 99.0


@pytest.mark.parametrize(
    ("command", "level", "filled"),
    [
        (MotorCommand(1, 1, np.ones(4)), CommandLevel.DIRECT_MOTOR, {}),
        (BodyRateCommand(1, 1, SPEED, 0.4), CommandLevel.BODY_RATE, {14: SPEED, 17: [0.4]}),
        (
            AttitudeCommand(1, 1, TURN, 0.4, 0.2),
            CommandLevel.ATTITUDE,
            {10: TURN, 17: [0.4], 19: [0.2]},
        ),
        (
            VelocityCommand(1, 1, SPEED, 0.3, 0.2),
            CommandLevel.VELOCITY,
            {4: SPEED, 7: [0.0] * 3, 18: [0.3], 19: [0.2]},
        ),
        (
            PositionCommand(1, 1, PLACE, 0.3),
            CommandLevel.POSITION,
            {1: PLACE, 4: [0.0] * 6, 18: [0.3], 19: [0.0]},
        ),
        (
            TrajectoryCommand(1, 1, PLACE, SPEED, PUSH, 0.3, 0.2),
            CommandLevel.TRAJECTORY,
            {1: PLACE, 4: SPEED, 7: PUSH, 18: [0.3], 19: [0.2]},
        ),
    ],
)
def test_a_command_fills_in_its_level_and_what_it_feeds_forward(
    command: Any, level: CommandLevel, filled: dict[int, Any]
) -> None:
    want = np.full(setpoint.SIZE, STALE)
    setpoint.fill(want, command)
    expected = np.full(setpoint.SIZE, STALE)
    expected[0] = level
    for first, values in filled.items():
        expected[first : first + len(values)] = values
    np.testing.assert_array_equal(want, expected)


def test_drifting_down_counts_as_told_down() -> None:
    want = np.zeros(setpoint.SIZE)
    setpoint.drift_down(want, [1.0, 0.0, 0.0, 0.0], 0.4)
    assert want[0] == CommandLevel.ATTITUDE
    assert want[6] < -0.3, "or the land detector would wait for ever"
    assert want[17] == 0.4
