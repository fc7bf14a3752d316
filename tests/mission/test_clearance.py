"""The free way, against a walk along the path in small steps; and the pace, on its own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.mission.clearance import Way
from ghost.mission.pace import Pace
from ghost.planning import Limits, plan_path

PLACE = st.tuples(*[st.floats(-15.0, 15.0)] * 3)
CLEARANCE_M = 2.0
LONG_NS = 600_000_000_000


@given(
    st.lists(PLACE, min_size=2, max_size=4),
    st.lists(PLACE, max_size=4),
    st.floats(0.0, 1.0),
)
def test_the_way_ends_where_a_walk_finds_it_too_near(
    corners_m: list[tuple[float, float, float]],
    points_m: list[tuple[float, float, float]],
    share: float,
) -> None:
    trajectory = plan_path(corners_m[0], corners_m[1:], Limits(max_speed_mps=8.0))
    way = Way(trajectory)
    begin_ns = round(share * trajectory.duration_ns)
    points = np.array(points_m).reshape(-1, 3)
    found = way.first_too_near(points, CLEARANCE_M, begin_ns, begin_ns + LONG_NS)
    end_ns = trajectory.duration_ns
    times_ns = np.linspace(begin_ns, end_ns, 2000).astype(np.int64).tolist()
    walked = np.array([trajectory.sample(at_ns).position_enu_m for at_ns in times_ns])
    away_m = np.sqrt(((walked[:, None] - points[None]) ** 2).sum(axis=2))
    nearer = (np.diff(away_m, axis=0) < -1e-4) & (away_m[1:] < CLEARANCE_M - 0.02)
    (steps,) = nearer.any(axis=1).nonzero()
    if len(steps):
        assert found is not None
        assert found[0] <= way.along_m(times_ns[steps[0] + 1]) + 1e-6
    if found is not None:
        entry_m, index = found
        along_m = np.array([way.along_m(at_ns) for at_ns in times_ns])
        there = int(np.abs(along_m - entry_m).argmin())
        assert away_m[there, index] < CLEARANCE_M + 0.1


def test_a_point_beside_a_fast_chord_is_not_stepped_over() -> None:
    trajectory = plan_path((0, 0, 0), [(200, 0, 0)], Limits(30.0, 30.0, 20.0))
    found = Way(trajectory).first_too_near(
        np.array([[100.0, 1.99, 0.0]]), CLEARANCE_M, 0, trajectory.duration_ns
    )
    assert found is not None
    assert found[0] == pytest.approx(100.0 - math.sqrt(4.0 - 1.99 * 1.99))


def test_the_nearest_of_those_that_it_is_too_near_to_is_named() -> None:
    trajectory = plan_path((0, 0, 0), [(20, 0, 0)], Limits())
    points = np.array([[1.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.2, 0.9, 0.0]])
    assert Way(trajectory).first_too_near(points, CLEARANCE_M, 0, LONG_NS) == (0.0, 1)


def test_beyond_the_time_it_is_asked_for_it_does_not_look() -> None:
    trajectory = plan_path((0, 0, 0), [(200, 0, 0)], Limits())
    far = np.array([[100.0, 0.0, 0.0]])
    assert Way(trajectory).first_too_near(far, CLEARANCE_M, 0, 5_000_000_000) is None
    assert Way(trajectory).first_too_near(far, CLEARANCE_M, LONG_NS, 2 * LONG_NS) is None


def drive(pace: Pace, speed_mps: float, room_m: float | None, seconds: float = 20.0) -> float:
    """How far it goes on a path of one speed."""
    gone_m = 0.0
    for _ in range(round(seconds / 0.02)):
        before = pace.rate
        pace.keep(0.02, speed_mps, 0.0, None if room_m is None else room_m - gone_m)
        if pace.stopped:
            break
        gone_m += 0.5 * (before + pace.rate) * speed_mps * 0.02
    return gone_m


@given(st.floats(0.3, 15.0), st.floats(0.5, 5.0))
def test_it_stops_in_the_room_that_it_has(speed_mps: float, acceleration_mps2: float) -> None:
    lead_mps = speed_mps + 0.3 * acceleration_mps2
    room_m = 0.5 * lead_mps * lead_mps / acceleration_mps2 + acceleration_mps2
    pace = Pace(acceleration_mps2)
    gone_m = drive(pace, speed_mps, room_m, 60.0)
    assert pace.stopped
    assert room_m - 0.05 < gone_m <= room_m


@given(st.floats(0.3, 15.0), st.floats(0.5, 5.0))
def test_told_to_it_stops_at_once(speed_mps: float, acceleration_mps2: float) -> None:
    pace = Pace(acceleration_mps2)
    gone_m = drive(pace, speed_mps, None, 60.0)
    assert pace.stopped
    even_m = 0.5 * speed_mps * speed_mps / acceleration_mps2
    assert gone_m < even_m + 0.2 * speed_mps + acceleration_mps2


def test_with_room_again_it_gets_back_to_its_own_pace_exactly() -> None:
    pace = Pace(2.0)
    for _ in range(50):
        pace.keep(0.02, 5.0, 0.0, 4.0)
    assert pace.rate < 0.8
    drive(pace, 5.0, math.inf)
    assert (pace.rate, pace.change) == (1.0, 0.0)
