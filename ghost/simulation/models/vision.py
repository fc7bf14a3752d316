"""Sensors that look at the world: lidars by rays, cameras by pictures.

Each has a mount, and noise by its own figures. What is out of reach reads as infinite, what is too
near or covered as NaN.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.hal import (
    DepthImage,
    LaserScan,
    Lens,
    Mount,
    PointCloud,
    Ranging,
    RgbImage,
    SensorKind,
    SensorSpec,
)
from ghost.hal.optics import CENTRE
from ghost.simulation.models.rays import angles_rad, fan, in_body
from ghost.simulation.models.sensors import Camera, Picture, Sensor, SensorModel, Truth

FloatArray = NDArray[np.float64]

_BEST_PER_M = 1000.0  # what a depth camera tells apart, a millimetre
_NEAREST_M = 0.01  # no picture without a near plane
_NEAREST_RGB_M = 0.05
_MOST_BEAMS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaserScanModel(SensorModel):
    """Beams in the sensor's own plane, spread evenly about straight ahead."""

    kind = SensorKind.LASER_SCAN
    mount: Mount = CENTRE
    beams: int = 360
    span_deg: float = 360.0
    noise_m: float = 0.02
    min_m: float = 0.15
    max_m: float = 12.0

    def __post_init__(self) -> None:
        SensorModel.__post_init__(self)
        _refuse_counts(self, "beams")
        _refuse_spans(self, "span_deg")

    @property
    def spec(self) -> SensorSpec:
        return _spec(self, _ranging(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class PointCloudModel(SensorModel):
    """rows of beams above each other, from height_deg / 2 below the sensor's plane to as much
    above.
    """

    kind = SensorKind.POINT_CLOUD
    mount: Mount = CENTRE
    columns: int = 180
    rows: int = 16
    span_deg: float = 360.0
    height_deg: float = 30.0
    noise_m: float = 0.02
    min_m: float = 0.15
    max_m: float = 30.0

    def __post_init__(self) -> None:
        SensorModel.__post_init__(self)
        _refuse_counts(self, "columns", "rows")
        _refuse_spans(self, "span_deg", "height_deg")
        if self.columns * self.rows > _MOST_BEAMS:
            raise ConfigError(
                f"sensor {self.name}: columns times rows is {self.columns * self.rows}; expected "
                f"{_MOST_BEAMS} or fewer"
            )

    @property
    def spec(self) -> SensorSpec:
        return _spec(self, _ranging(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthCameraModel(SensorModel):
    """Without fy_px pixels are square, without cx_px and cy_px the axis is in the middle."""

    kind = SensorKind.DEPTH_CAMERA
    mount: Mount = CENTRE
    width_px: int = 160
    height_px: int = 120
    fx_px: float = 84.0
    fy_px: float | None = None
    cx_px: float | None = None
    cy_px: float | None = None
    noise_m: float = 0.0
    noise_per_m2: float = 0.002
    min_m: float = 0.3
    max_m: float = 10.0

    @property
    def lens(self) -> Lens:
        return _lens(self)

    @property
    def spec(self) -> SensorSpec:
        return _spec(self, _ranging(self, self.noise_per_m2), self.lens)


@dataclass(frozen=True, slots=True, kw_only=True)
class RgbCameraModel(SensorModel):
    """noise_levels is of the 256 that a colour has."""

    kind = SensorKind.RGB_CAMERA
    mount: Mount = CENTRE
    width_px: int = 320
    height_px: int = 240
    fx_px: float = 277.0
    fy_px: float | None = None
    cx_px: float | None = None
    cy_px: float | None = None
    noise_levels: float = 1.0
    max_m: float = 200.0

    def __post_init__(self) -> None:
        SensorModel.__post_init__(self)
        if self.max_m <= _NEAREST_RGB_M:
            raise ConfigError(
                f"sensor {self.name}: max_m is {self.max_m}; expected above {_NEAREST_RGB_M}"
            )

    @property
    def lens(self) -> Lens:
        return _lens(self)

    @property
    def spec(self) -> SensorSpec:
        return _spec(self, None, self.lens)


class Scanner(Sensor):
    def start(self) -> None:
        model: LaserScanModel = self.model
        angles = angles_rad(model.beams, model.span_deg)
        self._ends_rad = (float(angles[0]), float(angles[-1]))
        self._origin = np.array(model.mount.position_flu_m)
        self._directions = in_body(model.mount, fan(angles, np.zeros(1)))

    def measure(self, truth: Truth, stamp_ns: int) -> LaserScan:
        ranges = truth.cast_m(self._origin, self._directions, self.model.max_m)
        ranges = _with_noise(self, ranges)
        name = self.model.name
        return LaserScan(stamp_ns, self.sequence, *self._ends_rad, ranges, name, self.health)


class Lidar(Sensor):
    def start(self) -> None:
        model: PointCloudModel = self.model
        around = angles_rad(model.columns, model.span_deg)
        upward = angles_rad(model.rows, model.height_deg)
        self._own = fan(around, upward)
        self._origin = np.array(model.mount.position_flu_m)
        self._directions = in_body(model.mount, self._own)

    def measure(self, truth: Truth, stamp_ns: int) -> PointCloud:
        ranges = truth.cast_m(self._origin, self._directions, self.model.max_m)
        ranges = _with_noise(self, ranges)
        hit = ~np.isinf(ranges)  # a beam that can't tell is no open field
        points = (self._own[hit] * ranges[hit, None]).astype(np.float32)
        return PointCloud(stamp_ns, self.sequence, points, self.model.name, self.health)


class DepthCamera(Sensor):
    def measure(self, truth: Truth, stamp_ns: int) -> DepthImage:
        seen = _with_noise(self, _picture(self, truth).depth_m.astype(np.float64))
        depth = (np.round(seen * _BEST_PER_M) / _BEST_PER_M).astype(np.float32)
        return DepthImage(stamp_ns, self.sequence, depth, self.model.name, self.health)


class RgbCamera(Sensor):
    def measure(self, truth: Truth, stamp_ns: int) -> RgbImage:
        rgb = _picture(self, truth).rgb
        noise = self.random.normal(rgb.shape) * (self.model.noise_levels * self.noise_scale)
        pixels = np.clip(np.round(rgb + noise), 0.0, 255.0).astype(np.uint8)
        if self.blinded:
            pixels[:] = 0
        return RgbImage(stamp_ns, self.sequence, pixels, self.model.name, self.health)


def _picture(sensor: Sensor, truth: Truth) -> Picture:
    model = sensor.model
    if truth.look is None:
        raise ConfigError(f"sensor {model.name} is a camera, and this simulator has no pictures")
    near_m = _NEAREST_RGB_M
    if model.kind is SensorKind.DEPTH_CAMERA:
        near_m = min(max(0.5 * model.min_m, _NEAREST_M), 0.5 * model.max_m)
    return truth.look(Camera(model.mount, model.lens, near_m, model.max_m))


def _with_noise(sensor: Sensor, away_m: FloatArray) -> FloatArray:
    ranging: Ranging = sensor.model.spec.ranging
    noise = sensor.random.normal(away_m.shape) * sensor.noise_scale
    hit = away_m <= ranging.max_m
    near_m = np.where(hit, away_m, 0.0)
    std_m = ranging.noise_m + ranging.noise_per_m2 * near_m * near_m
    seen: FloatArray = near_m + std_m * noise + sensor.offset_of(0)
    seen[seen < ranging.min_m] = np.nan
    seen[~hit | (seen > ranging.max_m)] = np.inf
    if sensor.blinded:
        seen[:] = np.nan
    return seen


def _spec(
    model: LaserScanModel | PointCloudModel | DepthCameraModel | RgbCameraModel,
    ranging: Ranging | None,
    lens: Lens | None = None,
) -> SensorSpec:
    return SensorSpec(
        model.name,
        model.kind,
        model.period_ns,
        model.latency_ns,
        model.name,
        model.mount,
        ranging,
        lens,
    )


def _ranging(
    model: LaserScanModel | PointCloudModel | DepthCameraModel, noise_per_m2: float = 0.0
) -> Ranging:
    try:
        return Ranging(model.min_m, model.max_m, model.noise_m, noise_per_m2)
    except ConfigError as error:
        raise ConfigError(f"sensor {model.name}: {error}") from None


def _lens(model: DepthCameraModel | RgbCameraModel) -> Lens:
    try:
        return Lens(
            model.width_px,
            model.height_px,
            model.fx_px,
            model.fx_px if model.fy_px is None else model.fy_px,
            0.5 * (model.width_px - 1) if model.cx_px is None else model.cx_px,
            0.5 * (model.height_px - 1) if model.cy_px is None else model.cy_px,
        )
    except ConfigError as error:
        raise ConfigError(f"sensor {model.name}: {error}") from None


def _refuse_counts(model: SensorModel, *keys: str) -> None:
    for key in keys:
        if not 1 <= getattr(model, key) <= 100_000:
            raise ConfigError(
                f"sensor {model.name}: {key} is {getattr(model, key)}; expected 1 to 100000"
            )


def _refuse_spans(model: SensorModel, *keys: str) -> None:
    for key in keys:
        if not 0.0 < getattr(model, key) <= 360.0:
            raise ConfigError(
                f"sensor {model.name}: {key} is {getattr(model, key)}; expected above 0, up to 360"
            )
