"""`ghost robots` as people run it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghost.deploy import find_robots

X500: dict[str, Any] = yaml.safe_load(find_robots()["x500"].read_text(encoding="utf-8"))


def ghost_robots(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ghost.cli", "robots", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a good robot and a broken one."""
    airframe = {**X500["airframe"], "mass_kg": 1.5}
    for name, plain in {
        "mine": {**X500, "name": "mine", "description": "My own", "airframe": airframe},
        "oops": {**X500, "name": "oops", "sensor": {}},
    }.items():
        (tmp_path / "robots" / name).mkdir(parents=True)
        (tmp_path / "robots" / name / "robot.yaml").write_text(
            yaml.safe_dump(plain, sort_keys=False)
        )
    return tmp_path


def test_list_tells_each_robot_and_how_it_can_be_flown(tmp_path: Path) -> None:
    done = ghost_robots(tmp_path, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "crazyflie       sim        Bitcraze Crazyflie 2.1, a quadrotor of 27 g for indoors",
        "f450            sim        DJI F450 of JSBSim's aircraft, a quadrotor of 1.4 kg",
        "ground_station  neither    A ground station that only listens",
        "hexa            sim        A hexarotor of 3.6 kg for surveys",
        "iris            sim        3DR Iris of ArduPilot's Gazebo models, a quadrotor of 1.75 kg",
        "pixhawk_bench   real       A Pixhawk on the bench, without a frame",
        "x500            sim+real   Holybro X500 V2, a quadrotor of 2 kg",
        "x500_depth      sim        x500 with a depth camera and a colour camera",
        "x500_lidar      sim        x500 with a 2-D lidar",
    ]


def test_a_robot_that_was_added_is_listed_and_a_broken_one_hides_none(desk: Path) -> None:
    done = ghost_robots(desk, "list", "--robots", "robots")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 11
    assert "mine            sim+real   My own" in lines
    assert "oops            broken     see `ghost robots check`" in lines


def test_show_tells_what_a_robot_is(desk: Path) -> None:
    done = ghost_robots(desk, "show", "mine", "--robots", "robots")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "mine: My own",
        "file       robots/mine/robot.yaml",
        "sim HAL    derived, lightweight",
        "real HAL   ghost.hardware.px4:Px4Backend",
        "airframe   1.5 kg, 4 rotors, thrust to weight 2.32",
        "sensor     imu (imu) at 250 Hz",
        "sensor     gps (gps) at 10 Hz, 120 ms late",
        "sensor     magnetometer (magnetometer) at 50 Hz",
        "sensor     barometer (barometer) at 50 Hz",
        "sensor     rangefinder (rangefinder) at 50 Hz",
        "sensor     battery (battery) at 10 Hz",
        "envelope   0 to 120 m, 15 m/s, no fence",
    ]


def test_show_of_one_without_a_hal_says_so(tmp_path: Path) -> None:
    lines = ghost_robots(tmp_path, "show", "ground_station").stdout.splitlines()
    assert lines[2:4] == ["sim HAL    none", "real HAL   none"]


def test_check_passes_what_is_shipped(tmp_path: Path) -> None:
    done = ghost_robots(tmp_path, "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"[PASS] {name}" for name in find_robots()]


def test_check_names_what_is_wrong_and_goes_on(desk: Path) -> None:
    done = ghost_robots(desk, "check", "--robots", "robots")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert "[PASS] mine" in lines
    assert "[PASS] x500" in lines
    said = "[FAIL] robots/oops/robot.yaml: unknown key sensor; did you mean sensors?"
    assert said in lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "x50"), "no robot named 'x50'; did you mean x500?"),
        (("show", "oops", "--robots", "robots"), "robots/oops/robot.yaml: unknown key sensor; "),
        (("list", "--robots", "gone"), "no folder gone; expected one with robots in it"),
        (("check", "--robots", "robots/mine"), "robots/mine is a robot; give the folder that "),
    ],
)
def test_what_can_t_be_done_is_one_line(desk: Path, arguments: tuple[str, ...], said: str) -> None:
    done = ghost_robots(desk, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"ghost: {said}")
    assert done.stderr.count("\n") == 1


def test_help_teaches(tmp_path: Path) -> None:
    told = ghost_robots(tmp_path, "--help").stdout
    assert "folders with a robot.yaml" in told
    for verb, taught in {
        "list": "List all robots, and how each flies: sim, real or both.",
        "show": "ROBOT such as x500; see `ghost robots list`",
        "check": "Exit code: 0 all can be read, 1 at least one can't.",
    }.items():
        assert verb in told
        detail = " ".join(ghost_robots(tmp_path, verb, "--help").stdout.split())
        assert taught in detail
        assert "--robots DIR look for robots in this folder, too: DIR/NAME/robot.yaml" in detail
