"""A finder on a bus of its own, a vehicle that is where it is told, and what was published."""

from typing import Any

import numpy as np

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus
from ghost.hal import (
    EstimateHealth,
    Lens,
    Mount,
    Obstacles,
    Ranging,
    SensorKind,
    SensorSpec,
    VehicleState,
)
from ghost.hal.channels import OBSTACLES, VEHICLE
from ghost.perception import ObstacleFinder

MS = 1_000_000
RANGING = Ranging(min_m=0.2, max_m=12.0)
LENS = Lens(width_px=8, height_px=6, fx_px=4.0, fy_px=4.0, cx_px=3.5, cy_px=2.5)
LEVEL = (1.0, 0.0, 0.0, 0.0)


def lidar(mount: Mount | None = None, ranging: Ranging = RANGING) -> SensorSpec:
    return SensorSpec(
        "lidar", SensorKind.LASER_SCAN, 100 * MS, mount=mount or Mount(), ranging=ranging
    )


def camera(mount: Mount | None = None, lens: Lens = LENS) -> SensorSpec:
    return SensorSpec(
        *("camera", SensorKind.DEPTH_CAMERA, 66 * MS),
        mount=mount or Mount(),
        ranging=RANGING,
        lens=lens,
    )


def cloud() -> SensorSpec:
    return SensorSpec("cloud", SensorKind.POINT_CLOUD, 100 * MS, ranging=RANGING)


class Rig:
    def __init__(self, *specs: SensorSpec) -> None:
        self.bus = Bus(SimClock())
        self.found: list[Obstacles] = []
        self.failures: list[str] = []
        self.finder = ObstacleFinder(self.bus, specs)
        self._channels = {spec.name: spec.channel for spec in specs}
        self.bus.attach(self, name="rig")

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        del stamp_ns, sequence
        if channel.name == OBSTACLES.name:
            self.found.append(message)
        elif channel.name == EVENTS.name:
            self.failures.append(message.text)

    def state(
        self,
        stamp_ns: int,
        position_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
        attitude: Any = LEVEL,
        *,
        verdict: EstimateHealth = EstimateHealth.GOOD,
        attitude_variance_rad2: float = 0.0,
    ) -> None:
        zero, square = np.zeros(3), np.zeros((3, 3))
        state = VehicleState(
            *(stamp_ns, 0, np.array(position_m), zero, np.array(attitude), zero, zero, zero, zero),
            *(square, square, np.eye(3) * attitude_variance_rad2, verdict),
        )
        self.bus.publish(VEHICLE, state)

    def sense(self, name: str, sample: Any) -> None:
        self.bus.publish(self._channels[name], sample)
        assert self.failures == []
