"""A real PX4 follows the set-points of every level that the backend declares, and leaves OFFBOARD
when they end, in the time that its parameter says.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from firmware_bridge.parameters import Parameters
from ghost.core.errors import StalledError
from ghost.core.rotations import from_yaw, yaw_of
from ghost.deploy import load_robot
from ghost.hal import (
    Action,
    AttitudeCommand,
    BodyRateCommand,
    Command,
    CommandLevel,
    EstimateHealth,
    FlightMode,
    PositionCommand,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
    VelocityCommand,
)
from ghost.hardware.px4 import Px4Backend
from ghost.hardware.setpoints import LEVELS
from tests.px4 import Start

STREAM_NS = 20_000_000
CLIMB_MPS, TURN_RPS, THRUST_TO_CLIMB = 0.5, 0.4, 0.65

SetPoint = Callable[[int, int], Command]
"""Of a time and a number."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


class Flier:
    """Streams what it is given, and asks for OFFBOARD until it has it."""

    def __init__(self, backend: Px4Backend) -> None:
        self.backend = backend
        self.sequence = 0

    @property
    def state(self) -> VehicleState:
        newest = self.backend.sensors["vehicle"].poll()
        assert isinstance(newest, VehicleState)
        return newest

    @property
    def status(self) -> VehicleStatus:
        newest = self.backend.sensors["status"].poll()
        assert isinstance(newest, VehicleStatus)
        return newest

    @property
    def is_offboard(self) -> bool:
        return self.status.mode is FlightMode.OFFBOARD

    def until(self, is_so: Callable[[], bool], what: str, within_s: float = 40.0) -> None:
        end_s = time.monotonic() + within_s
        while not is_so():
            assert time.monotonic() < end_s, f"waited {within_s} s for {what}: {self.status}"
            self.backend.spin(self.backend.clock.now_ns() + STREAM_NS)

    def order(self, action: Action, *, altitude_m: float = 0.0) -> None:
        controller = self.backend.flight_controller
        self.until(lambda: controller.request(action, altitude_m=altitude_m).accepted, action.name)

    def fly(self, command: SetPoint, is_so: Callable[[], bool]) -> None:
        asked_s = time.monotonic()  # not before there are some

        def is_done() -> bool:
            nonlocal asked_s
            self.sequence += 1
            ack = self.backend.actuators.send(command(self.backend.clock.now_ns(), self.sequence))
            assert ack.accepted, ack
            if not self.is_offboard and time.monotonic() - asked_s > 0.5:
                asked_s = time.monotonic()
                self.backend.flight_controller.request(Action.OFFBOARD)
            return self.is_offboard and is_so()

        self.until(is_done, "what the set-points say")


@pytest.fixture
def flier(px4: Start) -> Iterator[Flier]:
    vehicle = px4(PX4_PARAM_MPC_TKO_SPEED="3", PX4_PARAM_COM_DISARM_LAND="0.5")
    backend = Px4Backend(load_robot("x500"), links=(vehicle.url,), allow_arming=True)
    try:
        backend.start()
    except StalledError:  # it boots, and has no estimate yet
        backend.start()
    flier = Flier(backend)
    flier.until(lambda: flier.state.verdict is EstimateHealth.GOOD, "an estimate")
    flier.until(lambda: not flier.status.blocked, "its checks")
    flier.order(Action.ARM)
    flier.until(lambda: backend.actuators.armed, "arming")
    flier.order(Action.TAKEOFF, altitude_m=6.0)
    flier.until(lambda: flier.status.mode is FlightMode.HOLD and is_above(flier, 5.0), "6 m")
    yield flier
    flier.order(Action.LAND)
    flier.until(lambda: not flier.status.armed, "the landing")
    backend.stop()


def is_above(flier: Flier, height_m: float) -> bool:
    return bool(flier.state.position_enu_m[2] > height_m)


def test_px4_follows_every_level_and_falls_out_of_offboard_in_time(flier: Flier) -> None:
    home_m, yaw_rad = flier.state.position_enu_m.copy(), yaw_of(flier.state.attitude)
    target_m = home_m + np.array([3.0, -2.0, 1.0])
    level = from_yaw(yaw_rad)
    zero, north_mps, turn_rps = np.zeros(3), np.array([0.0, 1.5, 0.0]), np.array([0.0, 0.0, 0.6])

    def is_at(place_m: NDArray[np.float64]) -> bool:
        state = flier.state
        is_slow = np.abs(state.velocity_enu_mps).max() < 0.3
        return bool(is_slow and np.abs(state.position_enu_m - place_m).max() < 0.5)

    def stay(stamp_ns: int, number: int) -> Command:
        return PositionCommand(stamp_ns, number, home_m, yaw_rad)

    flown: dict[CommandLevel, tuple[SetPoint, Callable[[], bool]]] = {
        CommandLevel.POSITION: (
            lambda at_ns, number: PositionCommand(at_ns, number, target_m, yaw_rad),
            lambda: is_at(target_m),
        ),
        CommandLevel.VELOCITY: (
            lambda at_ns, number: VelocityCommand(at_ns, number, north_mps, yaw_rad, 0.0),
            lambda: bool(np.abs(flier.state.velocity_enu_mps - north_mps).max() < 0.4),
        ),
        CommandLevel.TRAJECTORY: (
            lambda at_ns, number: TrajectoryCommand(
                at_ns, number, home_m, zero, zero, yaw_rad, 0.0
            ),
            lambda: is_at(home_m),
        ),
        CommandLevel.ATTITUDE: (
            lambda at_ns, number: AttitudeCommand(at_ns, number, level, THRUST_TO_CLIMB, 0.0),
            lambda: bool(flier.state.velocity_enu_mps[2] > CLIMB_MPS),
        ),
        CommandLevel.BODY_RATE: (
            lambda at_ns, number: BodyRateCommand(at_ns, number, turn_rps, 0.5),
            lambda: bool(flier.state.rate_flu_rps[2] > TURN_RPS),
        ),
    }
    assert flown.keys() == set(LEVELS)
    for command, is_so in flown.values():
        flier.fly(command, is_so)
        flier.fly(stay, lambda: is_at(home_m))

    parameters = Parameters(flier.backend.vehicle)
    for loss_s in (0.6, 2.0):
        parameters.set("COM_OF_LOSS_T", loss_s)
        flier.fly(stay, lambda: is_at(home_m))
        ended_s = time.monotonic()
        flier.until(lambda: not flier.is_offboard, "the failsafe")
        assert loss_s - 0.1 < time.monotonic() - ended_s < loss_s + 0.5
        assert flier.status.armed
