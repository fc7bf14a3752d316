"""Ways around: crossings that the rule alone leaves standing come to their end."""

import math
from itertools import combinations

import pytest

from ghost.core.random import RandomSource
from ghost.mission.swarm.detours import Detours, Traveller
from ghost.planning import Vector
from ghost.planning.separation import Mover, Spacing, keep_apart
from ghost.planning.vectors import ZERO, horizontal, length, minus, plus, times

SPACING = Spacing(4.0, max_speed_mps=4.5)
PERIOD_NS = SPACING.period_ns


def towards(place: Vector, target: Vector) -> Vector:
    way = minus(target, place)
    away_m = length(way)
    speed_mps = min(3.0, 1.2 * away_m, math.sqrt(2.8 * away_m))
    return times(way, speed_mps / away_m) if away_m > 0.0 else ZERO


def fly(places: list[Vector], targets: list[Vector], longest_s: float) -> tuple[float, float]:
    """How far the last is from its target in the end, and how near two came to each other."""
    detours = Detours(4.0, 3.0)
    velocities = [ZERO] * len(places)
    nearest_m = math.inf
    for _ in range(round(longest_s * 1e9) // PERIOD_NS):
        wanted = {i: towards(place, targets[i]) for i, place in enumerate(places)}
        travellers = {i: Traveller(places[i], velocities[i], wanted[i], targets[i]) for i in wanted}
        wanted |= detours.wanted(travellers, PERIOD_NS)
        movers = [Mover(places[i], velocities[i], wanted[i]) for i in range(len(places))]
        told = keep_apart(movers, SPACING)
        ways = [plus(old, new) for old, new in zip(velocities, told, strict=True)]
        places = [plus(p, w, 0.5e-9 * PERIOD_NS) for p, w in zip(places, ways, strict=True)]
        velocities = list(told)
        for first, second in combinations(places, 2):
            nearest_m = min(nearest_m, horizontal(minus(first, second)))
        farthest_m = max(length(minus(p, t)) for p, t in zip(places, targets, strict=True))
        if farthest_m < 0.1:
            break
    return farthest_m, nearest_m


def scattered(random: RandomSource, count: int, side_m: float, apart_m: float) -> list[Vector]:
    found: list[Vector] = []
    tries = 0
    while len(found) < count:
        tries += 1
        if tries > 3000:
            found, tries = [], 0
        east, north = (2.0 * random.uniform() - 1.0 for _ in range(2))
        place = (side_m * east, side_m * north, 5.0)
        if all(horizontal(minus(place, other)) >= apart_m for other in found):
            found.append(place)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("apart_m", "side_m"), [(4.4, 14.0), (6.0, 18.0), (9.0, 25.0)])
def test_a_dozen_change_places_at_random(seed: int, apart_m: float, side_m: float) -> None:
    """The rule alone leaves some standing in four of these."""
    random = RandomSource(seed)
    places = scattered(random.child("places"), 12, side_m, apart_m)
    targets = scattered(random.child("targets"), 12, side_m, apart_m)
    farthest_m, nearest_m = fly(places, targets, 150.0)
    assert farthest_m < 0.1
    assert nearest_m >= 4.0


def test_who_stands_in_a_gateway_makes_room() -> None:
    """Three at their targets close the way to a fourth one; around is not far enough."""
    row = [(-5.0, 0.0, 5.0), (0.0, 0.0, 5.0), (5.0, 0.0, 5.0), (0.0, -8.0, 5.0)]
    targets = [*row[:3], (0.0, 8.0, 5.0)]
    farthest_m, nearest_m = fly(row, targets, 40.0)
    assert farthest_m < 0.1
    assert nearest_m >= 4.0


def test_who_gets_on_is_left_alone() -> None:
    detours = Detours(4.0, 3.0)
    going = Traveller(ZERO, (2.0, 0.0, 0.0), (3.0, 0.0, 0.0), (20.0, 0.0, 0.0))
    there = Traveller((3.0, 0.0, 0.0), ZERO, ZERO, (3.0, 0.1, 0.0))
    for _ in range(500):
        assert detours.wanted({1: going, 2: there}, PERIOD_NS) == {}


def test_who_does_not_turns_right_and_pushes_who_stands_ahead() -> None:
    detours = Detours(4.0, 3.0)
    stuck = Traveller(ZERO, ZERO, (3.0, 0.0, 1.0), (20.0, 0.0, 9.0))
    ahead = Traveller((4.0, 1.0, 0.0), ZERO, ZERO, (4.0, 1.0, 0.0))
    behind = Traveller((-4.0, 1.0, 0.0), ZERO, ZERO, (-4.0, 1.0, 0.0))
    found = [detours.wanted({1: stuck, 2: ahead, 3: behind}, PERIOD_NS) for _ in range(80)]
    turns = [wanted for wanted in found if 1 in wanted]
    assert 0 < len(turns) < 10  # not before a second and a half
    east, north, up = turns[-1][1]
    assert north < -2.0
    assert east < 0.0
    assert up == 1.0
    assert turns[-1][2][0] > 0.0
    assert 3 not in turns[-1]
