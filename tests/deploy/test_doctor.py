"""A computer made of files, and what the doctor says of it."""

import json
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firmware_bridge.messages import dialect
from firmware_bridge.modes import ARMED_FLAG
from firmware_bridge.parameter_values import INT32, REAL32
from firmware_bridge.signing import Signer, make_key
from ghost.deploy import baud, interview
from ghost.deploy.doctor import examine
from ghost.deploy.finding import Finding, Verdict
from ghost.deploy.interview import _parameters
from ghost.hardware.run import RATES_HZ
from tests.firmware_bridge.link_rig import frame_bytes, free_port, open_pty
from tests.firmware_bridge.peer import ParameterStore, Peer, flight
from tests.hardware.rig import Autopilot

PARAMETERS = {
    "COM_OF_LOSS_T": 1.0,
    "COM_OBL_RC_ACT": 0,
    "COM_RC_IN_MODE": 3,
    "NAV_RCL_ACT": 2,
    "NAV_DLL_ACT": 0,
    "MPC_XY_VEL_MAX": 12.0,
}


def put(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(root: Path, name: str, out: Path | None = None) -> list[Finding]:
    return [finding for finding in examine(None, out or root, root) if finding.name == name]


def verdict(root: Path, name: str) -> Verdict:
    (finding,) = found(root, name)
    return finding.verdict


@pytest.mark.parametrize(("source", "said"), [("tsc", Verdict.PASS), ("jiffies", Verdict.WARN)])
def test_a_coarse_clock_is_warned_of(tmp_path: Path, source: str, said: Verdict) -> None:
    put(tmp_path, "sys/devices/system/clocksource/clocksource0/current_clocksource", f"{source}\n")
    assert verdict(tmp_path, "clock source") is said


def test_limits_of_a_container_are_read(tmp_path: Path) -> None:
    put(tmp_path, "sys/fs/cgroup/memory.max", "100000000\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "50000 100000\n")
    assert verdict(tmp_path, "memory limit") is Verdict.FAIL
    (cpu,) = found(tmp_path, "CPU limit")
    assert (cpu.verdict, cpu.detail) == (Verdict.WARN, "0.50 cores")


def test_no_limits_are_nothing_to_speak_of(tmp_path: Path) -> None:
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "max 100000\n")
    assert found(tmp_path, "memory limit") == found(tmp_path, "CPU limit") == []


def test_a_port_is_told_once_by_its_lasting_name(tmp_path: Path) -> None:
    put(tmp_path, "dev/ttyACM0")
    put(tmp_path, "dev/ttyUSB0")
    by_id = tmp_path / "dev/serial/by-id/usb-PX4"
    by_id.parent.mkdir(parents=True)
    by_id.symlink_to("../../ttyACM0")
    details = [finding.detail for finding in found(tmp_path, "serial port")]
    assert details == ["/dev/serial/by-id/usb-PX4 (ttyACM0)", "/dev/ttyUSB0 (ttyUSB0)"]


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may open everything")
def test_a_port_that_may_not_be_opened_names_the_group(tmp_path: Path) -> None:
    put(tmp_path, "dev/ttyACM0").chmod(0)
    (finding,) = found(tmp_path, "serial port")
    assert finding.verdict is Verdict.FAIL
    assert "dialout" in finding.advice


def test_no_port_and_modem_manager_are_warned_of(tmp_path: Path) -> None:
    put(tmp_path, "proc/12/comm", "ModemManager\n")
    assert verdict(tmp_path, "serial ports") is Verdict.WARN
    assert verdict(tmp_path, "ModemManager") is Verdict.WARN


def test_the_disk_is_where_the_logs_will_go(tmp_path: Path) -> None:
    (speed,) = found(tmp_path, "disk speed", tmp_path / "not" / "made" / "yet")
    assert speed.verdict in (Verdict.PASS, Verdict.WARN)
    assert list(tmp_path.iterdir()) == []  # the probe is gone


@pytest.mark.parametrize(
    ("mode", "said"), [(0, Verdict.PASS), (3, Verdict.PASS), (4, Verdict.WARN), (5, Verdict.PASS)]
)
def test_a_flight_that_no_pilot_can_take_over_is_warned_of(mode: int, said: Verdict) -> None:
    store = ParameterStore({"COM_RC_IN_MODE": (struct.pack("<i", mode), INT32)})
    with flight(store) as vehicle:
        findings = {one.name: one for one in _parameters(vehicle)}
    assert findings["COM_RC_IN_MODE"].verdict is said
    assert ("no pilot" in findings["COM_RC_IN_MODE"].advice) is (said is Verdict.WARN)


def test_the_command_speaks_to_people_and_to_machines(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ghost.cli", "doctor", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    told = run()
    assert "disk speed:" in told.stdout
    listed = json.loads(run("--json").stdout)
    assert {"kernels", "disk space"} <= {finding["name"] for finding in listed}
    failed = run("--link", "udpin://127.0.0.1:0")
    assert failed.returncode == 1
    assert "[FAIL] heartbeat: waiting for the heartbeat of a flight controller" in failed.stdout


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interview, "FIND_NS", 1_000_000_000)
    monkeypatch.setattr(interview, "LISTEN_NS", 1_000_000_000)


def store(**changed: float) -> ParameterStore:
    values = {**PARAMETERS, **changed}
    return ParameterStore(
        {
            name: (struct.pack("<f", value), REAL32)
            if isinstance(value, float)
            else (struct.pack("<i", value), INT32)
            for name, value in values.items()
        }
    )


def interviewed(
    autopilot: Autopilot,
    parameters: ParameterStore,
    *,
    armed: bool = False,
    key: Path | None = None,
    flight_controllers_key: Path | None = None,
) -> dict[str, Finding]:
    port = free_port()
    peer = Peer(port, beat={"base_mode": ARMED_FLAG if armed else 0})
    autopilot(peer)
    parameters(peer)
    if flight_controllers_key is not None:
        peer.hub.links[0].signer = Signer(make_key(flight_controllers_key))
    peer.start()
    try:
        said = list(interview.examine_flight_controller(f"udpin://127.0.0.1:{port}", key))
    finally:
        peer.stop()
    assert len({finding.name for finding in said}) == len(said)
    return {finding.name: finding for finding in said}


@pytest.mark.usefixtures("_soon")
def test_a_flight_controller_at_rest_is_told_in_words() -> None:
    said = interviewed(Autopilot(), store())
    verdicts = {name: finding.verdict for name, finding in said.items()}
    assert verdicts == dict.fromkeys(said, Verdict.PASS)
    assert said["landed"].detail == "on the ground"
    assert said["COM_OF_LOSS_T"].detail.startswith("1 s ")
    assert said["COM_OBL_RC_ACT"].detail.startswith("0 = position")
    assert said["NAV_RCL_ACT"].detail.startswith("2 = return")
    assert said["NAV_DLL_ACT"].detail.startswith("0 = nothing")
    assert said["MPC_XY_VEL_MAX"].detail == "12 m/s"
    assert "max_speed_mps" in said["MPC_XY_VEL_MAX"].advice


@pytest.mark.usefixtures("_soon")
def test_streams_are_those_that_ghost_needs_and_a_count_of_the_others() -> None:
    streams = interviewed(Autopilot(streams=("ODOMETRY", "EXTENDED_SYS_STATE")), store())["streams"]
    shown, others = streams.detail.split("; ")
    names = [word.split()[0] for word in shown.partition(": ")[2].split(", ")]
    assert names == ["HEARTBEAT", *RATES_HZ]
    assert "HIGHRES_IMU 0/100" in shown
    assert others == "1 others"
    assert streams.figures.keys() == {"HEARTBEAT", "ODOMETRY", "EXTENDED_SYS_STATE", "TIMESYNC"}


@pytest.mark.parametrize(
    ("rate_hz", "shown"), [(0.0, "0"), (0.33, "0.3"), (1.0, "1"), (49.7, "50")]
)
def test_a_slow_stream_is_not_told_as_none(rate_hz: float, shown: str) -> None:
    assert interview._shown(rate_hz) == shown


@pytest.mark.usefixtures("_soon")
def test_streams_that_come_too_seldom_are_named_with_what_is_needed() -> None:
    streams = interviewed(Autopilot(streams=("EXTENDED_SYS_STATE",)), store())["streams"]
    assert streams.verdict is Verdict.WARN
    assert streams.advice.startswith("ODOMETRY (at least 10 Hz) come too seldom")


@pytest.mark.usefixtures("_soon")
def test_an_armed_vehicle_and_one_in_the_air_are_warned_of() -> None:
    said = interviewed(Autopilot(landed_state=dialect.MAV_LANDED_STATE_IN_AIR), store(), armed=True)
    for name, word in (("heartbeat", "armed"), ("landed", "in the air")):
        assert said[name].verdict is Verdict.WARN
        assert said[name].detail.endswith(word)
        assert said[name].advice


@pytest.mark.usefixtures("_soon")
def test_failsafes_that_drop_or_drift_are_warned_of() -> None:
    said = interviewed(
        Autopilot(),
        store(COM_OF_LOSS_T=0.2, COM_OBL_RC_ACT=1, COM_RC_IN_MODE=4, NAV_RCL_ACT=6, NAV_DLL_ACT=5),
    )
    warned = {name for name, finding in said.items() if finding.verdict is Verdict.WARN}
    assert warned == PARAMETERS.keys() - {"MPC_XY_VEL_MAX"}
    assert said["NAV_RCL_ACT"].detail == "6 = disarm when the remote control is lost: it falls"


@pytest.mark.usefixtures("_soon")
def test_a_missing_key_is_one_failure_and_the_end(tmp_path: Path) -> None:
    said = interviewed(Autopilot(), store(), flight_controllers_key=tmp_path / "key")
    assert list(said) == ["heartbeat", "signing"]
    assert said["signing"].verdict is Verdict.FAIL
    assert said["signing"].detail.endswith("brings signed frames, and no signing key is given")
    assert "--signing-key" in said["signing"].advice


@pytest.mark.usefixtures("_soon")
def test_a_wrong_key_is_one_failure_and_the_end(tmp_path: Path) -> None:
    make_key(tmp_path / "ours")
    said = interviewed(
        Autopilot(), store(), key=tmp_path / "ours", flight_controllers_key=tmp_path / "theirs"
    )
    assert list(said) == ["signing"]
    assert said["signing"].verdict is Verdict.FAIL
    assert said["signing"].detail.endswith("frames refused: not signed with this key")
    assert "--signing-key" in said["signing"].advice


@pytest.mark.usefixtures("_soon")
def test_one_that_is_heard_and_does_not_answer_is_asked_no_further() -> None:
    said = interviewed(Autopilot(is_mute=True), store())
    assert list(said) == ["heartbeat", "firmware", "streams", "landed", "link"]
    assert "heard and doesn't answer" in said["firmware"].advice


@pytest.mark.usefixtures("_soon")
def test_a_network_has_no_baud_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interview, "LARGEST_OFFSET_ERROR_NS", -1)
    offset = interviewed(Autopilot(), store())["clock offset"]
    assert offset.verdict is Verdict.WARN
    assert "baud" not in offset.advice
    (silent,) = interview.examine_flight_controller("udpin://127.0.0.1:0", None)
    assert "baud" not in silent.advice
    master, path = open_pty()
    (silent,) = interview.examine_flight_controller(f"serial://{path}:57600", None)
    os.close(master)
    assert "baud" in silent.advice


@contextmanager
def uart(rate: int, sent: bytes) -> Iterator[str]:
    """A port whose other end speaks at that rate. What is heard at another one is noise."""
    master, path = open_pty()
    is_over = threading.Event()

    def speak() -> None:
        speed = getattr(termios, f"B{rate}")
        while not is_over.wait(0.02):
            is_right = termios.tcgetattr(master)[5] == speed
            os.write(master, sent if is_right else bytes(byte ^ 0xA5 for byte in sent))

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield path
    finally:
        is_over.set()
        thread.join()
        os.close(master)


def test_the_baud_rate_that_a_port_has_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interview, "FIND_NS", 300_000_000)
    monkeypatch.setattr(baud, "LISTEN_NS", 120_000_000)
    with uart(921_600, frame_bytes()) as path:
        _, finding = interview.examine_flight_controller(f"serial://{path}:57600", None)
    assert (finding.name, finding.verdict) == ("baud rate", Verdict.FAIL)
    assert finding.detail == "noise at 57600, heartbeats at 921600"
    assert finding.advice == f"give --link serial://{path}:921600"

    with uart(57_600, b"NuttShell (NSH)") as path:
        _, finding = interview.examine_flight_controller(f"serial://{path}:57600", None)
    assert re.fullmatch(r"\d+ bytes and no MAVLink at 57600, nor at any usual rate", finding.detail)
