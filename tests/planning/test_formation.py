"""Shapes and how they move: spaced as told, on their slots, none too fast for its limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.planning import Limits
from ghost.planning.formation import (
    Shape,
    mean_of,
    nearest_pair,
    offset_at,
    offsets_of,
    plan_march,
    slot_at,
)

LIMITS = Limits(max_speed_mps=3.0, max_acceleration_mps2=2.0)


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("count", [2, 3, 10])
def test_neighbours_are_as_far_apart_as_told_and_the_middle_is_the_centre(
    shape: Shape, count: int
) -> None:
    offsets = offsets_of(shape, count, 5.0)
    pair = nearest_pair(offsets)
    assert pair is not None
    assert pair[2] == pytest.approx(5.0)
    assert mean_of(offsets) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_shapes_face_forward() -> None:
    assert offsets_of(Shape.LINE, 2, 4.0) == ((0.0, 2.0, 0.0), (0.0, -2.0, 0.0))
    assert offsets_of(Shape.COLUMN, 2, 4.0) == ((2.0, 0.0, 0.0), (-2.0, 0.0, 0.0))
    tip, *arms = offsets_of(Shape.WEDGE, 5, 4.0)
    assert all(tip[0] > arm[0] for arm in arms)
    assert slot_at((1.0, 2.0, 3.0), math.pi / 2, (5.0, 0.0, 1.0)) == pytest.approx((1.0, 7.0, 4.0))


@pytest.mark.parametrize("count", [0, -1])
def test_a_shape_of_nobody_is_refused(count: int) -> None:
    with pytest.raises(ConfigError, match="expected 1 or more"):
        offsets_of(Shape.GRID, count, 5.0)


METRES = st.floats(-40.0, 40.0)
WAYPOINTS = st.lists(st.tuples(METRES, METRES, METRES), min_size=1, max_size=4)


@given(WAYPOINTS, st.floats(-3.0, 3.0), st.floats(0.0, 30.0), st.none() | st.floats(-3.0, 3.0))
@settings(max_examples=20, deadline=None)
def test_no_slot_is_faster_than_limits_allow(
    waypoints: list[tuple[float, float, float]],
    heading_rad: float,
    reach_m: float,
    to_heading_rad: float | None,
) -> None:
    march = plan_march(
        *((0.0, 0.0, 10.0), heading_rad, waypoints, LIMITS),
        reach_m=reach_m,
        to_heading_rad=to_heading_rad,
    )
    end = march.slot(march.duration_ns, (0.0, 0.0, 0.0))
    assert end.position_enu_m == pytest.approx(waypoints[-1], abs=2e-3)
    step_s = 0.05
    times_ns = range(0, march.duration_ns, round(step_s * 1e9))
    for offset in ((reach_m, 0.0, 0.0), (0.0, -reach_m, 0.0)):
        slots = [march.slot(at_ns, offset) for at_ns in times_ns]
        places = np.array([slot.position_enu_m for slot in slots])
        speeds = np.array([slot.velocity_enu_mps for slot in slots])
        pulls = np.array([slot.acceleration_enu_mps2 for slot in slots])
        assert np.hypot(*speeds[:, :2].T).max(initial=0.0) <= 1.4 * 3.0 + 1e-6
        # Told without a turn's own gain of speed, which its limit bounds.
        gained = np.diff(speeds, axis=0) / step_s
        assert np.linalg.norm(gained, axis=1).max(initial=0.0) <= 2.0 + 0.05
        assert np.linalg.norm(pulls, axis=1).max(initial=0.0) <= 2.0 + 1e-6
        moved = np.diff(places, axis=0) / step_s
        assert np.abs(moved - speeds[:-1]).max(initial=0.0) <= 2.0 * step_s + 1e-6


def test_an_offset_is_found_again() -> None:
    place = slot_at((1.0, 2.0, 3.0), 0.7, (4.0, -5.0, 6.0))
    assert offset_at((1.0, 2.0, 3.0), 0.7, place) == pytest.approx((4.0, -5.0, 6.0))
