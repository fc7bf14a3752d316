"""The same against a real PX4."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.flight_logs import FlightLogs
from firmware_bridge.hub import Hub, Received
from firmware_bridge.missions import MissionItem, Missions, compare
from firmware_bridge.notices import Change, Notices, ReadyChanged
from firmware_bridge.parameter_values import INT32, REAL32, diff
from firmware_bridge.parameters import Parameters
from firmware_bridge.timesync import TimeSync
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError
from tests.firmware_bridge import signing_story
from tests.px4 import Px4, Start

pytestmark = pytest.mark.slow

MS, S = 1_000_000, 1_000_000_000
SIMULATED_STEP_NS = 4 * MS
"""PX4's simulated clock goes on by so much at once."""
RELATIVE, RELATIVE_INT = 3, 6
TAKEOFF, WAYPOINT, LAND = 22, 16, 21


@contextmanager
def _found(running: Px4) -> Iterator[Vehicle]:
    hub = Hub(time.monotonic_ns, system=running.system, component=191)
    hub.add(parse_endpoint(running.url))
    vehicle = Vehicle(hub, system=running.system)
    try:
        vehicle.find()
        yield vehicle
    finally:
        hub.close()


def test_parameters(px4: Start, tmp_path: Path) -> None:
    with _found(px4()) as vehicle:
        parameters = Parameters(vehicle)
        before = parameters.read_all()
        assert len(before) > 500
        assert before["MIS_TAKEOFF_ALT"].kind == REAL32
        assert before["COM_LOW_BAT_ACT"].kind == INT32
        path = tmp_path / "before.params"
        assert parameters.export(path) == len(before)
        parameters.set("MIS_TAKEOFF_ALT", 7.1)
        parameters.set("COM_LOW_BAT_ACT", 2)
        changed = diff(before, parameters.read_all())
        assert {one.name for one in changed} == {"COM_LOW_BAT_ACT", "MIS_TAKEOFF_ALT"}
        assert parameters.load(path) == ("COM_LOW_BAT_ACT", "MIS_TAKEOFF_ALT")
        assert parameters.get("COM_LOW_BAT_ACT") == before["COM_LOW_BAT_ACT"].value
        with pytest.raises(ConfigError, match="no parameter MIS_TAKEOF_ALT; the nearest is MIS_T"):
            parameters.get("MIS_TAKEOF_ALT")


def test_signing(px4: Start, tmp_path: Path) -> None:
    with _found(px4()) as vehicle:
        signing_story.tell(vehicle, tmp_path)


def _mission() -> list[MissionItem]:
    places = [(TAKEOFF, 0), (WAYPOINT, 1000), (WAYPOINT, 2000), (LAND, 0)]
    return [
        MissionItem(
            seq,
            RELATIVE if seq % 2 else RELATIVE_INT,
            command,
            param4=math.nan,
            x=473977420 + north,
            y=85455940,
            z=0.0 if command == LAND else 10.1,
        )
        for seq, (command, north) in enumerate(places)
    ]


def test_missions(px4: Start) -> None:
    with _found(px4()) as vehicle:
        missions = Missions(vehicle)
        missions.upload(_mission())
        assert compare(_mission(), missions.download()) == ()
        impossible = [MissionItem(0, RELATIVE, 65000)]
        with pytest.raises(RefusedError, match="upload of the mission was refused: UNSUPPORTED"):
            missions.upload(impossible)
        missions.clear()
        assert missions.download() == ()


def test_logs(px4: Start, tmp_path: Path) -> None:
    running = px4(PX4_PARAM_SDLOG_MODE="2")
    with _found(running) as vehicle:
        vehicle.hub.spin(vehicle.hub.now_ns() + 2 * S)
        logs = FlightLogs(vehicle)
        (log,) = logs.list()
        assert log.size_bytes > 0
        path = tmp_path / "fetched.ulg"
        logs.download(log, path)
        (written,) = running.folder.glob("log/*/*.ulg")
        with written.open("rb") as file:
            assert path.read_bytes() == file.read(log.size_bytes)


def test_time_and_notices(px4: Start) -> None:
    changes: list[Change] = []
    late_ns: list[int] = []
    with _found(px4()) as vehicle:
        Notices(vehicle, on_change=changes.append)
        sync = TimeSync(vehicle)
        sync.wait()
        vehicle.hub.spin(vehicle.hub.now_ns() + 2 * S)

        def on_attitude(received: Received) -> None:
            told_ns = sync.boot_ms_to_run_ns(received.message.time_boot_ms)
            late_ns.append(received.at_ns - told_ns + sync.uncertainty_ns)

        vehicle.hub.on("ATTITUDE", on_attitude)
        vehicle.hub.spin_until(lambda: len(late_ns) >= 300, within_ns=10 * S, what="attitudes")
        assert sync.resets == 0
        assert min(late_ns) >= -SIMULATED_STEP_NS, "nothing is heard before it is measured"
        assert sorted(late_ns)[len(late_ns) // 2] < 50 * MS
        vehicle.hub.spin_until(
            lambda: ReadyChanged(is_ready=True) in changes, within_ns=40 * S, what="ready to arm"
        )
