"""What lidars and cameras see of a world, against pen and paper."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.rotations import from_yaw
from ghost.hal import Mount
from ghost.simulation.models.sensors import ImuModel, RangefinderModel, SensorModel
from ghost.simulation.models.vision import (
    DepthCameraModel,
    LaserScanModel,
    PointCloudModel,
    RgbCameraModel,
)
from ghost.simulation.pybullet.client import pybullet
from ghost.simulation.pybullet.shapes import rotor_radius_m
from ghost.simulation.scenery import NOTHING, Box, Cylinder, Mesh, Scenery, Solid
from tests.simulation.airframes import QUAD
from tests.simulation.pybullet.rig import MS, SECOND, connected, quad, seen_from, spend

FloatArray = NDArray[np.float64]
HIGH_M = 50.0
DOWNWARDS = (0.5**0.5, 0.0, 0.5**0.5, 0.0)

SCAN = LaserScanModel(name="scan", period_ns=MS, noise_m=0.0, beams=4, min_m=0.0, max_m=30.0)
CLOUD = PointCloudModel(name="cloud", period_ns=MS, noise_m=0.0, columns=8, rows=5, min_m=0.0)
AHEAD = Mount((0.4, 0.0, 0.0))
DEPTH = DepthCameraModel(name="depth", period_ns=MS, noise_per_m2=0.0, max_m=20.0, mount=AHEAD)
RGB = RgbCameraModel(name="rgb", period_ns=MS, noise_levels=0.0, mount=AHEAD)
POLE = Cylinder(0.4, 4.0)
LENSES: dict[str, dict[str, Any]] = {
    "plain": {},
    "off centre": {"cx_px": 30.0, "cy_px": 20.25},
    "long": {"width_px": 161, "height_px": 121, "fx_px": 200.0, "fy_px": 100.0},
}


def among(*solids: Solid) -> Scenery:
    return Scenery(solids=solids)


def aloft(sensor: SensorModel, yaw_rad: float = 0.0) -> Any:
    w, x, y, z = from_yaw(yaw_rad).tolist()
    return quad(sensor, position_enu_m=(0.0, 0.0, HIGH_M), attitude=(w, x, y, z))


def at(name: str, shape: Any, east_m: float, north_m: float = 0.0, up_m: float = 0.0) -> Solid:
    return Solid(name, shape, (east_m, north_m, HIGH_M + up_m), rgb=(1.0, 0.0, 0.0))


# Lidars.


def test_straight_on_a_lidar_is_exact() -> None:
    around = among(
        at("box", Box((1.0, 1.0, 4.0)), 5.5),
        at("cylinder", Cylinder(0.5, 4.0), 0.0, 6.0),
        Solid("mesh", Mesh(((-4.0, -3.0, 0.0), (-4.0, 3.0, 0.0), (-4.0, 0.0, 80.0)), ((0, 1, 2),)),
              (0.0, 0.0, 0.0)),
    )  # fmt: skip
    expected = (4.0, math.inf, 5.0, 5.5)  # behind, right, ahead, left
    np.testing.assert_allclose(seen_from(aloft(SCAN), around).ranges_m, expected, rtol=0, atol=1e-6)
    north = seen_from(aloft(SCAN, math.pi / 2.0), around).ranges_m
    np.testing.assert_allclose(north, (math.inf, 5.0, 5.5, 4.0), rtol=0, atol=1e-6)


def test_aslant_a_beam_ends_within_a_millimetre_of_what_it_hits() -> None:
    """Bullet's rays close in on convex shapes and stop so near, never inside."""
    w, x, y, z = from_yaw(0.3).tolist()
    box = replace(at("box", Box((2.0, 1.0, 4.0)), 5.0, 1.0), attitude=(w, x, y, z))
    scan = seen_from(aloft(replace(SCAN, beams=720)), among(box, at("pole", POLE, -3.0, 2.0)))
    angles = np.linspace(scan.start_angle_rad, scan.end_angle_rad, 720)
    hit = np.isfinite(scan.ranges_m)
    east, north = scan.ranges_m[hit] * (np.cos(angles[hit]), np.sin(angles[hit]))
    along = math.cos(0.3) * (east - 5.0) + math.sin(0.3) * (north - 1.0)
    across = math.cos(0.3) * (north - 1.0) - math.sin(0.3) * (east - 5.0)
    off_box = np.maximum(np.abs(along) - 1.0, np.abs(across) - 0.5)
    off_pole = np.sqrt((east + 3.0) ** 2 + (north - 2.0) ** 2) - POLE.radius_m
    off_m = np.minimum(off_box, off_pole)
    assert hit.sum() > 50
    assert off_m.min() > -1e-6
    assert off_m.max() < 0.001


def test_a_cloud_meets_the_ground_where_it_is() -> None:
    down = replace(CLOUD, mount=Mount((0.1, 0.0, -0.2), DOWNWARDS), height_deg=40.0, span_deg=40.0)
    points = seen_from(quad(down, position_enu_m=(0.0, 0.0, 6.0))).points_m
    assert len(points) == 40
    np.testing.assert_allclose(points[:, 0], 5.8, rtol=0, atol=1e-5)


def test_a_rangefinder_measures_to_what_is_below_not_to_the_ground() -> None:
    below = among(Solid("roof", Box((2.0, 2.0, 1.0)), (0.0, 0.0, 0.5)))
    model = RangefinderModel(name="height", period_ns=MS, noise_m=0.0)
    setup = quad(model, position_enu_m=(0.0, 0.0, 5.0))
    assert seen_from(setup).range_m == pytest.approx(5.0, abs=1e-5)
    assert seen_from(setup, below).range_m == pytest.approx(4.0, abs=1e-5)


@pytest.mark.parametrize(
    "mount",
    [Mount(), Mount((0.0, 0.0, 0.12)), Mount((-0.6, 0.0, 0.0)), Mount((0.0, 0.0, -0.5))],
    ids=["inside", "on a mast", "on a boom", "below"],
)
def test_a_lidar_does_not_see_its_own_vehicle_but_every_other(mount: Mount) -> None:
    full = replace(CLOUD, height_deg=170.0, mount=mount)
    assert seen_from(aloft(full)).points_m.shape == (0, 3)
    ahead = replace(full, columns=1, rows=1, mount=replace(mount, position_flu_m=(-0.6, 0.0, 0.0)))
    other = quad(position_enu_m=(3.0, 0.0, HIGH_M))
    ((x, y, z),) = seen_from(aloft(ahead), NOTHING, other).points_m
    reach_m = QUAD.rotors[0].position_flu_m[0] + rotor_radius_m(QUAD)
    assert (x, y, z) == (pytest.approx(3.6 - reach_m, abs=0.002), 0.0, 0.0)


# Depth.


@pytest.mark.parametrize("lens", [*LENSES.values(), {"min_m": 0.0}], ids=[*LENSES, "from nothing"])
def test_a_wall_is_as_deep_as_it_is_far_in_every_pixel(lens: dict[str, Any]) -> None:
    wall = among(at("wall", Box((1.0, 60.0, 60.0)), 5.9))
    seen = seen_from(aloft(replace(DEPTH, **lens)), wall).depth_m
    np.testing.assert_allclose(seen, 5.0, rtol=0, atol=0.001)


@pytest.mark.parametrize("lens", LENSES.values(), ids=LENSES)
def test_the_ground_is_below_the_axis_and_the_sky_above(lens: dict[str, Any]) -> None:
    model = replace(DEPTH, **lens)
    seen = seen_from(quad(model, position_enu_m=(0.0, 0.0, 2.0))).depth_m
    below_px = np.arange(model.height_px) - model.lens.cy_px
    with np.errstate(divide="ignore"):
        ground_m = np.where(below_px > 0.0, 2.0 * model.lens.fy_px / below_px, math.inf)
    ground_m[ground_m > model.max_m] = math.inf
    expected = np.broadcast_to(ground_m[:, None], seen.shape)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(seen, expected, rtol=0, atol=0.001)


@pytest.mark.parametrize("lens", LENSES.values(), ids=LENSES)
def test_a_wall_aslant_is_deeper_where_it_is_farther(lens: dict[str, Any]) -> None:
    """Its face is the plane of all points with (x + y) / sqrt(2) = 3.5 in the camera's axes."""
    w, x, y, z = from_yaw(math.pi / 4.0).tolist()
    wall = Solid("wall", Box((1.0, 200.0, 60.0)), (0.4 + 4.0 * 2.0**0.5, 0.0, HIGH_M), (w, x, y, z))
    model = replace(DEPTH, **lens)
    seen = seen_from(aloft(model), among(wall)).depth_m
    left = (model.lens.cx_px - np.arange(model.width_px)) / model.lens.fx_px
    near = left > -0.5
    face_m = 3.5 * 2.0**0.5 / (1.0 + left[near])
    assert near.sum() > 40
    expected = np.broadcast_to(face_m, seen[:, near].shape)
    np.testing.assert_allclose(seen[:, near], expected, rtol=0, atol=0.001)


@pytest.mark.parametrize("face", [(0, 1, 2), (0, 2, 1)], ids=["towards", "away"])
def test_a_mesh_is_seen_whichever_way_its_faces_turn(face: tuple[int, int, int]) -> None:
    corners = ((5.4, -30.0, -30.0), (5.4, 30.0, -30.0), (5.4, 0.0, 60.0))
    sheet = Solid("sheet", Mesh(corners, (face,)), (0.0, 0.0, HIGH_M))
    seen = seen_from(aloft(DEPTH), among(sheet)).depth_m
    np.testing.assert_allclose(seen, 5.0, rtol=0, atol=0.001)


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["left", "right"])
@pytest.mark.parametrize("rise", [1.0, -1.0], ids=["above", "below"])
def test_a_box_is_where_the_lens_puts_it(side: float, rise: float) -> None:
    """5 m away, from 1 to 2 m aside and from 1 to 1.5 m above or below."""
    box = at("box", Box((0.01, 1.0, 0.5)), 5.4 + 0.005, 1.5 * side, 1.25 * rise)
    rows, columns = np.nonzero(np.isfinite(seen_from(aloft(DEPTH), among(box)).depth_m))
    lens = DEPTH.lens
    aside_px = sorted(lens.cx_px - lens.fx_px * side * y / 5.0 for y in (1.0, 2.0))
    above_px = sorted(lens.cy_px - lens.fy_px * rise * z / 5.0 for z in (1.0, 1.5))
    assert (columns.min(), columns.max()) == pytest.approx(aside_px, abs=1.0)
    assert (rows.min(), rows.max()) == pytest.approx(above_px, abs=1.0)


def test_a_camera_looks_where_it_is_mounted_and_where_the_vehicle_points() -> None:
    """Downwards, with the nose to the north: what is to the north is at the top of the image."""
    down = replace(DEPTH, mount=Mount((0.0, 0.0, -0.3), DOWNWARDS))
    w, x, y, z = from_yaw(math.pi / 2.0).tolist()
    table = Solid("table", Box((20.0, 2.0, 1.0)), (7.0, 2.0, 0.5))
    setup = quad(down, position_enu_m=(7.0, 0.0, 6.3), attitude=(w, x, y, z))
    seen = seen_from(setup, among(table)).depth_m
    far_px, near_px, foot_px = (
        DEPTH.lens.cy_px - DEPTH.lens.fy_px * north_m / depth_m
        for north_m, depth_m in ((3.0, 5.0), (1.0, 5.0), (1.0, 6.0))
    )
    np.testing.assert_allclose(seen[math.ceil(foot_px) + 1 :], 6.0, rtol=0, atol=0.001)
    table_top = seen[math.ceil(far_px) + 1 : math.floor(near_px)]
    assert len(table_top) > 20
    np.testing.assert_allclose(table_top, 5.0, rtol=0, atol=0.001)


# Colour.


def test_a_red_box_is_red_and_the_sky_is_not() -> None:
    box = at("box", Box((1.0, 1.0, 1.0)), 5.9, 1.0)
    pixels = seen_from(aloft(RGB), among(box)).pixels.astype(int)
    lens = RGB.lens
    column = round(lens.cx_px - lens.fx_px * 1.0 / 5.0)
    red, green, blue = pixels[round(lens.cy_px), column]
    assert red > 120
    assert max(green, blue) < 0.2 * red
    sky = pixels[round(lens.cy_px), lens.width_px - 10]
    assert sky[2] > sky[0] > 100


# Only who looks pays.


def test_without_a_camera_no_picture_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    make = pybullet.getCameraImage

    def counted(*arguments: Any, **options: Any) -> Any:
        taken.append(1)
        return make(*arguments, **options)

    monkeypatch.setattr(pybullet, "getCameraImage", counted)
    imu = ImuModel(name="imu", period_ns=4 * MS)
    spend(connected(quad(imu, replace(SCAN, period_ns=100 * MS))), SECOND)
    assert taken == []
    spend(connected(quad(imu, replace(DEPTH, period_ns=100 * MS, width_px=8, height_px=6))), SECOND)
    assert len(taken) == 10
