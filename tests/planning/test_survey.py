import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.planning import survey_pattern
from ghost.planning.polygon import Point, is_inside, stays_inside

FIELD = [(0.0, 0.0), (40.0, 0.0), (40.0, 30.0), (0.0, 30.0)]
NOTCHED = [(0.0, 0.0), (30.0, 0.0), (30.0, 30.0), (20.0, 30.0), (20.0, 8.0), (10.0, 8.0)]
NOTCHED += [(10.0, 30.0), (0.0, 30.0)]


def test_a_field_is_covered_there_and_back() -> None:
    waypoints = survey_pattern(FIELD, 10.0, 12.0)
    assert waypoints == (
        *((0.0, 5.0, 12.0), (40.0, 5.0, 12.0), (40.0, 15.0, 12.0), (0.0, 15.0, 12.0)),
        *((0.0, 25.0, 12.0), (40.0, 25.0, 12.0)),
    )


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([FIELD, NOTCHED, NOTCHED[::-1], [(0.0, 0.0), (30.0, 5.0), (8.0, 25.0)]]),
    st.floats(1.0, 20.0),
    st.floats(-4.0, 4.0),
)
def test_every_way_stays_inside_and_every_place_is_near_a_line(
    polygon: list[Point], spacing_m: float, heading_rad: float
) -> None:
    places = [
        (east, north) for east, north, _ in survey_pattern(polygon, spacing_m, 9.0, heading_rad)
    ]
    for start, end in pairwise(places):
        assert stays_inside(polygon, start, end)
    for east in range(1, 40, 3):
        for north in range(1, 30, 3):
            place = (float(east), float(north))
            if is_inside(polygon, place):
                near_m = min(
                    _off(place, start, end) for start, end in pairwise([*places, places[-1]])
                )
                # A line may end before a slanted edge: beside it, the nearest is a diagonal off.
                assert near_m <= 2.0 * spacing_m


def test_lines_run_along_the_heading() -> None:
    places = survey_pattern(FIELD, 10.0, 12.0, math.pi / 2)
    assert places[0][0] == pytest.approx(places[1][0])
    assert abs(places[0][1] - places[1][1]) == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("polygon", "spacing_m", "complaint"),
    [
        (FIELD[:2], 5.0, "2 corners"),
        ([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)], 5.0, "no area"),
        ([(0.0, 0.0), (9.0, 9.0), (9.0, 1.0), (0.0, 7.0)], 5.0, "cross"),
        (FIELD, 0.0, "spacing_m"),
        (FIELD, 0.01, "3000 lines"),
        ([(0.0, 0.0), (math.nan, 1.0), (2.0, 2.0)], 5.0, "1000 km"),
    ],
)
def test_what_cannot_be_covered_is_refused(
    polygon: list[Point], spacing_m: float, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        survey_pattern(polygon, spacing_m, 10.0)


def _off(place: Point, start: Point, end: Point) -> float:
    way = (end[0] - start[0], end[1] - start[1])
    squared = way[0] ** 2 + way[1] ** 2
    to = (place[0] - start[0], place[1] - start[1])
    share = min(max((way[0] * to[0] + way[1] * to[1]) / squared, 0.0), 1.0) if squared else 0.0
    return math.hypot(to[0] - share * way[0], to[1] - share * way[1])
