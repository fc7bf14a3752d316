"""Forests: the same for the same seed, and clear of what they are to be clear of."""

from dataclasses import replace
from itertools import combinations, pairwise
from math import sqrt

import pytest

from ghost.core.errors import ConfigError
from ghost.deploy.forest import Clearing, Forest, Place, Tree, grow

FOREST = Forest(((0.0, 0.0), (40.0, 30.0)), count=60, seed=5, spacing_m=1.5)


def distance(tree: Tree, place: Place) -> float:
    return sqrt((tree.east_m - place[0]) ** 2 + (tree.north_m - place[1]) ** 2)


def along(points: tuple[Place, ...], count: int = 400) -> list[Place]:
    """Places on the way from each point to the next."""
    return [
        (start[0] + (end[0] - start[0]) * i / count, start[1] + (end[1] - start[1]) * i / count)
        for start, end in pairwise(points)
        for i in range(count + 1)
    ]


def test_the_same_seed_gives_the_same_trees_and_another_gives_others() -> None:
    trees = grow(FOREST)
    assert trees == grow(FOREST)
    assert not set(trees) & set(grow(replace(FOREST, seed=6)))


def test_trees_keep_to_their_rectangle_and_ranges() -> None:
    trees = grow(replace(FOREST, radius_m=(0.2, 0.4), height_m=(3.0, 5.0)))
    assert len(trees) == 60
    for tree in trees:
        assert 0.2 <= tree.radius_m <= 0.4
        assert 3.0 <= tree.height_m <= 5.0
        assert 0.0 <= tree.east_m <= 40.0
        assert 0.0 <= tree.north_m <= 30.0
    assert max(tree.east_m for tree in trees) > 30.0


def test_the_corners_of_the_rectangle_may_come_in_any_order() -> None:
    trees = grow(replace(FOREST, rectangle=((40.0, 0.0), (0.0, 30.0))))
    assert all(0.0 <= tree.east_m <= 40.0 and 0.0 <= tree.north_m <= 30.0 for tree in trees)


def test_trees_keep_their_distance_from_bark_to_bark() -> None:
    for tree, other in combinations(grow(replace(FOREST, radius_m=(0.1, 0.8))), 2):
        gap = distance(tree, (other.east_m, other.north_m)) - tree.radius_m - other.radius_m
        assert gap >= 1.5 - 1e-9


@pytest.mark.parametrize(
    ("clearing", "places"),
    [
        (Clearing(((10.0, 20.0),), 5.0), [(10.0, 20.0)]),
        (
            Clearing(((0.0, 0.0), (20.0, 15.0), (40.0, 15.0)), 2.0),
            along(((0.0, 0.0), (20.0, 15.0), (40.0, 15.0))),
        ),
    ],
    ids=["circle", "lane"],
)
def test_what_is_to_be_clear_is_clear(clearing: Clearing, places: list[Place]) -> None:
    def intruders(forest: Forest) -> list[Tree]:
        return [
            tree
            for tree in grow(forest)
            if min(distance(tree, place) for place in places) < clearing.radius_m + tree.radius_m
        ]

    assert intruders(FOREST)
    assert not intruders(replace(FOREST, clear=(clearing,)))


@pytest.mark.parametrize(
    ("forest", "count"),
    [
        (replace(FOREST, spacing_m=100.0), 1),
        (replace(FOREST, clear=(Clearing(((20.0, 15.0),), 60.0),)), 0),
    ],
)
def test_trees_that_do_not_fit_are_refused(forest: Forest, count: int) -> None:
    with pytest.raises(ConfigError) as caught:
        grow(forest)
    assert str(caught.value) == (
        f"{count} of 60 trees fit; expected fewer trees, a larger rectangle, less spacing_m or "
        "less to clear"
    )
