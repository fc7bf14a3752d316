"""Lidars and cameras in front of walls at known distances: axes, mounts, errors and faults."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from ghost.core.rotations import from_euler_zyx
from ghost.hal import Health, Lens, Mount, Ranging, Sample
from ghost.simulation.adapter import Fault, FaultKind, VehicleSetup
from ghost.simulation.models.sensors import Camera, ImuModel, Picture, Sensor, SensorModel, Truth
from ghost.simulation.models.suite import SensorSuite
from ghost.simulation.models.vision import (
    DepthCameraModel,
    LaserScanModel,
    PointCloudModel,
    RgbCameraModel,
)
from tests.simulation.airframes import QUAD
from tests.simulation.test_adapter import connected
from tests.simulation.test_sensors import PERIOD_NS, PLACE, still

FloatArray = NDArray[np.float64]
AHEAD_M, LEFT_M, UP_M = 5.0, 3.0, 1.5
BEHIND_M, RIGHT_M, DOWN_M = 4.0, 2.0, 1.0
GREY = 128
INF, NAN = math.inf, math.nan

SCAN = LaserScanModel(name="scan", period_ns=PERIOD_NS, beams=4, noise_m=0.0)
CLOUD = PointCloudModel(
    name="cloud", period_ns=PERIOD_NS, columns=4, rows=3, height_deg=90.0, noise_m=0.0
)
DEPTH = DepthCameraModel(
    name="depth", period_ns=PERIOD_NS, width_px=8, height_px=6, noise_per_m2=0.0
)
RGB = RgbCameraModel(name="rgb", period_ns=PERIOD_NS, width_px=8, height_px=6, noise_levels=0.0)
NOISY: tuple[SensorModel, ...] = (
    replace(SCAN, noise_m=0.05),
    replace(CLOUD, noise_m=0.05),
    replace(DEPTH, noise_m=0.01, noise_per_m2=0.002),
    replace(RGB, noise_levels=3.0),
)


def cast_m(origin: FloatArray, directions: FloatArray, max_m: float) -> FloatArray:
    """Six walls about the body."""
    low, high = np.array([-BEHIND_M, -RIGHT_M, -DOWN_M]), np.array([AHEAD_M, LEFT_M, UP_M])
    with np.errstate(divide="ignore"):
        away_m: FloatArray = (np.where(directions > 0.0, high, low) - origin) / directions
    away_m[directions == 0.0] = INF
    nearest_m: FloatArray = away_m.min(axis=1)
    nearest_m[nearest_m > max_m] = INF
    return nearest_m


def facing(depth_m: float) -> Callable[[Camera], Picture]:
    def look(camera: Camera) -> Picture:
        shape = (camera.lens.height_px, camera.lens.width_px)
        return Picture(np.full((*shape, 3), GREY, np.uint8), np.full(shape, depth_m, np.float32))

    return look


class Eyes:
    """Sensors of a vehicle at rest between the walls."""

    def __init__(self, *models: SensorModel, away_m: float | None = None) -> None:
        self.suite = SensorSuite(models, RandomSource(1), PLACE)
        self.truth: Truth = replace(still(), cast_m=cast_m, look=facing(AHEAD_M))
        if away_m is not None:
            self.stand_before(away_m)
        self.now_ns = 0

    def stand_before(self, away_m: float) -> None:
        self.truth.cast_m = lambda _, rays, __: np.full(len(rays), away_m)
        self.truth.look = facing(away_m)

    def step(self) -> list[tuple[str, Sample]]:
        self.now_ns += PERIOD_NS
        return self.suite.sample(self.truth, self.now_ns)

    def take(self, count: int = 1) -> list[Any]:
        return [sample for _ in range(count) for _, sample in self.step()]


def seen_by(model: SensorModel, away_m: float | None = None) -> Any:
    (sample,) = Eyes(model, away_m=away_m).take()
    return sample


def values(sample: Any) -> FloatArray:
    """What is measured: metres along each beam, or pixels."""
    if hasattr(sample, "points_m"):
        points = sample.points_m.astype(np.float64)
        return np.asarray(np.sqrt((points * points).sum(axis=1)))
    for name in ("ranges_m", "depth_m", "pixels"):
        if hasattr(sample, name):
            return np.asarray(getattr(sample, name)).ravel().astype(np.float64)
    raise AssertionError(sample)


# Axes and mounts.


def test_a_full_turn_begins_behind_and_goes_by_the_right_without_repeating_itself() -> None:
    scan = seen_by(SCAN)
    np.testing.assert_allclose(scan.ranges_m, (BEHIND_M, RIGHT_M, AHEAD_M, LEFT_M))
    assert (scan.start_angle_rad, scan.end_angle_rad) == (-math.pi, math.pi / 2.0)


@pytest.mark.parametrize(
    ("beams", "ranges_m"), [(3, (RIGHT_M, AHEAD_M, LEFT_M)), (2, (RIGHT_M, LEFT_M)), (1, AHEAD_M)]
)
def test_part_of_a_turn_has_a_beam_at_each_end(beams: int, ranges_m: tuple[float, ...]) -> None:
    scan = seen_by(replace(SCAN, beams=beams, span_deg=180.0))
    np.testing.assert_allclose(scan.ranges_m, ranges_m)
    ends = (-math.pi / 2.0, math.pi / 2.0) if beams > 1 else (0.0, 0.0)
    assert (scan.start_angle_rad, scan.end_angle_rad) == ends


def test_a_cloud_rises_from_its_lowest_row() -> None:
    low, level, high = seen_by(CLOUD).points_m.reshape(3, 4, 3)
    around = [(-BEHIND_M, 0.0, 0.0), (0.0, -RIGHT_M, 0.0), (AHEAD_M, 0.0, 0.0), (0.0, LEFT_M, 0.0)]
    np.testing.assert_allclose(level, around, rtol=0, atol=1e-6)
    np.testing.assert_allclose(low[2], (DOWN_M, 0.0, -DOWN_M), rtol=0, atol=1e-6)
    np.testing.assert_allclose(high[3], (0.0, UP_M, UP_M), rtol=0, atol=1e-6)


MOUNTS = {
    "moved": (Mount((1.0, -0.5, 0.0)), (5.0, 1.5, 4.0, 3.5)),
    "to the left": (Mount(attitude=(0.5**0.5, 0.0, 0.0, 0.5**0.5)), (2.0, 5.0, 3.0, 4.0)),
    "nose down": (Mount(attitude=(0.5**0.5, 0.0, 0.5**0.5, 0.0)), (1.5, 2.0, 1.0, 3.0)),
    "rolled right": (Mount(attitude=(0.5**0.5, 0.5**0.5, 0.0, 0.0)), (4.0, 1.0, 5.0, 1.5)),
}


@pytest.mark.parametrize(("mount", "ranges_m"), MOUNTS.values(), ids=MOUNTS)
def test_a_lidar_looks_from_where_and_whither_it_is_mounted(
    mount: Mount, ranges_m: tuple[float, ...]
) -> None:
    """Behind, right, ahead and left of the sensor, in its own axes."""
    np.testing.assert_allclose(seen_by(replace(SCAN, mount=mount)).ranges_m, ranges_m)
    level = seen_by(replace(CLOUD, mount=mount)).points_m.reshape(3, 4, 3)[1]
    own = np.array([(-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    np.testing.assert_allclose(level, own * np.array(ranges_m)[:, None], rtol=0, atol=1e-6)


def test_a_camera_asks_for_pictures_through_its_own_lens_from_its_own_place() -> None:
    asked: list[Camera] = []
    eyes = Eyes(replace(DEPTH, mount=MOUNTS["nose down"][0]), replace(DEPTH, name="b", min_m=0.0))
    picture = facing(AHEAD_M)
    eyes.truth.look = lambda camera: asked.append(camera) or picture(camera)  # type: ignore[func-returns-value]  # None, so the picture
    eyes.take()
    assert (asked[0].mount, asked[0].lens) == (MOUNTS["nose down"][0], DEPTH.lens)
    assert 0.0 < asked[0].near_m < DEPTH.min_m < asked[0].far_m == DEPTH.max_m
    assert asked[1].near_m > 0.0, "no picture without a near plane"


@pytest.mark.parametrize("model", [DEPTH, RGB], ids=lambda model: model.name)
def test_where_there_are_no_pictures_a_camera_is_refused(model: SensorModel) -> None:
    eyes = Eyes(model)
    eyes.truth.look = None
    with pytest.raises(ConfigError, match=f"sensor {model.name} is a camera, and this simulator"):
        eyes.take()


def test_what_a_sensor_is_stands_in_its_spec() -> None:
    mount = Mount((0.1, 0.0, -0.05), tuple(from_euler_zyx(0.0, 0.3, 0.1).tolist()))
    made = [replace(model, mount=mount) for model in NOISY]  # type: ignore[call-arg]  # each has one
    scan, cloud, depth, rgb = (model.spec for model in made)
    assert {spec.mount for spec in (scan, cloud, depth, rgb)} == {mount}
    assert [spec.frame_id for spec in (scan, cloud, depth, rgb)] == [
        "scan",
        "cloud",
        "depth",
        "rgb",
    ]
    assert scan.ranging == Ranging(0.15, 12.0, 0.05)
    assert cloud.ranging == Ranging(0.15, 30.0, 0.05)
    assert depth.ranging == Ranging(0.3, 10.0, 0.01, 0.002)
    assert (rgb.ranging, scan.lens, cloud.lens) == (None, None, None)
    assert depth.lens == Lens(8, 6, 84.0, 84.0, 3.5, 2.5), "square pixels, and the axis amidst"
    own = replace(RGB, fy_px=70.0, cx_px=1.0, cy_px=2.0)
    assert own.spec.lens == Lens(8, 6, 277.0, 70.0, 1.0, 2.0)


# Errors.


@pytest.mark.parametrize(
    ("model", "std"),
    [
        (NOISY[0], 0.05),
        (NOISY[1], 0.05),
        (NOISY[2], 0.01 + 0.002 * AHEAD_M * AHEAD_M),
        (NOISY[3], math.sqrt(9.0 + 1.0 / 12.0)),  # and rounding to a level
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_noise_is_what_is_declared(model: SensorModel, std: float) -> None:
    read = np.array([values(sample) for sample in Eyes(model, away_m=AHEAD_M).take(600)])
    assert read.std() == pytest.approx(std, rel=0.04)
    assert read.mean() == pytest.approx(GREY if model.name == "rgb" else AHEAD_M, rel=0.002)
    assert abs(np.corrcoef(read[:, 0], read[:, 1])[0, 1]) < 0.15, "each beam for itself"


@pytest.mark.parametrize(
    ("away_m", "read_m"),
    [(6.0, 6.0), (9.99, 9.99), (10.01, INF), (INF, INF), (0.31, 0.31), (0.29, NAN)],
)
def test_too_far_is_infinite_and_too_near_is_nothing_said(away_m: float, read_m: float) -> None:
    limits = {"min_m": 0.3, "max_m": 10.0}
    np.testing.assert_allclose(seen_by(replace(SCAN, **limits), away_m).ranges_m, read_m)  # type: ignore[arg-type]  # both floats
    np.testing.assert_allclose(seen_by(replace(DEPTH, **limits), away_m).depth_m, read_m)  # type: ignore[arg-type]  # same
    in_cloud = values(seen_by(replace(CLOUD, **limits), away_m))  # type: ignore[arg-type]  # same
    np.testing.assert_allclose(in_cloud, [] if math.isinf(read_m) else [read_m] * 12)


def test_a_depth_camera_tells_millimetres_apart() -> None:
    assert set(values(seen_by(DEPTH, 5.0004)).round(6)) == {5.0}


def test_a_sample_shows_what_was_there_when_it_was_taken() -> None:
    late = replace(SCAN, period_ns=4 * PERIOD_NS, latency_ns=3 * PERIOD_NS)
    eyes = Eyes(late)
    arrived = []
    for tick in range(1, 12):
        eyes.stand_before(float(tick))
        arrived += [(tick, one.stamp_ns // PERIOD_NS, one.ranges_m[0]) for one in eyes.take()]
    assert arrived == [(7, 4, 4.0), (11, 8, 8.0)]


# Faults.


def covered(sensor: Sensor) -> None:
    sensor.blinded = True


def silenced(sensor: Sensor) -> None:
    sensor.silent = True


def offset(sensor: Sensor) -> None:
    sensor.offset = (0.5,)


def noisier(sensor: Sensor) -> None:
    sensor.noise_scale = 5.0


@pytest.mark.parametrize("fault", [covered, silenced, offset, noisier, Sensor.freeze])
@pytest.mark.parametrize("model", NOISY, ids=lambda model: model.name)
def test_a_healed_eye_goes_on_as_if_nothing_had_been(
    model: SensorModel, fault: Callable[[Sensor], None]
) -> None:
    healthy, ill = Eyes(model), Eyes(model)
    assert ill.take(2) == healthy.take(2)
    sensor = ill.suite.sensors[model.name]
    fault(sensor)
    harmless = fault is offset and model.name == "rgb"  # which axis would that be?
    assert (ill.take(2) == healthy.take(2)) is harmless
    sensor.heal()
    assert _bits(ill.take(2)) == _bits(healthy.take(2))


def _bits(samples: list[Any]) -> list[bytes]:
    return [values(sample).tobytes() for sample in samples]


def test_who_is_covered_says_nothing_of_distances_and_sees_black() -> None:
    eyes = Eyes(*NOISY)
    for sensor in eyes.suite.sensors.values():
        covered(sensor)
    scan, cloud, depth, rgb = eyes.take()
    assert np.isnan(scan.ranges_m).all()
    assert np.isnan(depth.depth_m).all()
    assert np.isnan(cloud.points_m).all()
    assert cloud.points_m.shape == (12, 3), "no open field"
    assert not rgb.pixels.any()
    assert {sample.health for sample in (scan, cloud, depth, rgb)} == {Health.OK}, "it can't know"


def test_a_frozen_eye_repeats_its_last_sight_with_new_stamps() -> None:
    eyes = Eyes(*NOISY)
    before = eyes.take()
    for sensor in eyes.suite.sensors.values():
        sensor.freeze()
    eyes.stand_before(1.0)
    for old, new in zip(before, eyes.take(), strict=True):
        assert new == replace(old, stamp_ns=2 * PERIOD_NS, sequence=1)


def test_a_silent_eye_sends_nothing() -> None:
    eyes = Eyes(SCAN, DEPTH)
    silenced(eyes.suite.sensors["scan"])
    assert [name for name, _ in eyes.step()] == ["depth"]


def test_an_offset_is_added_to_each_distance_and_may_lead_out_of_range() -> None:
    eyes = Eyes(SCAN, CLOUD, DEPTH, away_m=8.0)
    for sensor in eyes.suite.sensors.values():
        offset(sensor)
    for sample in eyes.take():
        np.testing.assert_allclose(values(sample), 8.5)
    eyes.suite.sensors["scan"].offset = (4.1,)
    scan, *_ = eyes.take()
    assert np.isinf(scan.ranges_m).all()


def test_only_what_looks_can_be_covered() -> None:
    lidar = replace(SCAN, name="lidar")
    adapter = connected(VehicleSetup(QUAD, (ImuModel(name="imu", period_ns=PERIOD_NS), lidar)))
    adapter.inject(0, Fault("lidar", FaultKind.BLINDED))
    adapter.step(PERIOD_NS)
    scan: Any = dict(adapter.receive_sensors(0))["lidar"]
    assert np.isnan(scan.ranges_m).all()
    with pytest.raises(ConfigError, match="blinded is not one of sensor imu"):
        adapter.inject(0, Fault("imu", FaultKind.BLINDED))


# What is refused.


@pytest.mark.parametrize(
    ("model", "settings", "complaint"),
    [
        (SCAN, {"beams": 0}, "beams is 0; expected 1 to 100000"),
        (SCAN, {"beams": 100_001}, "beams is 100001"),
        (SCAN, {"span_deg": 0.0}, "span_deg is 0.0; expected above 0, up to 360"),
        (SCAN, {"span_deg": 361.0}, "span_deg is 361.0"),
        (SCAN, {"noise_m": -0.1}, "noise_m is -0.1"),
        (SCAN, {"min_m": 12.0}, "min_m is 12 and max_m 12"),
        (CLOUD, {"columns": 0}, "columns is 0"),
        (CLOUD, {"rows": 0}, "rows is 0"),
        (
            CLOUD,
            {"columns": 100_000, "rows": 11},
            "columns times rows is 1100000; expected 1000000",
        ),
        (CLOUD, {"height_deg": 0.0}, "height_deg is 0.0"),
        (CLOUD, {"max_m": INF}, "max_m is inf"),
        (DEPTH, {"width_px": 0}, "width_px is 0; expected an integer, 1 to 8192"),
        (DEPTH, {"height_px": 8193}, "height_px is 8193"),
        (DEPTH, {"fx_px": 0.0}, "fx_px is 0.0; expected above 0"),
        (DEPTH, {"fy_px": 0.0}, "fy_px is 0.0"),
        (DEPTH, {"cx_px": 7.6}, "cx_px is 7.6; expected inside the image, -0.5 to 7.5"),
        (DEPTH, {"noise_per_m2": NAN}, "noise_per_m2 is nan"),
        (RGB, {"cy_px": 5.6}, "cy_px is 5.6"),
        (RGB, {"fx_px": NAN}, "fx_px is nan"),
        (RGB, {"noise_levels": -1.0}, "noise_levels is -1.0"),
        (RGB, {"max_m": 0.0}, "max_m is 0.0; expected above 0.05"),
    ],
)
def test_an_impossible_eye_is_refused_by_the_name_of_its_key(
    model: Any, settings: dict[str, float], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=f"^sensor {model.name}: {complaint}"):
        replace(model, **settings)
