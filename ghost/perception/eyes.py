"""From a sensor's sample to points in the sensor's own axes: x ahead, y left, z up."""

import math
from typing import Any, Protocol, TypeVar

import numpy as np

from ghost.core.errors import ConfigError
from ghost.core.exact import sine_cosine
from ghost.hal import DepthImage, LaserScan, Lens, PointCloud, Ranging, SensorKind, SensorSpec
from ghost.hal.message import Ranges
from ghost.perception.thinning import Grid, nearest_by_direction

S_contra = TypeVar("S_contra", contravariant=True)

_UNREADABLE = np.array([math.nan])
_WIDEST_RAD = 100.0


class Eye(Protocol[S_contra]):
    """How one sensor's samples are read. Eyes remember rays, and nothing of what they saw."""

    def raw(self, sample: S_contra) -> bytes:
        """What is compared to tell a sensor that repeats itself."""
        ...

    def readings_m(self, sample: S_contra) -> Ranges:
        """Flat; a lone NaN where the sample makes no sense."""
        ...

    def points(self, sample: S_contra, readings_m: Ranges) -> tuple[Ranges, Ranges]:
        """A row for x, y and z each, and the reading of each point. In range, and thinned out."""
        ...


def eye_of(spec: SensorSpec, ranging: Ranging) -> Eye[Any]:
    if spec.kind is SensorKind.LASER_SCAN:
        return ScanEye(ranging)
    if spec.kind is SensorKind.POINT_CLOUD:
        return CloudEye(ranging)
    if spec.lens is None:
        raise ConfigError(f"sensor {spec.name}: no lens; a depth camera needs one")
    return DepthEye(spec.lens, ranging)


class ScanEye:
    def __init__(self, ranging: Ranging) -> None:
        self._ranging = ranging
        self._turn: tuple[float, float, int] | None = None
        self._cosines = self._sines = np.empty(0)
        self._grid = Grid(1, 1)

    def raw(self, sample: LaserScan) -> bytes:
        return sample.ranges_m.tobytes()

    def readings_m(self, sample: LaserScan) -> Ranges:
        widest_rad = max(abs(sample.start_angle_rad), abs(sample.end_angle_rad))
        if not widest_rad <= _WIDEST_RAD or not sample.ranges_m.size:
            return _UNREADABLE
        return sample.ranges_m

    def points(self, sample: LaserScan, readings_m: Ranges) -> tuple[Ranges, Ranges]:
        self._aim(sample.start_angle_rad, sample.end_angle_rad, len(readings_m))
        chosen = self._grid.nearest(_in_range(readings_m, self._ranging))
        found_m = readings_m[chosen]
        cosines, sines = self._cosines[chosen], self._sines[chosen]
        return np.stack((found_m * cosines, found_m * sines, np.zeros(len(found_m)))), found_m

    def _aim(self, start_rad: float, end_rad: float, count: int) -> None:
        """A lidar's rays are the same from turn to turn, so they are worked out once."""
        if self._turn == (start_rad, end_rad, count):
            return
        step_rad = (end_rad - start_rad) / max(count - 1, 1)
        pairs = np.array([sine_cosine(start_rad + index * step_rad) for index in range(count)])
        self._sines, self._cosines = np.ascontiguousarray(pairs.T)
        self._grid = Grid(1, count)
        self._turn = (start_rad, end_rad, count)


class DepthEye:
    def __init__(self, lens: Lens, ranging: Ranging) -> None:
        self._ranging = ranging
        self._shape = (lens.height_px, lens.width_px)
        self._grid = Grid(lens.height_px, lens.width_px)
        left = -(np.arange(lens.width_px) - lens.cx_px) / lens.fx_px
        up = -(np.arange(lens.height_px) - lens.cy_px) / lens.fy_px
        self._left = np.tile(left, lens.height_px)
        self._up = np.repeat(up, lens.width_px)
        self._stretch = np.sqrt(1.0 + self._left * self._left + self._up * self._up)

    def raw(self, sample: DepthImage) -> bytes:
        return sample.depth_m.tobytes()

    def readings_m(self, sample: DepthImage) -> Ranges:
        if sample.depth_m.shape != self._shape:
            return _UNREADABLE
        return sample.depth_m.reshape(-1).astype(np.float64)

    def points(self, sample: DepthImage, readings_m: Ranges) -> tuple[Ranges, Ranges]:
        del sample
        chosen = self._grid.nearest(_in_range(readings_m, self._ranging) * self._stretch)
        found_m = readings_m[chosen]
        left, up = self._left[chosen], self._up[chosen]
        return np.stack((found_m, found_m * left, found_m * up)), found_m


class CloudEye:
    """A cloud has no beams that hit nothing, so one that is empty is an open field: a lidar that
    is covered must show it by readings too near, or by its health.
    """

    def __init__(self, ranging: Ranging) -> None:
        self._ranging = ranging

    def raw(self, sample: PointCloud) -> bytes:
        return sample.points_m.tobytes()

    def readings_m(self, sample: PointCloud) -> Ranges:
        x, y, z = sample.points_m.astype(np.float64).T
        distances_m: Ranges = np.sqrt(x * x + y * y + z * z)
        return distances_m

    def points(self, sample: PointCloud, readings_m: Ranges) -> tuple[Ranges, Ranges]:
        seen = _in_range(readings_m, self._ranging) < math.inf
        points_m, distances_m = sample.points_m[seen].astype(np.float64), readings_m[seen]
        chosen = nearest_by_direction(points_m, distances_m)
        return points_m[chosen].T, distances_m[chosen]


def _in_range(readings_m: Ranges, ranging: Ranging) -> Ranges:
    """Infinite where there is no reading in range."""
    within = (readings_m >= ranging.min_m) & (readings_m <= ranging.max_m)
    return np.where(within, readings_m, math.inf)
