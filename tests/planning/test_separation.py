"""The rule that keeps vehicles apart: on points that fly as it says."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.planning.separation import Mover, Spacing, keep_apart, kernel
from ghost.planning.vectors import ZERO, Vector, horizontal, length, minus, plus, times
from tests.interpreted import interpreted

SPACING = Spacing(4.0, max_speed_mps=3.0)
PERIOD_S = SPACING.period_ns * 1e-9
Wanted = Callable[[int, Vector], Vector]


def to(targets: Sequence[Vector]) -> Wanted:
    def wanted(index: int, place: Vector) -> Vector:
        way = minus(targets[index], place)
        away_m = length(way)
        speed_mps = min(3.0, 1.2 * away_m, math.sqrt(2.8 * away_m))
        return times(way, speed_mps / away_m) if away_m > 0.0 else ZERO

    return wanted


class Points:
    """Each mover goes exactly as it is told; who doesn't follow goes on as it goes."""

    def __init__(self, places: Sequence[Vector], fence: Sequence[tuple[float, ...]] = ()) -> None:
        self.movers = [Mover(place) for place in places]
        self.nearest_m = math.inf
        self.hardest_mps2 = 0.0
        self._fence = fence

    def fly(self, seconds: float, wanted: Wanted) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.movers = [
                replace(mover, wanted_enu_mps=wanted(index, mover.position_enu_m))
                for index, mover in enumerate(self.movers)
            ]
            told = keep_apart(self.movers, SPACING, self._fence)  # type: ignore[arg-type]
            self.movers = [self._moved(*each) for each in zip(self.movers, told, strict=True)]
            for first, second in combinations(self.movers, 2):
                way = minus(first.position_enu_m, second.position_enu_m)
                self.nearest_m = min(self.nearest_m, horizontal(way))

    def _moved(self, mover: Mover, velocity_mps: Vector) -> Mover:
        change = minus(velocity_mps, mover.velocity_enu_mps)
        self.hardest_mps2 = max(self.hardest_mps2, horizontal(change) / PERIOD_S)
        way = times(plus(mover.velocity_enu_mps, velocity_mps), 0.5 * PERIOD_S)
        place = plus(mover.position_enu_m, way)
        return replace(mover, position_enu_m=place, velocity_enu_mps=velocity_mps)

    def farthest_m(self, targets: Sequence[Vector]) -> float:
        return max(
            length(minus(mover.position_enu_m, target))
            for mover, target in zip(self.movers, targets, strict=True)
        )


def circle(count: int, radius_m: float) -> list[Vector]:
    angles = [2.0 * math.pi * index / count for index in range(count)]
    return [(radius_m * math.cos(angle), radius_m * math.sin(angle), 5.0) for angle in angles]


@pytest.mark.parametrize(
    ("count", "radius_m", "seconds"), [(2, 15.0, 15.0), (10, 20.0, 30.0), (10, 10.0, 25.0)]
)
def test_all_cross_a_circle_to_the_places_opposite(
    count: int, radius_m: float, seconds: float
) -> None:
    places = circle(count, radius_m)
    targets = [(-east, -north, up) for east, north, up in places]
    points = Points(places)
    points.fly(seconds, to(targets))
    assert points.nearest_m >= 4.0
    assert points.farthest_m(targets) < 0.1
    assert points.hardest_mps2 <= 2.0 + 1e-9


def test_a_row_changes_places_with_a_row_that_stands_in_its_way() -> None:
    """Every other one is met head-on, and every one has neighbours."""
    west = [(-15.0, 9.0 * index, 5.0) for index in range(3)]
    east = [(15.0, 9.0 * index, 5.0) for index in range(3)]
    points = Points([*west, *east])
    points.fly(25.0, to([*east, *west]))
    assert points.nearest_m >= 4.0
    assert points.farthest_m([*east, *west]) < 0.1


NUMBER = st.floats(-1.0, 1.0)
WILLS = st.lists(st.tuples(NUMBER, NUMBER, st.integers(1, 100)), min_size=6, max_size=6)


@given(WILLS, st.lists(st.tuples(NUMBER, NUMBER), min_size=6, max_size=6))
@settings(max_examples=25, deadline=None)
def test_whatever_they_want_they_keep_their_distance(
    wills: list[tuple[float, float, int]], jitter: list[tuple[float, float]]
) -> None:
    """Six near each other, each of which wants anything, and now and then the opposite."""
    places = [
        (5.0 * (index % 3) + 0.4 * east, 5.0 * (index // 3) + 0.4 * north, 5.0)
        for index, (east, north) in enumerate(jitter)
    ]
    points = Points(places)
    for turn in range(12):
        wanted = [
            (9.0 * east * sign, 9.0 * north * sign, 0.0)
            for east, north, period in wills
            for sign in [1.0 if (turn * period) % 7 < 4 else -1.0]
        ]
        points.fly(0.5, lambda index, _, wanted=wanted: wanted[index])  # type: ignore[misc]
    assert points.nearest_m >= 4.0
    assert points.hardest_mps2 <= 2.0 + 1e-9


def test_what_is_wanted_is_done_where_nobody_is_in_the_way() -> None:
    flying = Mover(ZERO, (1.0, 0.0, 0.5), (1.03, 0.02, 0.51))
    beside = Mover((0.0, 4.5, 0.0), (1.0, 0.0, 0.5), (1.0, 0.0, 0.5))
    assert keep_apart([flying, beside], SPACING) == ((1.03, 0.02, 0.51), (1.0, 0.0, 0.5))
    assert keep_apart([], SPACING) == ()


def test_who_does_not_follow_is_kept_away_from() -> None:
    points = Points([(-15.0, 0.0, 5.0), ZERO, (15.0, -6.5, 5.0)])
    points.movers[1] = replace(points.movers[1], follows=False, extra_m=2.0)
    points.movers[2] = Mover((15.0, -6.5, 5.0), (-2.0, 0.0, 0.0), follows=False)
    points.fly(18.0, to([(15.0, 0.0, 5.0), ZERO, ZERO]))
    assert points.nearest_m >= 4.0 - 0.1
    assert points.farthest_m([(15.0, 0.0, 5.0), ZERO, (-21.0, -6.5, 5.0)]) < 0.1


def test_those_too_near_part() -> None:
    points = Points([ZERO, (1.0, 0.0, 0.0), (0.0, 2.0, 9.0)])
    points.fly(5.0, lambda *_: ZERO)
    places = [mover.position_enu_m for mover in points.movers]
    for first, second in combinations(places, 2):
        assert horizontal(minus(first, second)) >= 4.0 - 0.1


def test_nobody_evades_over_the_fence() -> None:
    corners = [(-20.0, -1.0), (20.0, -1.0), (20.0, 30.0), (-20.0, 30.0)]
    fence = [(*start, *end) for start, end in zip(corners, corners[1:] + corners[:1], strict=True)]
    lowest = 0.0
    points = Points([(-15.0, 0.0, 5.0), (15.0, 0.0, 5.0)], fence)
    for _ in range(400):
        points.fly(0.05, to([(15.0, 0.0, 5.0), (-15.0, 0.0, 5.0)]))
        lowest = min(lowest, *(mover.position_enu_m[1] for mover in points.movers))
    assert lowest >= -1.0
    assert points.nearest_m >= 4.0
    assert points.farthest_m([(15.0, 0.0, 5.0), (-15.0, 0.0, 5.0)]) < 0.1


def test_the_interpreted_kernel_gives_the_same_bits() -> None:
    random = np.random.default_rng(5)
    plain = interpreted(kernel)
    for _ in range(20):
        now = np.hstack([random.uniform(-3, 3, (6, 6)), np.zeros((6, 1)), np.ones((6, 1))])
        now[:, :2] *= 4.0
        now[0, 7] = 0.0
        tries = random.uniform(-1.0, 1.0, (20, 4))
        fence = random.uniform(-20.0, 20.0, (3, 4))
        rule = np.array([4.0, 3.0, 2.0, 0.02])
        plans = [np.zeros((6, 6)), np.zeros((6, 6))]
        for module, plan in zip((kernel, plain), plans, strict=True):
            module.keep_apart(now, plan, tries, fence, rule)
        assert plans[0].tobytes() == plans[1].tobytes()


def test_a_spacing_that_means_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="distance_m is nan"):
        Spacing(math.nan)
