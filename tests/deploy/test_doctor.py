"""A computer made of files, and what the doctor says of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ghost.deploy.doctor import examine
from ghost.deploy.finding import Finding, Verdict


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
