"""The same flight in PyBullet gives the same log, byte for byte, in this process and in another.

There is no golden flight of it: Bullet computes with the machine's own libm.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot, load_scenario
from ghost.telemetry import file_sha256

HOP = "name: hop\nframe: home\nsteps: [takeoff: {altitude_m: 1.5}, hold: {seconds: 1}, land: {}]"


@pytest.mark.parametrize(
    ("robot", "world", "scenario"),
    [
        ("x500", "forest", "gusty"),
        ("x500_lidar", "warehouse", "calm"),
        pytest.param("x500_depth", "room", "calm", marks=pytest.mark.slow),
    ],
)
def test_two_processes_write_the_same_bytes(
    tmp_path: Path, robot: str, world: str, scenario: str
) -> None:
    mission, ours, theirs = tmp_path / "hop.yaml", tmp_path / "ours", tmp_path / "theirs"
    mission.write_text(HOP, encoding="utf-8")
    sky = load_scenario(scenario, 1, world)
    order = Order(load_robot(robot), load_mission(mission), sky, ours, "pybullet")
    assert SimulatedFlight(order).run().succeeded
    options = ("--mission", mission, "--scenario", scenario, "--world", world, "--seed", "1")
    where = ("--simulator", "pybullet", "--out", theirs)
    command = (sys.executable, "-m", "ghost.cli", "deploy", "sim", robot, *options, *where)
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert file_sha256(ours / "log.mcap") == file_sha256(theirs / "log.mcap")
