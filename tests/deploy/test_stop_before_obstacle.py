"""Sent at a wall at 5 m/s, a vehicle stops at the set distance, on its own sensors."""

from pathlib import Path

import numpy as np
import pytest

from ghost.core.random import RandomSource
from ghost.deploy import load_scenario
from ghost.events import EVENTS, EventKind
from ghost.hal.channels import GROUNDTRUTH_STATE
from ghost.mission import Result
from ghost.telemetry import LogReader
from tests.deploy.rig import fly, order

CLEARANCE_M = 3.0
OFF_M = 0.25
"""Range noise, the estimate's wander while braking, and what the set-point keeps in reserve."""
STEEPEST_DEG = 65.0
MISSION = f"""
name: ram
steps:
  - takeoff: {{altitude_m: 5.0}}
  - goto:
      position_enu_m: [60.0, 0.0, 5.0]
      speed_mps: 5.0
      stop_before_obstacle_m: {CLEARANCE_M}
  - land: {{}}
"""


def wall_world(folder: Path, angle_rad: float, ahead_m: float) -> str:
    """A wall across the path, turned by an angle about the point where the path meets it."""
    aside = np.array([-np.sin(angle_rad), np.cos(angle_rad)]) * 60.0
    (first, second) = (np.array([ahead_m, 0.0]) + sign * aside for sign in (-1.0, 1.0))
    path = folder / "wall.yaml"
    path.write_text(
        "name: wall\nsolids:\n  - wall: {from_m: "
        f"{first.tolist()}, to_m: {second.tolist()}, height_m: 14.0, thickness_m: 0.02}}\n"
    )
    return str(path)


def approach(
    folder: Path, robot: str, seed: int, steepest_deg: float
) -> tuple[float, float, float]:
    """The nearest that it came to the wall, where it stood before landing, its highest speed."""
    random = RandomSource(seed).child("approach")
    angle_rad = np.radians(steepest_deg) * (2.0 * random.uniform() - 1.0)
    ahead_m = 32.0 + 10.0 * random.uniform()
    scenario = load_scenario("calm", seed, wall_world(folder, angle_rad, ahead_m))
    _, flown = fly(order(folder / "run", robot=robot, mission=MISSION, scenario=scenario))
    assert flown.outcome.result is Result.COMPLETED, flown.outcome
    normal = np.array([np.cos(angle_rad), np.sin(angle_rad)])
    away_m: list[float] = []
    stood_m = np.nan
    fastest_mps = 0.0
    for record in LogReader(folder / "run").messages([GROUNDTRUTH_STATE.name, EVENTS.name]):
        if record.channel == EVENTS:
            if record.message.kind == EventKind.OBSTACLE_AHEAD:
                stood_m = away_m[-1]
            continue
        truth = record.message
        away_m.append(ahead_m * normal[0] - float(truth.position_enu_m[:2] @ normal) - 0.01)
        fastest_mps = max(fastest_mps, float(np.hypot(*truth.velocity_enu_mps[:2])))
    return min(away_m), stood_m, fastest_mps


@pytest.mark.parametrize("seed", range(50))
def test_a_lidar_stops_it_at_any_angle(tmp_path: Path, seed: int) -> None:
    nearest_m, stood_m, fastest_mps = approach(tmp_path, "x500_lidar", seed, STEEPEST_DEG)
    assert fastest_mps > 4.7
    assert stood_m == pytest.approx(CLEARANCE_M, abs=OFF_M)
    assert nearest_m > CLEARANCE_M - OFF_M


@pytest.mark.parametrize("seed", range(5))
def test_a_depth_camera_stops_it_at_what_it_looks_at(tmp_path: Path, seed: int) -> None:
    nearest_m, stood_m, fastest_mps = approach(tmp_path, "x500_depth", seed, 30.0)
    assert fastest_mps > 4.7
    assert stood_m == pytest.approx(CLEARANCE_M, abs=OFF_M)
    assert nearest_m > CLEARANCE_M - OFF_M
