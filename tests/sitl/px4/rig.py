"""A vehicle's seat, samples with round numbers, and a scripted PX4 on a real TCP connection."""

import os
import socket
from typing import Any

import numpy as np

from firmware_bridge.frame import Framer
from firmware_bridge.messages import Message, decode, dialect, encode
from ghost.core.clock import SimClock
from ghost.core.errors import LinkError
from ghost.core.frames import Geodetic
from ghost.deploy import load_robot
from ghost.hal import (
    BarometerSample,
    GpsSample,
    GroundTruth,
    Health,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    ScenarioSpec,
)
from ghost.px4 import Px4Instance
from ghost.simulation.adapter import VehicleSetup
from ghost.sitl.firmware import Seat
from ghost.sitl.px4 import SimulatorLink

ORIGIN = Geodetic(47.0, 8.0, 500.0)
SCENARIO = ScenarioSpec("px4", 0, 1_000_000, 2**62, ORIGIN)
TICK_NS = 4_000_000
ARMED, DISARMED = 129, 1


def setup(robot: str = "x500") -> VehicleSetup:
    description = load_robot(robot)
    assert description.airframe is not None
    return VehicleSetup(description.airframe, description.sensors)


def truth() -> GroundTruth:
    """A kilometre up, nose to the east, northwards at 2 m/s and sinking at 0.5."""
    return GroundTruth(
        0,
        np.array([0.0, 0.0, 1000.0]),
        np.array([0.0, 2.0, -0.5]),
        np.array([1.0, 0.0, 0.0, 0.0]),
        np.array([0.1, 0.2, 0.3]),
        np.array([0.0, 0.0, 9.80665]),
        np.array([0.0, 2.0, -0.5]),
        np.zeros(4),
    )


def seat(vehicle_id: int = 1, of: VehicleSetup | None = None) -> Seat:
    return Seat(vehicle_id, of or setup(), SCENARIO, SimClock(), truth)


def imu(z_mps2: float = 9.5, health: Health = Health.OK) -> tuple[str, ImuSample]:
    accel, gyro = np.array([0.5, 0.25, z_mps2]), np.array([0.125, 0.25, 0.5])
    return "imu", ImuSample(0, 0, accel, gyro, health=health)


def magnetometer(health: Health = Health.OK) -> tuple[str, MagnetometerSample]:
    return "magnetometer", MagnetometerSample(0, 0, np.array([2e-5, 1e-5, -4e-5]), health)


def barometer() -> tuple[str, BarometerSample]:
    return "barometer", BarometerSample(0, 0, 101_325.0, 25.0)


def rangefinder(range_m: float) -> tuple[str, RangefinderSample]:
    return "rangefinder", RangefinderSample(0, 0, range_m)


def gps() -> tuple[str, GpsSample]:
    sample = GpsSample(
        0,
        0,
        47.123_456_7,
        8.5,
        488.25,
        np.array([-3.0, 4.0, 0.5]),
        np.diag([0.09, 0.16, 0.64]),
        0.1,
        14,
    )
    return "gps", sample


def free_link() -> SimulatorLink:
    """Far from instances of people, and from those of tests in other processes."""
    for step in range(90):
        try:
            return SimulatorLink(Px4Instance(150 + (os.getpid() + step) % 90))
        except LinkError:
            continue
    raise AssertionError("no free port between 4710 and 4799")


class ScriptedPx4:
    """Says what the test says, and keeps what it is told."""

    def __init__(self, link: SimulatorLink) -> None:
        self._instance = link.instance
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        self._socket.settimeout(5.0)
        self._socket.connect(("127.0.0.1", link.instance.simulator_port))
        self._framer = Framer()

    def say(self, message: Message) -> None:
        self._socket.sendall(encode(message, system=1, component=1, sequence=0))

    def say_hello(self) -> None:
        """As PX4 does when it has connected."""
        number = dialect.MAVLINK_MSG_ID_HIL_STATE_QUATERNION
        values = (float(number), 5000.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        self.say(dialect.MAVLink_command_long_message(0, 0, 511, 0, *values))
        self.say(dialect.MAVLink_heartbeat_message(0, 12, 0, 0, 0, 3))

    def answer(self, time_us: int, *controls: float, mode: int = ARMED) -> None:
        padded = [*controls, *[0.0] * (16 - len(controls))]
        self.say(dialect.MAVLink_hil_actuator_controls_message(time_us, padded, mode, 1))

    def beat(self, state: str, mode: int = ARMED) -> None:
        """Where a gimbal listens."""
        status = getattr(dialect, f"MAV_STATE_{state}")
        beat = dialect.MAVLink_heartbeat_message(2, 12, mode, 0, status, 3)
        data = encode(beat, system=self._instance.system, component=1, sequence=0)
        self._datagrams.sendto(data, ("127.0.0.1", self._instance.gimbal_port))

    def hear(self) -> list[Any]:
        """The messages of one give."""
        heard: list[Any] = []
        while not heard or heard[-1].get_type() != "HIL_SENSOR":
            heard += [decode(frame) for frame in self._framer.feed(self._socket.recv(65536))]
        return heard

    def hang_up(self) -> None:
        self._socket.close()
        self._datagrams.close()
