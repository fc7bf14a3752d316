"""Forests: trees at random places, the same for the same seed on every machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource

Place = tuple[float, float]

_TRIES_PER_TREE = 1000


@dataclass(frozen=True, slots=True)
class Clearing:
    """No trunk comes nearer than radius_m to the points, nor to the lines from one to the next."""

    points_m: tuple[Place, ...]
    radius_m: float


@dataclass(frozen=True, slots=True)
class Forest:
    """The middles of the trunks lie in the rectangle between two opposite corners; spacing_m is
    free between one trunk and the next. Radius and height are each drawn from a range.
    """

    rectangle: tuple[Place, Place]
    count: int
    seed: int = 0
    radius_m: tuple[float, float] = (0.15, 0.3)
    height_m: tuple[float, float] = (6.0, 12.0)
    spacing_m: float = 2.0
    clear: tuple[Clearing, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    east_m: float
    north_m: float
    radius_m: float
    height_m: float


def grow(forest: Forest) -> tuple[Tree, ...]:
    trees: list[Tree] = []
    taken = np.empty((forest.count, 3), np.float64)
    candidates = _candidates(forest)
    while len(trees) < forest.count:
        tree = _first_that_fits(forest, candidates, taken[: len(trees)])
        if tree is None:
            raise ConfigError(
                f"{len(trees)} of {forest.count} trees fit; expected fewer trees, a larger "
                "rectangle, less spacing_m or less to clear"
            )
        taken[len(trees)] = (tree.east_m, tree.north_m, tree.radius_m)
        trees.append(tree)
    return tuple(trees)


def _first_that_fits(
    forest: Forest, candidates: Iterator[Tree], taken: NDArray[np.float64]
) -> Tree | None:
    for _ in range(_TRIES_PER_TREE):
        tree = next(candidates)
        if _is_apart(tree, taken, forest.spacing_m) and not any(
            _is_within(tree, clearing) for clearing in forest.clear
        ):
            return tree
    return None


def _candidates(forest: Forest) -> Iterator[Tree]:
    """Without end. Every tree takes four numbers, whether it fits or not."""
    random = RandomSource(forest.seed)
    (east, north), (to_east, to_north) = forest.rectangle
    spans = ((east, to_east), (north, to_north), forest.radius_m, forest.height_m)
    while True:
        yield Tree(*(low + (high - low) * random.uniform() for low, high in spans))


def _is_apart(tree: Tree, taken: NDArray[np.float64], spacing_m: float) -> bool:
    run_east, run_north = taken[:, 0] - tree.east_m, taken[:, 1] - tree.north_m
    apart_m = taken[:, 2] + (tree.radius_m + spacing_m)
    return bool(np.all(run_east * run_east + run_north * run_north >= apart_m * apart_m))


def _is_within(tree: Tree, clearing: Clearing) -> bool:
    apart_m = clearing.radius_m + tree.radius_m
    points = clearing.points_m
    return any(
        _squared_distance((tree.east_m, tree.north_m), start, end) < apart_m * apart_m
        for start, end in pairwise((points[0], *points))
    )


def _squared_distance(place: Place, start: Place, end: Place) -> float:
    """From a place to the nearest point of a line with two ends."""
    run_east, run_north = end[0] - start[0], end[1] - start[1]
    off_east, off_north = place[0] - start[0], place[1] - start[1]
    squared_length = run_east * run_east + run_north * run_north
    along = off_east * run_east + off_north * run_north
    share = min(max(along / squared_length, 0.0), 1.0) if squared_length > 0.0 else 0.0
    gap_east, gap_north = off_east - share * run_east, off_north - share * run_north
    return gap_east * gap_east + gap_north * gap_north
