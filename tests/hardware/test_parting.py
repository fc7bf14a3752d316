"""What `ghost deploy run` says to the vehicle last, when it is told to leave at once."""

from pathlib import Path

import pytest

from firmware_bridge import modes
from firmware_bridge.messages import dialect
from ghost.deploy import RealFlight, RunOrder, find_shipped, load_mission, load_robot
from ghost.events import EVENTS, EventKind
from tests.firmware_bridge.link_rig import free_port
from tests.hardware.rig import Autopilot, beating
from tests.hardware.runs import messages

pytestmark = pytest.mark.usefixtures("soon")

SET_MODE = dialect.MAV_CMD_DO_SET_MODE


def leave(autopilot: Autopilot, folder: Path, *, pilot: str = "") -> str:
    """Fly until it is armed, leave at once, and tell what was said of it."""
    port = free_port()
    mission = load_mission(find_shipped("missions", "hover"))
    links = (f"udpin://127.0.0.1:{port}",)

    def stop(flight: RealFlight) -> None:
        status = flight.statistics.status
        if status is not None and status.armed:
            if pilot:
                peer.beat["custom_mode"] = modes.mode_named(pilot).custom_mode
            for _ in range(2):
                flight.request_landing()

    with beating(autopilot, port, beat_ns=600_000_000) as peer:
        order = RunOrder(load_robot("x500"), mission, links, folder, allow_arming=True)
        RealFlight(order).run(stop)
    (said,) = [one.text for one in messages(folder, EVENTS) if one.kind == EventKind.LET_GO]
    return str(said)


def test_it_is_asked_to_land_until_it_answers(tmp_path: Path) -> None:
    autopilot = Autopilot(loses=2)
    assert leave(autopilot, tmp_path / "run") == "LAND asked for at the end, granted"
    land = modes.mode_named("LAND")
    asked = [one for one in autopilot.commands if one[0] == SET_MODE]
    assert asked == [(SET_MODE, 1.0, land.main, land.sub)] * 3


def test_a_pilot_who_takes_over_just_then_is_not_asked_again(tmp_path: Path) -> None:
    autopilot = Autopilot()
    said = leave(autopilot, tmp_path / "run", pilot="POSITION")
    assert said.startswith("LAND asked for at the end, refused: the mode has just changed from ")
    assert not [one for one in autopilot.commands if one[0] == SET_MODE]
