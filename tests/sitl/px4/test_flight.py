"""Real PX4s fly our physics in lockstep: GHOST_PX4 names their installation."""

import math
import os
import signal
import time
from typing import Any

import pytest

from tests.sitl.px4.fleet import HEIGHT_M, SQUARE_NED_M, Companion, Fleet

METRE_DEG = 1.0 / 111_180.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_one_px4_flies_a_square_and_lands(fleet: Fleet) -> None:
    (system,) = fleet.launch(1)
    companion = Companion(system)
    try:
        companion.px4.find()
        companion.px4.set_mode("OFFBOARD")  # too early: its motors fall silent
        silent_ns = fleet.bridge.clock.now_ns()
        fleet.until(lambda: fleet.bridge.clock.now_ns() > silent_ns + 10**9, "time to go on")
        companion.px4.set_mode("HOLD")
        companion.make_ready()
        began_s, began_ns = time.monotonic(), fleet.bridge.clock.now_ns()
        companion.take_off()
        for north_m, east_m in SQUARE_NED_M:
            companion.go(north_m, east_m)
            there = fleet.position_ned_m(system)
            assert math.dist(there, (north_m, east_m, -HEIGHT_M)) < 2.5  # its GPS errs as well
        companion.land()
    finally:
        companion.close()
    flown_s = (fleet.bridge.clock.now_ns() - began_ns) / 1e9
    print(f"{flown_s:.1f} s in {time.monotonic() - began_s:.1f} s")  # noqa: T201 - with -s
    assert math.dist(fleet.position_ned_m(system), (0.0, 0.0, -0.2)) < 2.5
    assert not fleet.losses
    process = fleet.firmware(system).process
    assert process is not None
    assert process.ulogs()


def test_mavsdk_flies_three_side_by_side(fleet: Fleet) -> None:
    mavsdk = pytest.importorskip("mavsdk", reason="pip install -e '.[hil]'")
    from mavsdk.plugins.action import Action  # noqa: PLC0415 - an extra
    from mavsdk.plugins.telemetry import Telemetry  # noqa: PLC0415

    systems = fleet.launch(3)
    clients = [connected(mavsdk, system) for system in systems]
    actions = [Action(found) for _, found in clients]
    telemetries = [Telemetry(found) for _, found in clients]
    try:
        assert [found.get_system_id() for _, found in clients] == systems
        fleet.until(lambda: all(one.health_all_ok() for one in telemetries), "all checks")
        homes = [one.position() for one in telemetries]
        for action in actions:
            action.set_takeoff_altitude(HEIGHT_M)
            action.arm()
            action.takeoff()
        for system in systems:
            fleet.until(lambda: fleet.position_ned_m(system)[2] < 1.0 - HEIGHT_M, "take-off")  # noqa: B023
        for north_m, east_m in SQUARE_NED_M:
            for action, home in zip(actions, homes, strict=True):
                east_deg = METRE_DEG / math.cos(math.radians(home.latitude_deg))
                action.goto_location(
                    home.latitude_deg + north_m * METRE_DEG,
                    home.longitude_deg + east_m * east_deg,
                    home.absolute_altitude_m + HEIGHT_M,
                    0.0,
                )
            for system in systems:
                fleet.until(
                    lambda: math.dist(fleet.position_ned_m(system)[:2], (north_m, east_m)) < 2.5,  # noqa: B023
                    f"system {system} at {north_m} m north, {east_m} m east",
                )
        for action in actions:
            action.land()
        fleet.until(lambda: not any(one.armed() for one in telemetries), "the landings")
    finally:
        for client, _ in clients:
            client.destroy()
    assert not fleet.losses


def connected(mavsdk: Any, system: int) -> tuple[Any, Any]:
    kind = mavsdk.ComponentType.GROUND_STATION
    client = mavsdk.Mavsdk(mavsdk.Configuration.create_with_component_type(kind))
    url = f"udpin://127.0.0.1:{14540 + system - 1}"
    assert client.add_any_connection(url).name == "SUCCESS"
    found = client.first_autopilot(20.0)
    assert found is not None, f"MAVSDK heard nothing on {url}"
    return client, found


def test_one_is_killed_in_flight_and_the_other_flies_on(fleet: Fleet) -> None:
    first, second = fleet.launch(2)
    companions = [Companion(first), Companion(second)]
    try:
        for companion in companions:
            companion.make_ready()
            companion.take_off()
        victim = fleet.firmware(first).process
        assert victim is not None
        os.kill(victim.pid, signal.SIGKILL)
        fleet.until(lambda: fleet.losses, "the loss to be told")
        companions[1].go(5.0, 5.0)
        assert math.dist(fleet.position_ned_m(second), (5.0, 5.0, -HEIGHT_M)) < 2.5
        companions[1].land()
    finally:
        for companion in companions:
            companion.close()
    (loss,) = fleet.losses
    assert loss.vehicle_ids == (first,)
    assert f"PX4 instance {first - 1} (system {first}) hung up" in loss.reason
    assert "ended by SIGKILL" in loss.reason
