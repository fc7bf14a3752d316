"""Who goes where: the least there is, ties by order, and straight ways that keep apart."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.planning.assignment import assign

METRES = st.integers(-20, 20).map(float)
PLACES = st.lists(st.tuples(METRES, METRES, METRES), min_size=5, max_size=5)


def total(places: list, slots: list, order: tuple[int, ...]) -> float:  # type: ignore[type-arg]
    ways = np.array(places) - np.array(slots)[list(order)]
    return float((ways * ways).sum())


@given(PLACES, PLACES)
def test_no_other_assignment_is_cheaper_and_no_tie_is_the_wrong_way_round(
    places: list[tuple[float, float, float]], slots: list[tuple[float, float, float]]
) -> None:
    found = assign(places, slots)
    cheapest = min(total(places, slots, order) for order in permutations(range(5)))
    assert total(places, slots, found) == cheapest
    for first, second in combinations(range(5), 2):
        if found[first] > found[second]:
            swapped = list(found)
            swapped[first], swapped[second] = found[second], found[first]
            assert total(places, slots, tuple(swapped)) > cheapest


def test_straight_ways_in_step_keep_the_spacing_over_the_root_of_two() -> None:
    row = [(4.0 * index, 0.0, 0.0) for index in range(6)]
    stack = [(10.0, 4.0 * index - 10.0, 0.0) for index in range(6)]
    order = assign(row, stack)
    start, end = np.array(row), np.array(stack)[list(order)]
    for share in np.linspace(0.0, 1.0, 101):
        now = start + share * (end - start)
        for first, second in combinations(range(6), 2):
            assert np.linalg.norm(now[first] - now[second]) >= 4.0 / 2.0**0.5 - 1e-9


def test_as_many_slots_as_places() -> None:
    with pytest.raises(ConfigError, match="1 places for 2 slots"):
        assign([(0.0, 0.0, 0.0)], [(0.0, 0.0, 0.0)] * 2)
