"""`ghost deploy run`, as it would be on a vehicle: on Ghost's own autopilot, and on a real PX4."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from firmware_bridge.vehicle import Vehicle
from ghost.cli import main
from ghost.core.errors import RefusedError
from ghost.events import EVENTS, EventKind
from ghost.hal import EstimateHealth, FlightMode
from ghost.hal.channels import CMD_ACTION, CMD_TRAJECTORY, STATUS, VEHICLE
from ghost.telemetry import LogReader, read_manifest
from tests.hardware.runs import (
    END_S,
    Run,
    StartController,
    ghost_controllers,
    ground_station,
    is_whole,
    messages,
    px4_controllers,
)

pytestmark = pytest.mark.slow

OFFBOARD_LOSS_S = 1.0
StartRun = Callable[..., Run]


@pytest.fixture(params=["ghost", "px4"])
def controller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartController]:
    controllers = ghost_controllers() if request.param == "ghost" else px4_controllers(tmp_path)
    with controllers as start:
        yield start


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StartRun]:
    runs: list[Run] = []

    def start(link: str, *options: str, desk: str = "desk", **more: Any) -> Run:
        runs.append(Run(tmp_path / desk, link, *options, **more))
        return runs[-1]

    yield start
    for one in runs:
        one.process.kill()
        with one.process:  # closes its pipe, and waits
            pass


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
    controller: StartController, run: StartRun
) -> None:
    link = controller().link
    refused = run(link, "--allow-arming", desk="refused")
    assert refused.end() == 1
    assert re.fullmatch(r"ghost: the flight controller .* is a simulated one .*\n", refused.said)
    assert not (refused.desk / "runs").exists()

    grounded = run(link, "--hil", desk="grounded")
    assert grounded.end() == 1
    assert "[FAIL] arming allowed: no: give --allow-arming\n" in grounded.said
    assert "ARM refused: arming is not allowed in this run" in grounded.said
    assert is_whole(grounded.folder)
    assert not any(status.armed for status in messages(grounded.folder, STATUS))

    flown = run(link, "--hil", "--allow-arming", seconds=2.0)
    assert flown.end() == 0, flown.said
    assert "outcome    completed\n" in flown.said
    assert "\nestimate " not in flown.said  # nobody knew the truth
    assert is_whole(flown.folder)
    manifest = read_manifest(flown.folder)
    assert manifest.config["hil"] is True
    assert manifest.config["flight_controller"]["autopilot"] == "MAV_AUTOPILOT_PX4"
    assert manifest.config["flight_controller"]["system"] == 4
    changes = _texts(flown, EventKind.FLIGHT_CONTROLLER_CHANGED)
    assert [text for text in changes if "armed" in text] == ["armed", "disarmed"]
    assert "mode OFFBOARD -> LAND" in changes
    assert any(text.startswith("landed state ON_GROUND -> ") for text in changes)
    again = run(link, "--hil", "--allow-arming", desk="again", seconds=1.0)
    assert again.end() == 0, again.said
    (statistics,) = _texts(flown, EventKind.LINK_STATISTICS)
    assert re.match(rf"{link}: \d+ frames in \d+ bytes heard, \d+ lost, 0 damaged, 0 r", statistics)
    (heard_hz,) = re.findall(r"; (\d+\.\d) frames/s and \d+\.\d kB/s heard, ", statistics)
    assert 100.0 < float(heard_hz) < 1000.0


def test_what_somebody_else_armed_is_left_to_them(
    controller: StartController, run: StartRun
) -> None:
    vehicle = controller()
    with ground_station(vehicle) as station:
        for _ in range(20):  # it takes a while until it may be armed
            with suppress(RefusedError):
                station.arm(armed=True)
                break
            station.hub.spin(time.monotonic_ns() + 500_000_000)
        refused = run(vehicle.link, "--hil", "--allow-arming")
        while refused.process.poll() is None:
            station.hub.spin(time.monotonic_ns() + 20_000_000)
    assert refused.end() == 1
    assert "ghost: the vehicle is armed, on the ground, by somebody else; it is" in refused.said


def test_two_ctrl_c_leave_at_once_and_still_let_it_land(
    controller: StartController, run: StartRun
) -> None:
    vehicle = controller()
    flown = run(vehicle.link, "--hil", "--allow-arming")
    flown.until("step 1 (hold) started")
    flown.stop(signal.SIGINT)
    flown.stop(signal.SIGTERM)
    assert flown.end() == 130
    assert "LAND asked for at the end, granted\n" in flown.said, flown.said
    assert "STILL ARMED AND IN THE AIR" in flown.said
    with ground_station(vehicle) as station:
        wait_until_disarmed(station)


def test_a_terminal_that_goes_away_lets_it_land(controller: StartController, run: StartRun) -> None:
    flown = run(controller().link, "--hil", "--allow-arming")
    flown.until("step 1 (hold) started")
    assert flown.process.stdout is not None
    flown.process.stdout.close()
    flown.stop(signal.SIGHUP)
    flown.process.wait(END_S)
    assert is_whole(flown.folder)
    told = messages(flown.folder, STATUS)
    assert (told[-1].armed, told[-1].on_ground) == (False, True)


def test_ctrl_c_holds_and_lands_and_sigterm_may_return(
    controller: StartController, run: StartRun
) -> None:
    allowed = ("--hil", "--allow-arming")
    runs = [
        run(controller(3).link, *allowed, desk="desk-3"),
        run(controller(4).link, *allowed, "--on-stop", "return", desk="desk-4"),
    ]
    for one, number in zip(runs, (signal.SIGINT, signal.SIGTERM), strict=True):
        one.until("step 1 (hold) started")
        one.stop(number)
    for one, then in zip(runs, (FlightMode.LAND, FlightMode.RETURN), strict=True):
        assert one.end() == 130, one.said
        assert f"outcome    aborted: the operator asked to {then.name.lower()}\n" in one.said
        assert is_whole(one.folder)
        told = messages(one.folder, STATUS)
        assert then in {status.mode for status in told if status.armed}
        asked = [request.action.name for request in messages(one.folder, CMD_ACTION)]
        assert asked[-2:] == ["HOLD", then.name]
        assert (told[-1].armed, told[-1].on_ground) == (False, True)


def test_after_a_crash_the_failsafe_takes_over_and_the_log_is_recovered(
    controller: StartController, run: StartRun
) -> None:
    vehicle = controller()
    crashed = run(vehicle.link, "--hil", "--allow-arming")
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
        with suppress(RefusedError):  # PX4 lets a pilot catch it, so that it doesn't land meanwhile
            station.set_mode("HOLD")
    assert read_manifest(crashed.folder).log.status == "recording"
    again = run(vehicle.link, "--hil", "--allow-arming")  # it is nobody's to start with
    again.until("runs/x500-hil was cut off; lost: ")
    assert again.end() == 1
    assert "[FAIL] disarmed: no: somebody flies it\n" in again.said
    assert "ghost: the vehicle is armed, in the air, by somebody else; it is left to" in again.said
    assert read_manifest(crashed.desk / "runs" / "x500-hil").log.status == "recovered"
    assert len(messages(crashed.desk / "runs" / "x500-hil", STATUS)) > 20


def test_a_pilot_who_takes_over_keeps_the_vehicle(
    controller: StartController, run: StartRun
) -> None:
    vehicle = controller()
    flown = run(vehicle.link, "--hil", "--allow-arming")
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
    told = messages(flown.folder, EVENTS)
    (lost_ns,) = [one.stamp_ns for one in told if one.kind == EventKind.MISSION_INTERRUPTED]
    assert max(request.stamp_ns for request in messages(flown.folder, CMD_ACTION)) < lost_ns
    assert max(command.stamp_ns for command in messages(flown.folder, CMD_TRAJECTORY)) < lost_ns


def test_a_flight_controller_that_falls_silent_ends_the_flight_in_finite_time(
    controller: StartController, run: StartRun
) -> None:
    vehicle = controller()
    flown = run(vehicle.link, "--hil", "--allow-arming")
    flown.until("step 1 (hold) started")
    vehicle.process.kill()
    lost_s = time.monotonic()
    assert flown.end() == 4, flown.said
    assert time.monotonic() - lost_s < 20.0
    assert re.search(r"outcome    interrupted: no status for \d\.\d s\n", flown.said), flown.said
    assert is_whole(flown.folder)
    assert messages(flown.folder, VEHICLE)[-1].verdict is EstimateHealth.LOST


def test_parameters_that_a_robot_demands_hold_or_it_does_not_fly(
    controller: StartController, run: StartRun, tmp_path: Path
) -> None:
    robot = tmp_path / "robots" / "mine"
    robot.mkdir(parents=True)
    (robot / "robot.yaml").write_text(
        "name: mine\ndescription: x\nextends: x500\n"
        "flight_controller: {on_stop: return, parameters: {MIS_TAKEOFF_ALT: 6.1, NO_SUCH: 1}}\n"
    )
    options = ("mine", "--robots", str(robot.parent), "--hil", "--allow-arming")
    link = controller().link
    unknown = run(link, *options, "--apply-params", desk="unknown")
    assert unknown.end() == 1
    unset = "[FAIL] MIS_TAKEOFF_ALT: 2.5; expected 6.1: set it, or give --apply-params\n"
    assert unset in unknown.said, unknown.said
    assert "[FAIL] NO_SUCH: the flight controller has no parameter NO_SUCH" in unknown.said
    refusal = "ghost: the flight controller is not as mine demands: MIS_TAKEOFF_ALT, NO_SUCH; "
    assert refusal in unknown.said
    assert read_manifest(unknown.folder).log.status == "complete"

    (robot / "robot.yaml").write_text(
        "name: mine\ndescription: x\nextends: x500\n"
        "flight_controller: {parameters: {MIS_TAKEOFF_ALT: 6}}\n"
    )
    unmet = run(link, *options, desk="unmet")
    assert unmet.end() == 1
    way_out = "[FAIL] MIS_TAKEOFF_ALT: 2.5; expected 6: set it, or give --apply-params\n"
    assert way_out in unmet.said, unmet.said
    assert read_manifest(unmet.folder).config["parameters"] == {"MIS_TAKEOFF_ALT": 2.5}

    met = run(link, *options, "--apply-params", desk="met")
    met.until("[PASS] MIS_TAKEOFF_ALT: 6, was 2.5\n")
    met.stop()
    assert met.end() == 130
    config = read_manifest(met.folder).config
    assert config["parameters"] == {"MIS_TAKEOFF_ALT": 2.5}
    assert config["applied_parameters"] == {"MIS_TAKEOFF_ALT": 6.0}


def test_with_a_key_only_what_is_signed_is_heard_and_the_key_is_nowhere(
    controller: StartController, run: StartRun, tmp_path: Path
) -> None:
    link, key = controller().link, tmp_path / "ghost.key"
    assert main(["fc", "sign", "new", str(key), "--link", link]) == 0
    signed = run(link, "--hil", "--signing-key", str(key), desk="signed")
    assert signed.end() == 1
    assert "ARM refused: arming is not allowed in this run" in signed.said, signed.said
    assert is_whole(signed.folder)
    secret = key.read_text().strip()
    for path in signed.folder.iterdir():
        content = path.read_bytes()
        assert secret.encode() not in content
        assert bytes.fromhex(secret) not in content
    assert not any(secret in repr(one.message) for one in LogReader(signed.folder).messages())
    assert secret not in signed.said

    unsigned = run(link, "--hil", desk="unsigned")
    assert unsigned.end() == 1
    assert f"({link} brings signed frames, and no signing key is given)" in unsigned.said


def _texts(run: Run, kind: EventKind) -> list[str]:
    return [event.text for event in messages(run.folder, EVENTS) if event.kind == kind]
