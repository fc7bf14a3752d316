"""A log's sensors, given again to a fresh estimator and a fresh mission, give the same answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ghost.deploy import find_shipped, load_mission, load_robot, load_scenario
from ghost.deploy.hal import estimator_config
from ghost.estimation import Estimator
from ghost.hal import VehicleState
from ghost.mission import Result, rerun_mission
from ghost.telemetry import LogReader
from tests.determinism.conftest import CANON, SEED

Flown = Callable[[str], Path]


@pytest.mark.parametrize("name", ["calm square", "GPS outage"])
def test_the_estimator_says_the_same_again(name: str, flown: Flown) -> None:
    scenario = load_scenario(CANON[name][2], SEED)
    sensors = load_robot(CANON[name][0]).sensors
    estimator = Estimator(estimator_config(sensors, scenario.spec.origin))
    log = LogReader(flown(name))
    channels = [channel for channel in log.channels if channel.startswith("/sensors/")]
    compared = 0
    for record in log.messages([*channels, "/state/vehicle"]):
        if isinstance(record.message, VehicleState):
            estimator.advance_to(record.stamp_ns)
            assert estimator.state(record.message.sequence) == record.message
            compared += 1
        else:
            estimator.add(record.message)
    assert compared > 2000


def test_the_mission_asks_for_the_same_again(flown: Flown) -> None:
    robot, mission, _ = CANON["calm square"]
    log = LogReader(flown("calm square"))
    rerun = rerun_mission(
        log, load_mission(find_shipped("missions", mission)), load_robot(robot).envelope
    )
    assert rerun.outcome.result is Result.COMPLETED
    said = [record.message for record in log.messages(["/cmd/trajectory"])]
    assert list(rerun.commands) == said
    assert len(said) > 1000
