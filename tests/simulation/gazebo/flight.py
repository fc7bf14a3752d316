"""A square flown through the adapter by the whole of Ghost, and what must be true of it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot
from tests.deploy.rig import scenario_of

SQUARE = """\
name: square
frame: home
defaults: {{speed_mps: 3.0, acceleration_mps2: 2.0, acceptance_m: 0.4}}
steps:
  - takeoff: {{altitude_m: {height}}}
  - hold: {{seconds: {hold_s}}}
  - goto:
      waypoints:
        - {{east_m: {side}, north_m: 0.0, altitude_m: {height}}}
        - {{east_m: {side}, north_m: {side}, altitude_m: {height}}}
        - {{east_m: 0.0, north_m: {side}, altitude_m: {height}}}
        - {{east_m: 0.0, north_m: 0.0, altitude_m: {height}}}
      yaw: path
  - land: {{}}
"""


@dataclass(frozen=True)
class Square:
    side_m: float
    height_m: float
    hold_s: float

    @property
    def corners_m(self) -> tuple[tuple[float, float], ...]:
        side_m = self.side_m
        return ((side_m, 0.0), (side_m, side_m), (0.0, side_m), (0.0, 0.0))


@dataclass(frozen=True)
class Flown:
    """place_m is where the vehicle really was, relative to where it stood: a row per cycle of
    20 ms.
    """

    place_m: NDArray[np.float64]
    simulated_ns: int
    wall_ns: int


def fly(square: Square, address: str, folder: Path, step_ms: int) -> Flown:
    mission = folder / "square.yaml"
    text = SQUARE.format(side=square.side_m, height=square.height_m, hold_s=square.hold_s)
    mission.write_text(text, encoding="utf-8")
    order = Order(
        load_robot("iris"),
        load_mission(mission),
        scenario_of(folder, f"duration_s: 120\nstep_ms: {step_ms}\n"),
        folder / "run",
        simulator=f"gazebo@{address}",
    )
    flight, path = SimulatedFlight(order), []
    flown = flight.run(lambda now: path.append(now.backend.ground_truth().position_enu_m))
    assert flown.succeeded, flown.outcome
    return Flown(np.array(path) - path[0], flown.simulated_ns, flown.wall_ns)


def check(square: Square, place_m: NDArray[np.float64], within_m: float) -> None:
    """All corners were passed at height, nothing was left far aside, and it landed where it was."""
    highest_m = float(place_m[:, 2].max())
    assert abs(highest_m - square.height_m) < within_m
    aloft = place_m[place_m[:, 2] > square.height_m - within_m]
    for corner in square.corners_m:
        missed_m = float(np.linalg.norm(aloft[:, :2] - corner, axis=1).min())
        assert missed_m < within_m, f"{corner} was missed by {missed_m:.2f} m"
    assert float(place_m[:, :2].min()) > -within_m
    assert float(place_m[:, :2].max()) < square.side_m + within_m
    assert float(np.linalg.norm(place_m[-1])) < within_m
