"""`ghost deploy run` on a real PX4 in simulation, as it would be on a vehicle."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.vehicle import Vehicle
from ghost.core.channels import Channel
from ghost.events import EVENTS, EventKind
from ghost.hal import EstimateHealth, FlightMode
from ghost.hal.channels import CMD_ACTION, CMD_TRAJECTORY, STATUS, VEHICLE
from ghost.telemetry import LogReader, read_manifest
from tests.px4 import Px4, Start

pytestmark = pytest.mark.slow

QUICK = {
    "PX4_PARAM_MPC_TKO_SPEED": "3",
    "PX4_PARAM_MPC_LAND_SPEED": "1.2",
    "PX4_PARAM_COM_DISARM_LAND": "0.5",
}
OFFBOARD_LOSS_S = 1.0
HOVER = """
name: hover
frame: home
steps:
  - takeoff: {altitude_m: 2.0}
  - hold: {seconds: SECONDS}
  - land: {}
"""


class Run:
    """A `ghost deploy run` under way, with its words as they come."""

    def __init__(self, desk: Path, px4: Px4, *options: str, seconds: float = 60.0) -> None:
        desk.mkdir(exist_ok=True)
        self.desk = desk
        (desk / "hover.yaml").write_text(HOVER.replace("SECONDS", str(seconds)))
        words = ("deploy", "run", "x500", "--link", px4.url, "--mission", "hover.yaml")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ghost.cli", *words, *options],
            cwd=desk,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    @property
    def said(self) -> str:
        return "".join(self.lines)

    @property
    def folder(self) -> Path:
        (path,) = (self.desk / "runs").glob("x500-hil*")
        return path

    def until(self, text: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"it ended without {text!r}:\n{self.said}")

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        return self.process.wait(60.0)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start(px4: Px4, *options: str, desk: str = "desk", **more: Any) -> Run:
        runs.append(Run(tmp_path / desk, px4, *options, **more))
        return runs[-1]

    yield start
    for one in runs:
        one.process.kill()
        with one.process:  # closes its pipe, and waits
            pass


@contextmanager
def ground_station(px4: Px4) -> Iterator[Vehicle]:
    """On the other link, which is always 14550."""
    hub = Hub(time.monotonic_ns, system=255, component=190)
    hub.add(parse_endpoint("udpin://127.0.0.1:14550"))
    vehicle = Vehicle(hub, system=px4.system)
    try:
        vehicle.find()
        yield vehicle
    finally:
        hub.close()


def is_whole(folder: Path) -> bool:
    return read_manifest(folder).log.status == "complete" and (folder / "report.html").exists()


def wait_for_offboard(station: Vehicle) -> None:
    """And until its next heartbeat on the other link: PX4 beats once a second on each."""
    station.hub.spin_until(
        lambda: station.mode == "OFFBOARD", within_ns=5_000_000_000, what="waiting for OFFBOARD"
    )
    station.hub.spin(time.monotonic_ns() + 1_200_000_000)
    assert station.mode == "OFFBOARD"


def wait_until_disarmed(vehicle: Vehicle) -> None:
    vehicle.hub.spin_until(
        lambda: not vehicle.is_armed, within_ns=30_000_000_000, what="waiting for the landing"
    )


def test_a_mission_is_flown_to_its_end_and_nothing_without_leave(
    px4: Start, run: Callable[..., Run]
) -> None:
    vehicle = px4(3, **QUICK)
    refused = run(vehicle, "--allow-arming", desk="refused")
    assert refused.end() == 1
    assert re.fullmatch(r"ghost: the flight controller .* is a simulated one .*\n", refused.said)
    assert not (refused.desk / "runs").exists()

    grounded = run(vehicle, "--hil", desk="grounded")
    assert grounded.end() == 1
    assert "[FAIL] arming allowed: no: give --allow-arming\n" in grounded.said
    assert "ARM refused: arming is not allowed in this run" in grounded.said
    assert is_whole(grounded.folder)
    assert not any(status.armed for status in messages(grounded, STATUS))

    flown = run(vehicle, "--hil", "--allow-arming", seconds=2.0)
    assert flown.end() == 0, flown.said
    assert "outcome    completed\n" in flown.said
    assert "\nestimate " not in flown.said  # nobody knew the truth
    assert is_whole(flown.folder)
    manifest = read_manifest(flown.folder)
    assert manifest.config["hil"] is True
    assert manifest.config["flight_controller"]["autopilot"] == "MAV_AUTOPILOT_PX4"
    assert manifest.config["flight_controller"]["system"] == 4


def test_ctrl_c_and_sigterm_land_and_close_the_log(px4: Start, run: Callable[..., Run]) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    runs = [
        run(px4(instance, **QUICK), "--hil", "--allow-arming", desk=f"desk-{instance}")
        for instance in (3, 4)
    ]
    for one, number in zip(runs, numbers, strict=True):
        one.until("step 1 (hold) started")
        one.process.send_signal(number)
    for one in runs:
        assert one.end() == 130, one.said
        assert "outcome    aborted: the operator asked to land\n" in one.said
        assert is_whole(one.folder)
        told = messages(one, STATUS)
        assert FlightMode.LAND in {status.mode for status in told}
        assert (told[-1].armed, told[-1].on_ground) == (False, True)


def test_after_a_crash_px4_takes_over_and_the_log_is_recovered(
    px4: Start, run: Callable[..., Run]
) -> None:
    vehicle = px4(3, **QUICK)
    crashed = run(vehicle, "--hil", "--allow-arming")
    with ground_station(vehicle) as station:
        crashed.until("step 1 (hold) started")
        wait_for_offboard(station)
        crashed.process.kill()
        killed_s = time.monotonic()
        station.hub.spin_until(
            lambda: station.mode != "OFFBOARD", within_ns=5_000_000_000, what="leaving OFFBOARD"
        )
        took_s = time.monotonic() - killed_s
        assert 0.3 < took_s < OFFBOARD_LOSS_S + 1.0
        assert station.is_armed
    assert read_manifest(crashed.folder).log.status == "recording"
    again = run(vehicle, "--hil")  # in the air it is nobody's to start with
    again.until("runs/x500-hil was cut off; lost: ")
    again.until("[FAIL] arming allowed")
    again.process.send_signal(signal.SIGINT)
    assert again.end() == 130
    assert read_manifest(crashed.desk / "runs" / "x500-hil").log.status == "recovered"
    assert len(messages_in(crashed.desk / "runs" / "x500-hil", STATUS)) > 20


def test_a_pilot_who_takes_over_keeps_the_vehicle(px4: Start, run: Callable[..., Run]) -> None:
    vehicle = px4(3, **QUICK)
    flown = run(vehicle, "--hil", "--allow-arming")
    with ground_station(vehicle) as station:
        flown.until("step 1 (hold) started")
        wait_for_offboard(station)
        station.set_mode("HOLD")
        modes = []
        station.hub.on("HEARTBEAT", lambda _: modes.append(station.mode))
        station.hub.spin(time.monotonic_ns() + 3_000_000_000)
        assert set(modes[2:]) == {"HOLD"}
        assert flown.process.poll() is None  # it records on
        station.set_mode("LAND")
        wait_until_disarmed(station)
    assert flown.end() == 4, flown.said
    assert "outcome    interrupted: the mode was changed to HOLD\n" in flown.said, flown.said
    assert is_whole(flown.folder)
    told = messages(flown, EVENTS)
    (lost_ns,) = [one.stamp_ns for one in told if one.kind == EventKind.MISSION_INTERRUPTED]
    assert max(request.stamp_ns for request in messages(flown, CMD_ACTION)) < lost_ns
    assert max(command.stamp_ns for command in messages(flown, CMD_TRAJECTORY)) < lost_ns


def test_a_flight_controller_that_falls_silent_ends_the_flight_in_finite_time(
    px4: Start, run: Callable[..., Run]
) -> None:
    vehicle = px4(3, **QUICK)
    flown = run(vehicle, "--hil", "--allow-arming")
    flown.until("step 1 (hold) started")
    vehicle.process.kill()
    lost_s = time.monotonic()
    assert flown.end() == 4, flown.said
    assert time.monotonic() - lost_s < 20.0
    assert re.search(r"outcome    interrupted: no status for \d\.\d s\n", flown.said), flown.said
    assert is_whole(flown.folder)
    assert messages(flown, VEHICLE)[-1].verdict is EstimateHealth.LOST


def messages(run: Run, channel: Channel[Any]) -> list[Any]:
    return messages_in(run.folder, channel)


def messages_in(folder: Path, channel: Channel[Any]) -> list[Any]:
    return [record.message for record in LogReader(folder).messages([channel.name])]
