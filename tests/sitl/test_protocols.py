"""Parameters and missions, with the clients of firmware_bridge at the other end."""

from collections.abc import Iterator

import pytest

from firmware_bridge.mission_items import MissionItem, compare
from firmware_bridge.missions import Missions
from firmware_bridge.parameters import Parameters
from tests.sitl.rig import Client, flying


@pytest.fixture
def client() -> Iterator[Client]:
    with flying() as client:
        client.vehicle.find()
        yield client


def test_all_parameters_are_read_and_some_are_written(client: Client) -> None:
    parameters = Parameters(client.vehicle)
    table = parameters.read_all()
    assert len(table) >= 25
    assert table["COM_OF_LOSS_T"].value == 2.5  # the robot's half second, at five times the speed
    assert table["SYS_AUTOSTART"].value == 4001
    parameters.set("MIS_TAKEOFF_ALT", 6.0)
    assert parameters.get("MIS_TAKEOFF_ALT") == 6.0


def test_missions_come_back_as_they_went(client: Client) -> None:
    items = [
        MissionItem(0, 6, 22, 0.0, 0.0, 0.0, 1.5, 473_977_420, 85_455_940, 5.0),
        MissionItem(1, 6, 16, 2.0, 0.5, 0.0, float("nan"), 473_978_123, 85_455_941, 7.25),
        MissionItem(2, 2, 178, 1.0, 3.0, -1.0, 0.0),
        MissionItem(3, 6, 21, 0.0, 0.0, 0.0, 0.0, 473_978_123, 85_455_941, 0.0),
        MissionItem(4, 2, 20),
    ]
    client.make_ready()
    missions = Missions(client.vehicle)
    missions.upload(items)
    assert compare(items, missions.download()) == ()
    missions.clear()
    assert missions.download() == ()
