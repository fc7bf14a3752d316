"""Paths are smooth, pass their waypoints and keep their limits, whatever the waypoints are."""

import math
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.planning import Limits, Trajectory, Vector, plan_path

LIMITS = Limits()
SQUARE: list[Vector] = [(20.0, 0.0, 5.0), (20.0, 20.0, 5.0), (0.0, 20.0, 5.0), (0.0, 0.0, 5.0)]
REST = (0.0, 0.0, 0.0)
SLACK = 1.0 + 1e-9

metres = st.floats(-50.0, 50.0).map(lambda value: round(value, 3))
places = st.tuples(metres, metres, metres)
limits = st.builds(
    Limits,
    max_speed_mps=st.floats(0.5, 20.0),
    max_climb_mps=st.floats(0.3, 5.0),
    max_acceleration_mps2=st.floats(0.3, 8.0),
    max_yaw_rate_rps=st.floats(0.2, 4.0),
    max_deviation_m=st.floats(0.05, 5.0),
)
velocities = st.tuples(*[st.floats(-4.0, 4.0)] * 3)


def norm(vector: Vector) -> float:
    return math.sqrt(sum(part * part for part in vector))


def ground(vector: Vector) -> float:
    return math.sqrt(vector[0] ** 2 + vector[1] ** 2)


def looks(trajectory: Trajectory, count: int = 400) -> list[int]:
    return [trajectory.duration_ns * index // count for index in range(count + 1)]


@settings(max_examples=150, deadline=None)
@given(places, st.lists(places, min_size=1, max_size=6), limits, st.booleans())
@example((0.0, 0.0, 0.0), [(0.0, 0.0, 10.0), (10.0, 0.0, 10.0)], LIMITS, False)
@example((0.0, 0.0, 0.0), [(9.0, 0.0, 0.0), (0.0, 0.001, 0.0)], LIMITS, False)
@example((0.0, 0.0, 0.0), [(float(i), 1e-7 * i * i, 0.0) for i in range(9)], LIMITS, False)
def test_limits_hold_everywhere(
    start: Vector, waypoints: list[Vector], limit: Limits, stop: bool
) -> None:
    trajectory = plan_path(start, waypoints, limit, stop=stop)
    for at_ns in looks(trajectory):
        point = trajectory.sample(at_ns)
        assert ground(point.velocity_enu_mps) <= limit.max_speed_mps * SLACK
        assert abs(point.velocity_enu_mps[2]) <= limit.max_climb_mps * SLACK
        assert norm(point.acceleration_enu_mps2) <= limit.max_acceleration_mps2 * SLACK + 1e-7
        assert abs(point.yaw_rate_rps) <= limit.max_yaw_rate_rps * SLACK


@settings(max_examples=150, deadline=None)
@given(places, velocities, st.lists(places, max_size=5), limits)
def test_every_start_is_taken_as_it_is_and_slowed_within_the_acceleration(
    start: Vector, velocity: Vector, waypoints: list[Vector], limit: Limits
) -> None:
    trajectory = plan_path(start, waypoints, limit, velocity_enu_mps=velocity)
    first = trajectory.sample(0)
    assert first.position_enu_m == start
    assert first.velocity_enu_mps == pytest.approx(velocity, abs=1e-6)
    fastest = max(limit.max_speed_mps, ground(velocity)) * SLACK
    for at_ns in looks(trajectory):
        point = trajectory.sample(at_ns)
        assert ground(point.velocity_enu_mps) <= fastest
        assert norm(point.acceleration_enu_mps2) <= limit.max_acceleration_mps2 * SLACK + 1e-7


@settings(max_examples=150, deadline=None)
@given(places, velocities, st.lists(places, max_size=6), st.booleans())
def test_joints_are_c2(
    start: Vector, velocity: Vector, waypoints: list[Vector], stop: bool
) -> None:
    trajectory = plan_path(start, waypoints, LIMITS, velocity_enu_mps=velocity, stop=stop)
    for before, after in pairwise(trajectory.pieces):
        for left, right, tolerance in zip(
            before.at(1.0), after.at(0.0), (1e-7, 1e-6, 1e-5), strict=True
        ):
            assert left == pytest.approx(right, abs=tolerance)
    last_p, last_v, last_a = trajectory.pieces[-1].at(1.0)
    assert (*last_v, *last_a) == pytest.approx((0.0,) * 6, abs=1e-5)
    if waypoints:
        assert last_p == pytest.approx(waypoints[-1], abs=2e-3)


@settings(max_examples=100, deadline=None)
@given(places, st.lists(places, min_size=1, max_size=6), st.booleans())
def test_every_waypoint_is_passed_at_its_time(
    start: Vector, waypoints: list[Vector], stop: bool
) -> None:
    trajectory = plan_path(start, waypoints, LIMITS, stop=stop)
    assert len(trajectory.waypoint_ns) == len(waypoints)
    assert list(trajectory.waypoint_ns) == sorted(trajectory.waypoint_ns)
    for waypoint, at_ns in zip(waypoints, trajectory.waypoint_ns, strict=True):
        assert trajectory.sample(at_ns).position_enu_m == pytest.approx(waypoint, abs=2e-3)


@given(st.floats(0.05, 2.0), st.floats(0.3, 8.0), st.floats(0.0, 2.0))
def test_a_corner_bulges_no_further_than_allowed(
    deviation_m: float, acceleration: float, turn_rad: float
) -> None:
    corner = (20.0, 0.0, 0.0)
    end = (20.0 + 20.0 * math.cos(turn_rad), 20.0 * math.sin(turn_rad), 0.0)
    limit = Limits(10.0, 5.0, acceleration, max_deviation_m=deviation_m)
    trajectory = plan_path(REST, [corner, end], limit)
    for at_ns in looks(trajectory):
        place = trajectory.sample(at_ns).position_enu_m
        off_m = min(_off(place, REST, corner), _off(place, corner, end))
        assert off_m <= deviation_m + 1e-6


def test_a_square_of_20_m_stays_within_half_a_metre_and_keeps_its_pace() -> None:
    trajectory = plan_path((0.0, 0.0, 5.0), SQUARE, LIMITS)
    sides = list(pairwise([(0.0, 0.0, 5.0), *SQUARE]))
    off_m = max(
        min(_off(trajectory.sample(at_ns).position_enu_m, *side) for side in sides)
        for at_ns in looks(trajectory, 2000)
    )
    assert 0.3 < off_m <= 0.5 + 1e-6
    # 80 m at 3 m/s are 26.7 s; gathering way, corners and stopping cost the rest.
    assert trajectory.duration_ns < 40_000_000_000
    assert plan_path((0.0, 0.0, 5.0), SQUARE, LIMITS, stop=True).duration_ns < 48_000_000_000


def test_stop_flies_straight_lines_and_halts_at_every_waypoint() -> None:
    trajectory = plan_path((0.0, 0.0, 5.0), SQUARE, LIMITS, stop=True)
    for at_ns in trajectory.waypoint_ns:
        assert norm(trajectory.sample(at_ns).velocity_enu_mps) < 1e-6
    sides = list(pairwise([(0.0, 0.0, 5.0), *SQUARE]))
    for at_ns in looks(trajectory):
        place = trajectory.sample(at_ns).position_enu_m
        assert min(_off(place, *side) for side in sides) < 1e-9


def test_straight_through_is_not_slowed_and_a_reversal_stops() -> None:
    through = plan_path(REST, [(20.0, 0.0, 0.0), (40.0, 0.0, 0.0)], LIMITS)
    assert through.sample(through.waypoint_ns[0]).velocity_enu_mps[0] == pytest.approx(3.0)
    back = plan_path(REST, [(20.0, 0.0, 0.0), (0.0, 0.5, 0.0)], LIMITS)
    assert norm(back.sample(back.waypoint_ns[0]).velocity_enu_mps) < 1e-6


def test_a_long_leg_cruises_at_its_limit() -> None:
    trajectory = plan_path(REST, [(300.0, 0.0, 0.0)], LIMITS)
    assert trajectory.duration_ns == pytest.approx((100.0 + 1.5 * 3.0 / 2.0) * 1e9, rel=1e-6)


def test_a_start_along_the_leg_is_kept_and_one_against_it_is_braked_first() -> None:
    ahead = plan_path(REST, [(30.0, 0.0, 0.0)], LIMITS, velocity_enu_mps=(2.0, 0.0, 0.0))
    assert min(ahead.sample(at_ns).velocity_enu_mps[0] for at_ns in looks(ahead)[:200]) > 1.99
    against = plan_path(REST, [(30.0, 0.0, 0.0)], LIMITS, velocity_enu_mps=(-2.0, 0.0, 0.0))
    lowest_m = min(against.sample(at_ns).position_enu_m[0] for at_ns in looks(against))
    assert lowest_m == pytest.approx(-0.75 * 2.0**2 / LIMITS.max_acceleration_mps2, abs=1e-3)


def test_without_waypoints_it_brakes_and_stands() -> None:
    trajectory = plan_path(REST, [], LIMITS, velocity_enu_mps=(3.0, 0.0, 0.0))
    end = trajectory.sample(trajectory.duration_ns + 10**9)
    assert end.position_enu_m == pytest.approx((3.375, 0.0, 0.0))
    assert end.velocity_enu_mps == REST
    still = plan_path((1.0, 2.0, 3.0), [], LIMITS, start_yaw_rad=0.3, yaw_rad=0.3)
    assert still.sample(0).position_enu_m == (1.0, 2.0, 3.0)
    assert still.sample(0).yaw_rad == 0.3


def test_yaw_follows_the_legs_or_turns_once_and_stays() -> None:
    along = plan_path((0.0, 0.0, 5.0), SQUARE, LIMITS, start_yaw_rad=1.0)
    assert along.sample(0).yaw_rad == 1.0
    legs_ns = [0, *along.waypoint_ns]
    for leg, yaw_rad in enumerate((0.0, math.pi / 2, math.pi, -math.pi / 2)):
        middle = along.sample((legs_ns[leg] + legs_ns[leg + 1]) // 2)
        assert math.cos(middle.yaw_rad - yaw_rad) == pytest.approx(1.0)
    fixed = plan_path(REST, [(0.0, 9.0, 0.0)], LIMITS, start_yaw_rad=3.0, yaw_rad=-3.0)
    assert fixed.sample(fixed.duration_ns).yaw_rad == pytest.approx(-3.0)
    turned = [fixed.sample(at_ns).yaw_rad for at_ns in looks(fixed)]
    assert all(abs(yaw_rad) >= 3.0 - 1e-9 for yaw_rad in turned), "the short way round"


@pytest.mark.parametrize("bad", [(math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (0.0, 0.0)])
def test_nonsense_is_refused(bad: Vector) -> None:
    with pytest.raises(ConfigError, match="cannot plan"):
        plan_path(REST, [bad], LIMITS)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_limits_must_be_above_zero_and_finite(value: float) -> None:
    with pytest.raises(ConfigError, match="max_speed_mps"):
        Limits(max_speed_mps=value)


def _off(place: Vector, start: Vector, end: Vector) -> float:
    """From the nearest point of a straight line."""
    way = [b - a for a, b in zip(start, end, strict=True)]
    to = [b - a for a, b in zip(start, place, strict=True)]
    along = sum(a * b for a, b in zip(way, to, strict=True)) / sum(a * a for a in way)
    share = min(max(along, 0.0), 1.0)
    east_m, north_m, up_m = (b - share * a for a, b in zip(way, to, strict=True))
    return norm((east_m, north_m, up_m))
