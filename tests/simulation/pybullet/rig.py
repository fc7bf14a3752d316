"""Worlds of a few solids in PyBullet, and what comes of time spent in them."""

from typing import Any

from ghost.core.random import RandomSource
from ghost.hal import ContactSample, Sample, ScenarioSpec
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import (
    SimulatorAdapter,
    Start,
    VehicleSetup,
    Wind,
    World,
    load_adapter,
)
from ghost.simulation.models.sensors import SensorModel
from ghost.simulation.pybullet.adapter import PyBulletAdapter
from ghost.simulation.scenery import NOTHING, Scenery
from tests.simulation.airframes import QUAD

MS = 1_000_000
SECOND = 1_000_000_000
CALM = Wind()


def world(
    *vehicles: VehicleSetup,
    scenery: Scenery = NOTHING,
    wind: Wind = CALM,
    step_ns: int = MS,
    seed: int = 1,
) -> World:
    spec = ScenarioSpec("test", seed, step_ns, 3600 * SECOND)
    return World(spec, vehicles, RandomSource(seed), wind, scenery)


def connected(*vehicles: VehicleSetup, **settings: Any) -> PyBulletAdapter:
    adapter = load_adapter("pybullet")
    assert isinstance(adapter, PyBulletAdapter)
    adapter.connect(world(*vehicles, **settings))
    return adapter


def quad(*sensors: SensorModel, **start: Any) -> VehicleSetup:
    return VehicleSetup(QUAD, sensors, Start(**start))


def hang(adapter: SimulatorAdapter, vehicle: int = 0, airframe: Airframe = QUAD) -> None:
    """Take the weight off, so that it stays where it is, or goes on as it goes."""
    adapter.disturb(vehicle, (0.0, 0.0, airframe.mass_kg * GRAVITY_MPS2), (0.0, 0.0, 0.0))


def spend(
    adapter: SimulatorAdapter, duration_ns: int, vehicle: int = 0, cycle_ns: int = 20 * MS
) -> list[Sample]:
    """Everything that arrived, cycle by cycle."""
    heard: list[Sample] = []
    for _ in range(duration_ns // cycle_ns):
        adapter.step(cycle_ns)
        heard += [sample for _, sample in adapter.receive_sensors(vehicle)]
    return heard


def contacts(heard: list[Sample]) -> list[ContactSample]:
    return [sample for sample in heard if isinstance(sample, ContactSample)]


def seen_from(setup: VehicleSetup, scenery: Scenery = NOTHING, *others: VehicleSetup) -> Any:
    """One sample of the vehicle's one sensor, from where it hangs."""
    adapter = connected(setup, *others, scenery=scenery)
    for vehicle, each in enumerate((setup, *others)):
        hang(adapter, vehicle, each.airframe)
    adapter.step(MS)
    ((_, sample),) = adapter.receive_sensors(0)
    adapter.disconnect()
    return sample
