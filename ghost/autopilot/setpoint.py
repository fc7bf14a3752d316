"""The set-point that the control kernel reads, and how commands and manoeuvres fill it."""

import numpy as np
from numpy.typing import NDArray

from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    Command,
    CommandLevel,
    MotorCommand,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)

FloatArray = NDArray[np.float64]
SIZE = 20


def fill(want: FloatArray, command: Command) -> None:
    """Write a command into want, as ghost.control.kernel lays it out; motors bypass it."""
    if isinstance(command, MotorCommand):
        want[0] = CommandLevel.DIRECT_MOTOR
        return
    if isinstance(command, BodyRateCommand):
        want[0] = CommandLevel.BODY_RATE
        want[14:17] = command.rate_flu_rps
        want[17] = command.thrust
        return
    if isinstance(command, AttitudeCommand):
        want[0] = CommandLevel.ATTITUDE
        want[10:14] = command.attitude
        want[17] = command.thrust
        want[19] = command.yaw_rate_rps
        return
    want[18] = command.yaw_rad
    want[4:10] = 0.0
    if isinstance(command, VelocityCommand):
        want[0] = CommandLevel.VELOCITY
        want[4:7] = command.velocity_enu_mps
        want[19] = command.yaw_rate_rps
    elif isinstance(command, PositionCommand):
        want[0] = CommandLevel.POSITION
        want[1:4] = command.position_enu_m
        want[19] = 0.0
    elif isinstance(command, TrajectoryCommand):
        want[0] = CommandLevel.TRAJECTORY
        want[1:4] = command.position_enu_m
        want[4:7] = command.velocity_enu_mps
        want[7:10] = command.acceleration_enu_mps2
        want[19] = command.yaw_rate_rps


def drift_down(want: FloatArray, yaw_attitude: list[float], thrust: float) -> None:
    """Level, with less thrust than weight: all that can be done without a position."""
    want[0] = CommandLevel.ATTITUDE
    want[10:14] = yaw_attitude
    want[6] = -1.0  # not what the loops follow, but what the land detector asks for
    want[17], want[19] = thrust, 0.0
