"""Vehicles in JSBSim, where it is installed."""

from typing import Any

import pytest

from ghost.core.frames import Geodetic
from ghost.core.random import RandomSource
from ghost.hal import ScenarioSpec
from ghost.hal.airframe import Airframe
from ghost.hal.scenario import ZURICH
from ghost.simulation.adapter import SimulatorAdapter, Start, VehicleSetup, Wind, World

pytest.importorskip("jsbsim", reason="jsbsim is not installed: pip install -e '.[jsbsim]'")

MS = 1_000_000
SECOND = 1_000_000_000


def begun(
    adapter: SimulatorAdapter,
    *airframes: Airframe,
    origin: Geodetic = ZURICH,
    wind: Wind | None = None,
    step_ns: int = MS,
    **start: Any,
) -> Any:
    spec = ScenarioSpec("test", 1, step_ns, 3600 * SECOND, origin)
    setups = tuple(VehicleSetup(airframe, (), Start(**start)) for airframe in airframes)
    adapter.connect(World(spec, setups, RandomSource(1), wind or Wind()))
    return adapter
