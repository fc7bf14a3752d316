import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ghost.core import frames, rotations
from ghost.core.errors import FrameError
from ghost.core.frames import Geodetic, LocalFrame

FloatArray = NDArray[np.float64]

HALF = math.sqrt(0.5)
METRES = st.floats(-1e5, 1e5)
VECTORS = st.tuples(METRES, METRES, METRES).map(np.array)
COMPONENTS = st.floats(-1.0, 1.0)
QUATERNIONS = (
    st.tuples(COMPONENTS, COMPONENTS, COMPONENTS, COMPONENTS)
    .filter(lambda values: math.hypot(*values) > 1e-3)
    .map(rotations.normalize)
)
LATITUDES_DEG = st.floats(-90.0, 90.0) | st.sampled_from((-90.0, 0.0, 90.0))
PLACES = st.builds(Geodetic, LATITUDES_DEG, st.floats(-180.0, 180.0), st.floats(-9e4, 1e5))


def test_world_and_body_axes() -> None:
    np.testing.assert_array_equal(frames.enu_to_ned((1, 2, 3)), (2, 1, -3))
    np.testing.assert_array_equal(frames.ned_to_enu((2, 1, -3)), (1, 2, 3))
    np.testing.assert_array_equal(frames.flu_to_frd((1, 2, 3)), (1, -2, -3))
    np.testing.assert_array_equal(frames.frd_to_flu((1, -2, -3)), (1, 2, 3))


@pytest.mark.parametrize(
    ("in_enu", "in_ned"),
    [
        (rotations.from_yaw(math.pi / 2), (1, 0, 0, 0)),  # level, facing north
        ((1, 0, 0, 0), (HALF, 0, 0, HALF)),  # level, facing east
        (rotations.from_yaw(-math.pi / 2), (0, 0, 0, 1)),  # level, facing south
        # facing north, right side down: positive roll in both
        (rotations.from_euler_zyx(0.4, 0, math.pi / 2), (math.cos(0.2), math.sin(0.2), 0, 0)),
        # facing north, nose down: positive about left, negative about right
        (rotations.from_euler_zyx(0, 0.4, math.pi / 2), (math.cos(0.2), 0, -math.sin(0.2), 0)),
    ],
)
def test_known_attitudes(in_enu: FloatArray, in_ned: tuple[float, ...]) -> None:
    converted = frames.attitude_enu_to_ned(in_enu)
    sign = math.copysign(1.0, float(np.sum(converted * in_ned)))
    np.testing.assert_allclose(sign * converted, in_ned, rtol=0, atol=1e-15)


@given(QUATERNIONS, VECTORS)
def test_attitudes_and_vectors_convert_alike(in_enu: FloatArray, vector_flu: FloatArray) -> None:
    in_ned = frames.attitude_enu_to_ned(in_enu)
    vector_ned = rotations.rotate(in_ned, frames.flu_to_frd(vector_flu))
    expected = frames.enu_to_ned(rotations.rotate(in_enu, vector_flu))
    np.testing.assert_allclose(vector_ned, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(frames.attitude_ned_to_enu(in_ned), in_enu, rtol=0, atol=1e-15)


def test_stacks_convert_row_by_row() -> None:
    vectors = np.arange(12.0).reshape(4, 3)
    quaternions = np.eye(4)
    for row in range(4):
        np.testing.assert_array_equal(
            frames.enu_to_ned(vectors)[row], frames.enu_to_ned(vectors[row])
        )
        np.testing.assert_array_equal(
            frames.attitude_enu_to_ned(quaternions)[row],
            frames.attitude_enu_to_ned(quaternions[row]),
        )


@pytest.mark.parametrize(
    ("place", "ecef_m"),
    [
        (Geodetic(0, 0, 100), (6_378_237.0, 0, 0)),
        (Geodetic(0, 90, 0), (0, 6_378_137.0, 0)),
        (Geodetic(90, 0, 10), (0, 0, 6_356_762.314245179)),
        (Geodetic(-90, 0, 0), (0, 0, -6_356_752.314245179)),
    ],
)
def test_the_axes_of_the_ellipsoid(place: Geodetic, ecef_m: tuple[float, ...]) -> None:
    np.testing.assert_allclose(frames.geodetic_to_ecef(place), ecef_m, rtol=0, atol=2e-9)


@given(PLACES)
def test_earth_round_trips_below_a_micrometre(place: Geodetic) -> None:
    ecef_m = frames.geodetic_to_ecef(place)
    back = frames.ecef_to_geodetic(ecef_m)
    np.testing.assert_allclose(frames.geodetic_to_ecef(back), ecef_m, rtol=0, atol=2e-8)
    assert back.altitude_m == pytest.approx(place.altitude_m, abs=2e-8)


@given(PLACES.filter(lambda place: place.altitude_m > 0), VECTORS)
def test_local_positions_round_trip_below_a_micrometre(
    origin: Geodetic, position_enu_m: FloatArray
) -> None:
    # A tenth of the way, so that no corner of the box is deeper than Geodetic allows.
    frame = LocalFrame(origin)
    near_m = position_enu_m / 10
    back_m = frame.to_enu_m(frame.to_geodetic(near_m))
    np.testing.assert_allclose(back_m, near_m, rtol=0, atol=2e-8)


@pytest.mark.parametrize("latitude_deg", [0.0, 47.4, -60.0])
def test_small_steps_follow_the_radii_of_curvature(latitude_deg: float) -> None:
    step_deg = 1e-5
    origin = Geodetic(latitude_deg, 8.5, 0.0)
    frame = LocalFrame(origin)
    eccentricity_squared = 0.00669437999014  # as published for WGS84
    shrink = 1 - eccentricity_squared * math.sin(math.radians(latitude_deg)) ** 2
    meridian_m = 6_378_137.0 * (1 - eccentricity_squared) / shrink**1.5
    parallel_m = 6_378_137.0 / shrink**0.5 * math.cos(math.radians(latitude_deg))
    north_m = frame.to_enu_m(Geodetic(latitude_deg + step_deg, 8.5, 0.0))
    east_m = frame.to_enu_m(Geodetic(latitude_deg, 8.5 + step_deg, 0.0))
    up_m = frame.to_enu_m(Geodetic(latitude_deg, 8.5, 2.0))
    step_rad = math.radians(step_deg)
    np.testing.assert_allclose(north_m, (0, meridian_m * step_rad, 0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(east_m, (parallel_m * step_rad, 0, 0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(up_m, (0, 0, 2), rtol=0, atol=1e-8)


def test_a_hundred_thousandth_of_a_degree_at_the_equator() -> None:
    frame = LocalFrame(Geodetic(0.0, 0.0, 0.0))
    # A degree of latitude there is 110.574 km, a degree of longitude 111.320 km.
    assert frame.to_enu_m(Geodetic(1e-5, 0, 0))[1] == pytest.approx(1.10574, abs=1e-5)
    assert frame.to_enu_m(Geodetic(0, 1e-5, 0))[0] == pytest.approx(1.11320, abs=1e-5)


@pytest.mark.parametrize(
    "values",
    [(90.1, 0, 0), (0, -180.1, 0), (0, 0, -2e5), (0, 0, math.inf), (math.nan, 0, 0)],
)
def test_impossible_places_are_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(FrameError):
        Geodetic(*values)


@pytest.mark.parametrize("ecef_m", [(0, 0, 0), (math.nan, 0, 7e6), (7e6, 0), np.eye(3)])
def test_meaningless_positions_are_refused(ecef_m: tuple[float, ...]) -> None:
    with pytest.raises(FrameError):
        frames.ecef_to_geodetic(ecef_m)
