"""Canonical flights, each flown once for all tests of a session."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ghost.deploy import (
    Order,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
)

SEED = 1
CANON = {
    "calm square": ("x500", "square", "calm"),
    "gusty survey": ("x500", "survey", "gusty"),
    "GPS outage": ("x500", "square", "gps_outage"),
    "weak motor": ("x500", "square", "weak_motor"),
    "hexa": ("hexa", "square", "gusty"),
    "crazyflie": ("crazyflie", "hover", "calm"),
}


def fly(name: str, folder: Path) -> Path:
    robot, mission, scenario = CANON[name]
    order = Order(
        load_robot(robot),
        load_mission(find_shipped("missions", mission)),
        load_scenario(scenario, SEED),
        folder,
    )
    assert SimulatedFlight(order).run().succeeded
    return folder


@pytest.fixture(scope="session")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run folder of a canonical flight."""
    return cache(lambda name: fly(name, tmp_path_factory.mktemp("flight") / "run"))


@pytest.fixture(scope="session")
def flown_again(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: fly(name, tmp_path_factory.mktemp("again") / "run"))
