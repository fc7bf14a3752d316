"""Few enough points, and the nearest is always among them."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghost.perception.thinning import MOST_POINTS, Grid, nearest_by_direction

DISTANCE = st.floats(0.2, 12.0) | st.just(math.inf)
COORDINATE = st.floats(-9.0, 9.0)


@given(
    st.tuples(st.integers(1, 80), st.integers(1, 80)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=DISTANCE)
    )
)
def test_each_cell_of_an_image_keeps_its_nearest(distances_m: np.ndarray) -> None:
    height, width = distances_m.shape
    flat_m = distances_m.reshape(-1)
    chosen = Grid(height, width).nearest(flat_m)
    assert len(chosen) <= MOST_POINTS
    assert len(set(chosen.tolist())) == len(chosen)
    assert (flat_m[chosen] < math.inf).all()
    assert flat_m[chosen].min(initial=math.inf) == flat_m.min()


def test_one_pixel_of_a_wire_in_an_open_sky_is_kept() -> None:
    grid = Grid(120, 160)
    for pixel in (0, 159, 9_999, 120 * 160 - 1):
        distances_m = np.full(120 * 160, 11.0)
        distances_m[pixel] = 3.0
        chosen = grid.nearest(distances_m)
        assert pixel in chosen
        assert 300 < len(chosen) <= MOST_POINTS


def test_a_scan_of_few_rays_is_kept_whole() -> None:
    assert Grid(1, 360).nearest(np.full(360, 5.0)).tolist() == list(range(360))


@given(
    arrays(np.float64, st.tuples(st.integers(0, 900), st.just(3)), elements=COORDINATE, unique=True)
    | arrays(np.float64, st.tuples(st.integers(501, 600), st.just(3)), elements=COORDINATE)
)
def test_a_cloud_keeps_its_nearest(points_m: np.ndarray) -> None:
    distances_m = np.sqrt((points_m**2).sum(axis=1))
    chosen = nearest_by_direction(points_m, distances_m)
    assert len(chosen) <= MOST_POINTS
    assert distances_m[chosen].min(initial=math.inf) == distances_m.min(initial=math.inf)


def test_a_cloud_keeps_the_nearest_of_every_direction() -> None:
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(5000, 3))
    directions /= np.sqrt((directions**2).sum(axis=1))[:, None]
    points_m = directions * rng.uniform(2.0, 9.0, (5000, 1))
    distances_m = np.sqrt((points_m**2).sum(axis=1))
    chosen = nearest_by_direction(points_m, distances_m)
    for place_m, away_m in zip(points_m, distances_m, strict=True):
        cosines = (directions[chosen] * (place_m / away_m)).sum(axis=1)
        beside = cosines > 0.9  # a cell is 13 degrees wide at most
        assert distances_m[chosen][beside].min() <= away_m
