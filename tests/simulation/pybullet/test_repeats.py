"""The same world again is the same to the last bit, whoever else is there, and nothing is left."""

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from ghost.deploy.world import load_world
from ghost.hal import ContactSample
from ghost.simulation.adapter import Start, VehicleSetup, Wind
from ghost.simulation.models.sensors import ImuModel, SensorModel
from ghost.simulation.models.vision import DepthCameraModel, LaserScanModel, RgbCameraModel
from ghost.simulation.pybullet import kernel
from ghost.simulation.pybullet.adapter import PyBulletAdapter
from ghost.simulation.pybullet.client import pybullet
from tests.interpreted import interpreted
from tests.simulation.airframes import HOVER, QUAD, shipped
from tests.simulation.pybullet.rig import MS, connected, quad, world

SENSORS: tuple[SensorModel, ...] = (
    ImuModel(name="imu", period_ns=4 * MS),
    LaserScanModel(name="scan", period_ns=100 * MS, max_m=20.0),
    DepthCameraModel(name="depth", period_ns=100 * MS, width_px=40, height_px=30, fx_px=20.0),
    RgbCameraModel(name="rgb", period_ns=200 * MS, width_px=40, height_px=30, fx_px=20.0),
)
FOREST = load_world("forest")
VEHICLES = (
    VehicleSetup(QUAD, SENSORS, Start((0.0, 0.0, 3.0), velocity_enu_mps=(9.0, 4.0, 1.0))),
    VehicleSetup(shipped("hexa"), SENSORS, Start((1.0, -9.0, 2.0), velocity_enu_mps=(2, 0, 0))),
)
GUSTY = Wind((1.0, 0.0, 0.0), gust_mps=2.0)
Story = list[Any]


def fly(adapter: PyBulletAdapter) -> Iterator[Story]:
    """Two vehicles through the trees, until well after they have hit some; a tick per turn."""
    adapter.connect(world(*VEHICLES, scenery=FOREST, wind=GUSTY))
    for tick in range(750):
        adapter.send_motors(0, np.full(4, HOVER + 0.05 * (tick % 3)))
        adapter.send_motors(1, np.full(6, 0.6))
        adapter.step(4 * MS)
        heard = [adapter.receive_sensors(vehicle) for vehicle in (0, 1)]
        bodies = adapter._flight.physics.body if adapter._flight else None
        yield [*heard, np.array(bodies).tobytes()]


def told(adapter: PyBulletAdapter) -> list[Story]:
    return list(fly(adapter))


@pytest.fixture(scope="module")
def alone() -> list[Story]:
    return told(PyBulletAdapter())


def test_a_world_connected_again_repeats_to_the_last_bit(alone: list[Story]) -> None:
    hits = [
        sample
        for first, second, _ in alone
        for _, sample in (*first, *second)
        if isinstance(sample, ContactSample)
    ]
    assert {hit.other[:4] for hit in hits} >= {"tree", "grou"}, "there is contact to repeat"
    adapter = PyBulletAdapter()
    assert _same(told(adapter), alone)
    assert _same(told(adapter), alone)


def test_two_adapters_in_turns_are_each_as_if_alone(alone: list[Story]) -> None:
    both = list(zip(fly(PyBulletAdapter()), fly(PyBulletAdapter()), strict=True))
    assert _same([first for first, _ in both], alone)
    assert _same([second for _, second in both], alone)


def _same(ours: list[Story], theirs: list[Story]) -> bool:
    return all(one == other for one, other in zip(ours, theirs, strict=True))


def test_the_kernel_compiled_and_interpreted_is_the_same_bits() -> None:
    plain = interpreted(kernel)
    start = quad(
        position_enu_m=(0.0, 0.0, 9.0), velocity_enu_mps=(1.0, 2.0, 3.0), rate_flu_rps=(3, -6, 2)
    )
    bodies = []
    for load, observe in ((kernel.load, kernel.observe), (plain.load, plain.observe)):
        adapter = connected(start)
        physics: Any = adapter._flight.physics if adapter._flight else None
        physics._load = partial(load, *physics._load.args)
        physics._observe = partial(observe, *physics._observe.args)
        adapter.send_motors(0, np.array([0.7, 0.6, 0.72, 0.68]))
        adapter.step(500 * MS)
        bodies.append(physics.body.tobytes() + physics.felt.tobytes())
    assert bodies[0] == bodies[1]


# Clients.


def open_clients() -> set[int]:
    return {number for number in range(100) if pybullet.getConnectionInfo(number)["isConnected"]}


@pytest.fixture
def before() -> set[int]:
    gc.collect()
    return open_clients()


def test_a_disconnected_world_is_gone_however_often(before: set[int]) -> None:
    adapter = PyBulletAdapter()
    for _ in range(50):
        adapter.connect(world(quad()))
        (number,) = open_clients() - before
        adapter.step(MS)
        adapter.disconnect()
        assert number not in open_clients()
    adapter.disconnect()
    assert open_clients() == before


def test_a_world_connected_anew_takes_the_place_of_the_old(before: set[int]) -> None:
    adapter = connected(quad())
    adapter.connect(world(quad()))
    assert len(open_clients() - before) == 1
    adapter.disconnect()


def test_a_world_that_is_forgotten_is_closed_as_well(before: set[int]) -> None:
    adapter: PyBulletAdapter | None = connected(quad())
    assert len(open_clients()) == len(before) + 1
    adapter = None  # noqa: F841 - that is forgetting it
    gc.collect()
    assert open_clients() == before
