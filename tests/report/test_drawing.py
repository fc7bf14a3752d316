"""Thinning and ticks, on series of every kind."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghost.report.axis import TimeAxis, domain, tick_texts, ticks
from ghost.report.svg import number, path_data
from ghost.report.thin import thinned, thinned_path

SERIES = arrays(
    np.float64,
    st.integers(0, 400),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)


@given(SERIES, st.integers(20, 100))
def test_thinning_keeps_ends_peaks_and_gaps_within_its_limit(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], limit: int
) -> None:
    rows = thinned(values, limit)
    assert len(rows) <= limit
    assert (np.diff(rows) > 0).all()
    if not values.size:
        return
    assert rows[0] == 0
    assert rows[-1] == len(values) - 1
    assert np.isnan(values).any() == np.isnan(values[rows]).any()
    if np.isfinite(values).any():
        assert np.nanmax(values[rows]) == np.nanmax(values)
        assert np.nanmin(values[rows]) == np.nanmin(values)


@given(SERIES, st.integers(20, 100))
def test_a_thinned_path_keeps_its_end_and_finite_points_stay_finite(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], limit: int
) -> None:
    rows = thinned_path(values, values, limit)
    assert (np.diff(rows) > 0).all()
    if values.size:
        assert rows[-1] == len(values) - 1
        assert np.isfinite(values).any() == np.isfinite(values[rows]).any()


def test_a_long_path_is_thinned_to_its_limit() -> None:
    around = np.linspace(0.0, 200.0, 50_000)
    rows = thinned_path(300.0 * np.cos(around), 300.0 * np.sin(around))
    assert 100 < len(rows) <= 1500


@given(SERIES, st.floats(1e-3, 1e3), st.integers(1, 12))
def test_ticks_are_round_inside_and_few(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], least_span: float, most: int
) -> None:
    low, high = domain([values], least_span=least_span)
    assert high - low >= least_span
    marks = ticks(low, high, most)
    assert 3 <= len(marks) <= max(7, most + 1)
    slack = 1e-6 * (high - low)
    assert low - slack <= marks[0] < marks[-1] <= high + slack
    assert len(set(tick_texts(marks))) == len(marks)


def test_ticks_of_time_turn_into_minutes() -> None:
    short = TimeAxis(0, 52_000_000_000, 900.0).ticks()
    assert [shown for _, shown in short][:3] == ["0", "5", "10"]
    long = TimeAxis(0, 600_000_000_000, 900.0).ticks()
    assert [shown for _, shown in long][:3] == ["0:00", "1:00", "2:00"]
    assert long[1][0] == 60_000_000_000


def test_a_lone_point_is_a_dot_and_numbers_are_short() -> None:
    drawn = path_data(np.array([1.0, 2.0, 3.0]), np.array([np.nan, -0.001, np.nan]))
    assert drawn == "M2,0 2,0"
    assert [number(1.50), number(100.0), number(-0.004)] == ["1.5", "100", "0"]
