"""Worlds for the Gazebo adapter, and servers that answer what they are told to."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ghost.core.random import RandomSource
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import Start, VehicleSetup, Wind, World
from ghost.simulation.gazebo.adapter import GazeboAdapter
from ghost.simulation.models.sensors import ImuModel, SensorModel
from ghost.simulation.scenery import NOTHING, Scenery
from tests.simulation.airframes import shipped
from tests.simulation.gazebo.standin import state_json

MS = 1_000_000
SECOND = 1_000_000_000
IRIS = shipped("iris")
Answer = Callable[[int], bytes | None]
QUIET_IMU = ImuModel(
    name="imu",
    period_ns=4 * MS,
    accel_noise=0.0,
    gyro_noise=0.0,
    accel_bias_mps2=0.0,
    gyro_bias_rps=0.0,
    accel_walk=0.0,
    gyro_walk=0.0,
)

REST = {"gyro": (0.0, 0.0, 0.0), "accel": (0.0, 0.0, -9.8), "velocity": (0.0, 0.0, 0.0)}
PLACE = {"position": (0.0, 0.0, -0.195), "quaternion": (1.0, 0.0, 0.0, 0.0)}
REST_FRAMES = 60
"""More than it takes to meet a vehicle at rest."""


def iris(*sensors: SensorModel, **start: Any) -> VehicleSetup:
    return VehicleSetup(IRIS, sensors, Start(**start))


def world(
    *vehicles: VehicleSetup,
    step_ns: int = MS,
    wind: Wind = Wind(),  # noqa: B008 - frozen
    scenery: Scenery = NOTHING,
) -> World:
    spec = ScenarioSpec("test", 1, step_ns, 3600 * SECOND)
    return World(spec, vehicles or (iris(),), RandomSource(1), wind, scenery)


@contextmanager
def connected(address: str, *vehicles: VehicleSetup, **settings: Any) -> Iterator[GazeboAdapter]:
    adapter = GazeboAdapter(address)
    adapter.connect(world(*vehicles, **settings))
    try:
        yield adapter
    finally:
        adapter.disconnect()


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """A server that gives the packet with that number, from 0, this answer. Yields its address."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(0.02)
    is_over = threading.Event()

    def run() -> None:
        number = 0
        while not is_over.is_set():
            try:
                _, client = server.recvfrom(100)
            except TimeoutError:
                continue
            told, number = answer(number), number + 1
            if told is not None:
                server.sendto(told, client)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        is_over.set()
        thread.join(5.0)
        server.close()


def said(number: int, **changes: Any) -> bytes:
    """The answer to the packet with that number, of a vehicle that stands on its legs."""
    return state_json((1000 + number) / 1e3, **(REST | PLACE | changes))


def at_rest_until(number: int, then: Answer) -> Answer:
    return lambda now: said(now) if now < number else then(now)
