"""The embedded autopilot flies in JSBSim, and flies the same flight again in another process.

There is no golden flight of it: JSBSim computes with the machine's own libm.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot, load_scenario
from ghost.telemetry import file_sha256

pytest.importorskip("jsbsim", reason="jsbsim is not installed: pip install -e '.[jsbsim]'")

HOP = """name: hop
frame: home
steps: [takeoff: {altitude_m: 1.5}, goto: {position_enu_m: [2, 1, 2]}, land: {}]"""


def test_a_hop_in_gusts_is_the_same_in_two_processes(tmp_path: Path) -> None:
    mission, ours, theirs = tmp_path / "hop.yaml", tmp_path / "ours", tmp_path / "theirs"
    mission.write_text(HOP, encoding="utf-8")
    sky = load_scenario("gusty", 1)
    order = Order(load_robot("f450"), load_mission(mission), sky, ours)
    assert SimulatedFlight(order).run().succeeded
    options = ("--mission", mission, "--scenario", "gusty", "--seed", "1")
    what = ("deploy", "sim", "f450", *options, "--out", theirs)
    command = (sys.executable, "-m", "ghost.cli", *what)
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert file_sha256(ours / "log.mcap") == file_sha256(theirs / "log.mcap")
