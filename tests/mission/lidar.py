"""A lidar that sees what a test says is there, and says of itself what a test wants."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ghost.events import Bus
from ghost.hal import Obstacles, Sight, VehicleState
from ghost.hal.channels import OBSTACLES, VEHICLE

PERIOD_NS = 100_000_000
NOTHING = np.empty((0, 3))

Things = NDArray[np.float64]
Disturbance = Callable[[Things], Things]


def wall(
    middle_m: tuple[float, float] = (30.0, 0.0), angle_rad: float = 0.0, *, top_m: float = 12.0
) -> Things:
    """50 m wide, a point every quarter of a metre; at angle 0 it faces east and west."""
    across = np.arange(-25.0, 25.01, 0.25)
    up = np.arange(0.0, top_m + 0.01, 0.25)
    along, height = (part.reshape(-1) for part in np.meshgrid(across, up))
    east = middle_m[0] - along * math.sin(angle_rad)
    north = middle_m[1] + along * math.cos(angle_rad)
    return np.stack((east, north, height), axis=1)


def off_wall_m(
    place_m: Things, middle_m: tuple[float, float] = (30.0, 0.0), angle_rad: float = 0.0
) -> float:
    east, north = place_m[0] - middle_m[0], place_m[1] - middle_m[1]
    return float(abs(east * math.cos(angle_rad) + north * math.sin(angle_rad)))


class Lidar:
    """Places points as a perfect finder would; late by a period, as a real one is."""

    def __init__(
        self,
        bus: Bus,
        things: Things = NOTHING,
        *,
        name: str = "lidar",
        reach_m: float = 20.0,
        std_m: float = 0.02,
    ) -> None:
        self.things = things
        self.sight: Sight | None = None
        self.silent = False
        self.disturbs: Disturbance = lambda points: points
        self._bus = bus
        self._name = name
        self._reach_m = reach_m
        self._std_m = std_m
        self._due_ns = 0
        self._late: Obstacles | None = None
        bus.subscribe(VEHICLE, self._on_state, name=f"{name} of the test")

    def _on_state(self, state: VehicleState) -> None:
        if self.silent or state.stamp_ns < self._due_ns:
            return
        self._due_ns = state.stamp_ns + PERIOD_NS
        away_m = np.sqrt(((self.things - state.position_enu_m) ** 2).sum(axis=1))
        points = self.disturbs(self.things[away_m < self._reach_m])
        sight = self.sight or (Sight.OK if len(points) else Sight.OUT_OF_RANGE)
        if sight is not Sight.OK:
            points = NOTHING
        said, self._late = self._late, self._said(state.stamp_ns, sight, points)
        if said is not None:
            self._bus.publish(OBSTACLES, said)

    def _said(self, stamp_ns: int, sight: Sight, points: Things) -> Obstacles:
        std_m = np.full(len(points), self._std_m)
        return Obstacles(stamp_ns, self._name, sight, points.astype(np.float32), std_m)
