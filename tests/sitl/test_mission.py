"""Missions over the wire: what is refused, and one that is flown to its end."""

from collections.abc import Iterator
from typing import Any

import pytest

from firmware_bridge.hub import Received
from firmware_bridge.messages import Message, dialect
from tests.sitl.rig import SECOND_NS, Client, flying

TAKEOFF, WAYPOINT = dialect.MAV_CMD_NAV_TAKEOFF, dialect.MAV_CMD_NAV_WAYPOINT
LAND, RETURN = dialect.MAV_CMD_NAV_LAND, dialect.MAV_CMD_NAV_RETURN_TO_LAUNCH
RELATIVE = dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
ACCEPTED = dialect.MAV_MISSION_ACCEPTED
METRE_1E7 = 1e7 / 111_180.0
NAN = float("nan")


@pytest.fixture
def client() -> Iterator[Client]:
    with flying() as client:
        client.make_ready()
        yield client


def item(seq: int, command: int, x: int = 0, y: int = 0, z: float = 0.0, **more: Any) -> Message:
    frame, yaw, mission = more.get("frame", RELATIVE), NAN, 0
    return dialect.MAVLink_mission_item_int_message(
        1, 1, seq, frame, command, 0, 1, 0.0, 0.0, 0.0, yaw, x, y, z, mission
    )


def upload(client: Client, items: list[Message]) -> int:
    """The result of the MISSION_ACK."""
    cancel = client.hub.on(
        "MISSION_REQUEST_INT", lambda asked: client.vehicle.send(items[asked.message.seq])
    )
    client.vehicle.send(dialect.MAVLink_mission_count_message(1, 1, len(items), 0))
    ack = client.hub.wait_for(
        "MISSION_ACK", lambda _: True, within_ns=3 * SECOND_NS, what="waiting for MISSION_ACK"
    )
    cancel()
    result: int = ack.message.type
    return result


def test_flies_take_off_waypoint_and_landing(client: Client) -> None:
    here = client.newest["GLOBAL_POSITION_INT"]
    north = here.lat + round(8.0 * METRE_1E7)
    items = [
        item(0, TAKEOFF, z=4.0),
        item(1, WAYPOINT, north, here.lon, 5.0),
        item(2, LAND, north, here.lon),
    ]
    assert upload(client, items) == ACCEPTED
    reached: list[int] = []
    currents: list[tuple[int, int]] = []

    def on_current(heard: Received) -> None:
        currents.append((heard.message.seq, heard.message.mission_state))

    client.hub.on("MISSION_ITEM_REACHED", lambda heard: reached.append(heard.message.seq))
    client.hub.on("MISSION_CURRENT", on_current)
    client.vehicle.set_mode("MISSION")
    client.vehicle.arm(armed=True)
    client.until(lambda: client.vehicle.is_armed, "waiting to be armed")
    assert client.vehicle.mode == "MISSION"
    client.until(lambda: not client.vehicle.is_armed, "waiting for the landing", 30.0)
    assert reached == [0, 1, 2]
    assert client.newest["LOCAL_POSITION_NED"].x == pytest.approx(8.0, abs=1.0)
    client.until(lambda: currents[-1] == (2, dialect.MISSION_STATE_COMPLETE), "the end told")


def test_ends_with_a_return(client: Client) -> None:
    here = client.newest["GLOBAL_POSITION_INT"]
    assert upload(client, [item(0, TAKEOFF, z=3.0), item(1, RETURN, here.lat)]) == ACCEPTED
    client.vehicle.arm(armed=True)
    assert client.ack(dialect.MAV_CMD_MISSION_START) == dialect.MAV_RESULT_ACCEPTED
    client.until(lambda: client.vehicle.mode == "MISSION", "waiting for MISSION")
    client.until(lambda: client.vehicle.mode == "RETURN", "waiting for RETURN")


def test_is_paused_by_hold_and_goes_on(client: Client) -> None:
    here = client.newest["GLOBAL_POSITION_INT"]
    far = here.lat + round(30.0 * METRE_1E7)
    assert upload(client, [item(0, WAYPOINT, far, here.lon, 4.0)]) == ACCEPTED
    client.vehicle.arm(armed=True)
    client.vehicle.set_mode("MISSION")
    client.until(lambda: client.newest["LOCAL_POSITION_NED"].x > 3.0, "3 m north")
    count = dialect.MAVLink_mission_count_message(1, 1, 1, 0)
    client.vehicle.send(count)
    denied = client.hub.wait_for(
        "MISSION_ACK", lambda _: True, within_ns=SECOND_NS, what="waiting for MISSION_ACK"
    )
    assert denied.message.type == dialect.MAV_MISSION_DENIED
    client.vehicle.set_mode("HOLD")
    client.until(lambda: abs(client.newest["LOCAL_POSITION_NED"].vx) < 0.2, "standstill")
    assert client.newest["LOCAL_POSITION_NED"].x < 20.0
    client.vehicle.set_mode("MISSION")
    client.until(lambda: client.newest["LOCAL_POSITION_NED"].x > 29.0, "30 m north")
    client.until(lambda: client.vehicle.mode == "HOLD", "the end of the mission")


def test_refuses_what_it_could_not_fly(client: Client) -> None:
    here = client.newest["GLOBAL_POSITION_INT"]
    place = (here.lat, here.lon)
    camera = item(0, dialect.MAV_CMD_DO_DIGICAM_CONTROL)
    assert upload(client, [camera]) == dialect.MAV_MISSION_UNSUPPORTED
    local = item(0, WAYPOINT, *place, 4.0, frame=dialect.MAV_FRAME_LOCAL_NED)
    assert upload(client, [local]) == dialect.MAV_MISSION_UNSUPPORTED_FRAME
    assert upload(client, [item(0, WAYPOINT, *place, 900.0)]) == dialect.MAV_MISSION_INVALID
    assert upload(client, [item(0, WAYPOINT, *place, NAN)]) == dialect.MAV_MISSION_INVALID_PARAM7
    client.vehicle.arm(armed=True)
    assert client.ack(dialect.MAV_CMD_MISSION_START) != dialect.MAV_RESULT_ACCEPTED
    client.until(lambda: "MISSION denied: no mission" in client.texts, "the reason")
