"""Robots that are another one but for what they say themselves, and where their sensors sit."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.rotations import rotate
from ghost.deploy import RobotDescription, load_robot, read_robot
from ghost.deploy.robot import described
from ghost.hal import Mount, SensorKind
from ghost.telemetry import read_manifest
from tests.deploy.rig import X500, changed, fly, order, write_robot
from tests.deploy.test_robot import refusal

HEAVY: dict[str, Any] = {
    "name": "heavy",
    "description": "mine",
    "extends": "x500",
    "airframe": {"mass_kg": 2.4, "battery": {"capacity_ah": 8.0}},
}
LIDAR = {"kind": "laser_scan", "rate_hz": 10}
HOP = "name: hop\nframe: home\nsteps: [takeoff: {altitude_m: 1}, land: {}]"


def heavy(folder: Path, **changes: Any) -> RobotDescription:
    return read_robot(write_robot(folder, HEAVY | changes))


def test_what_it_says_goes_before_and_the_rest_is_as_below(tmp_path: Path) -> None:
    robot, below = heavy(tmp_path), load_robot("x500")
    assert robot.airframe is not None
    assert below.airframe is not None
    assert robot.airframe == replace(
        below.airframe,
        mass_kg=2.4,
        battery=replace(below.airframe.battery, capacity_ah=8.0),
    )
    assert (robot.name, robot.description) == ("heavy", "mine")
    assert (robot.hal, robot.sim, robot.sensors) == (below.hal, below.sim, below.sensors)
    assert (robot.envelope, robot.autopilot) == (below.envelope, below.autopilot)


def test_sensors_are_merged_by_name(tmp_path: Path) -> None:
    robot = heavy(tmp_path, sensors={"gps": {"rate_hz": 5}, "lidar": LIDAR})
    below = load_robot("x500").sensors
    assert [model.name for model in robot.sensors] == [*(model.name for model in below), "lidar"]
    gps = next(model for model in below if model.name == "gps")
    assert replace(gps, period_ns=200_000_000) in robot.sensors


def test_a_list_takes_the_place_of_the_one_below(tmp_path: Path) -> None:
    legs = [[0.1, 0.0, -0.1], [-0.1, 0.1, -0.1], [-0.1, -0.1, -0.1]]
    robot = heavy(tmp_path, airframe={"legs_flu_m": legs})
    assert robot.airframe is not None
    assert [list(leg) for leg in robot.airframe.legs_flu_m] == legs


def test_a_chain_is_followed_to_its_end_and_what_lies_beside_goes_before_ghost_s(
    tmp_path: Path,
) -> None:
    write_robot(tmp_path, changed(X500, {"airframe.mass_kg": 1.9}))
    write_robot(tmp_path, {**HEAVY, "airframe": {"thrust_curve": 0.5}})
    top = {"name": "top", "description": "top", "extends": "heavy", "sensors": {"lidar": LIDAR}}
    robot = read_robot(write_robot(tmp_path, top))
    assert robot.airframe is not None
    assert (robot.airframe.mass_kg, robot.airframe.thrust_curve) == (1.9, 0.5)
    assert robot.sensors[-1].kind is SensorKind.LASER_SCAN


def test_a_run_s_manifest_holds_the_whole_robot(tmp_path: Path) -> None:
    robot = heavy(tmp_path)
    assert robot.plain == changed(
        X500,
        {
            "name": "heavy",
            "description": "mine",
            "airframe.mass_kg": 2.4,
            "airframe.battery.capacity_ah": 8.0,
        },
    )
    fly(order(tmp_path / "run", robot=robot, mission=HOP))
    held = read_manifest(tmp_path / "run").config["robot"]
    again = described(held, tmp_path / "run")
    assert replace(again, path=robot.path, plain=robot.plain) == robot


def test_the_shipped_ones_are_an_x500_with_eyes() -> None:
    below = load_robot("x500")
    for name, eyes in {
        "x500_lidar": ["lidar"],
        "x500_depth": ["depth_camera", "rgb_camera"],
    }.items():
        robot = load_robot(name)
        assert (robot.airframe, robot.envelope) == (below.airframe, below.envelope)
        assert robot.sensors[: len(below.sensors)] == below.sensors
        assert [model.name for model in robot.sensors[len(below.sensors) :]] == eyes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"extends": "x501"}, "extends is 'x501'; expected a robot beside this one or of Ghost's"),
        (
            {"extends": "heavy"},
            "extends is 'heavy', which extends this robot; expected another one",
        ),
        (
            {"extends": "other"},
            "extends is 'heavy', which extends this robot; expected another one",
        ),
        ({"extends": 5}, "extends is 5; expected a text"),
        ({"airframe": {"mass_g": 5}}, "unknown key airframe.mass_g; did you mean mass_kg?"),
        ({"name": "x500"}, "name is 'x500', but its folder is 'heavy'"),
        ({"sensors": {"gps": None}}, "sensors.gps.kind is missing; expected one of imu, gps, "),
        ({"sensors": {"contact": LIDAR}}, "sensors.contact has the name of what the vehicle says "),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    write_robot(tmp_path, {"name": "other", "description": "other", "extends": "heavy"})
    assert refusal(tmp_path, HEAVY | changes, name="heavy").startswith(said)


# Mounts.


def lidar_mount(folder: Path, **mount: Any) -> Mount:
    robot = heavy(folder, sensors={"lidar": {**LIDAR, "mount": mount}})
    return robot.sensors[-1].spec.mount


def test_a_mount_is_a_place_and_angles_in_degrees(tmp_path: Path) -> None:
    mount = lidar_mount(tmp_path, position_flu_m=[0.1, 0, -0.05], pitch_deg=30, yaw_deg=90)
    assert mount.position_flu_m == (0.1, 0.0, -0.05)
    ahead, left, _ = (rotate(mount.attitude, axis) for axis in np.eye(3))
    down = -math.sin(math.radians(30.0))
    np.testing.assert_allclose(ahead, (0.0, math.cos(math.radians(30.0)), down), atol=1e-12)
    np.testing.assert_allclose(left, (-1.0, 0.0, 0.0), atol=1e-12)
    rolled = lidar_mount(tmp_path, roll_deg=90)
    np.testing.assert_allclose(rotate(rolled.attitude, (0, 1, 0)), (0, 0, 1), atol=1e-12)
    assert lidar_mount(tmp_path) == Mount()


@pytest.mark.parametrize(
    ("sensor", "mount", "said"),
    [
        ("lidar", {"yaw": 90}, "unknown key sensors.lidar.mount.yaw; did you mean yaw_deg?"),
        ("lidar", {"pitch_deg": 361}, "sensors.lidar.mount.pitch_deg is 361; expected -360 to 360"),
        ("lidar", {"position_flu_m": [0, 0]}, "sensors.lidar.mount.position_flu_m has 2 entries"),
        ("lidar", 5, "sensors.lidar.mount is 5; expected keys and values"),
        ("imu", {"yaw_deg": 90}, "unknown key sensors.imu.mount; expected "),
    ],
)
def test_an_impossible_mount_is_refused(tmp_path: Path, sensor: str, mount: Any, said: str) -> None:
    sensors = {"lidar": LIDAR, sensor: {**(LIDAR if sensor == "lidar" else {}), "mount": mount}}
    assert refusal(tmp_path, HEAVY | {"sensors": sensors}, name="heavy").startswith(said)
