"""Who goes where, so that together they go as little as can be."""

from collections.abc import Sequence

from ghost.core.errors import ConfigError
from ghost.planning.vectors import Vector, dot, minus

_PER_SQUARE_M = 1_000_000
"""Costs are whole square millimetres: sums of them are exact, so ties are ties on any machine."""


def assign(places_enu_m: Sequence[Vector], slots_enu_m: Sequence[Vector]) -> tuple[int, ...]:
    """The slot of each place, the sum of squared distances being the least there is.

    Straight lines flown there in step with each other then never come nearer to each other than
    the nearest places or slots do, over the root of two. Where two could change slots at no cost,
    the first of them has the first of the slots.
    """
    count = len(places_enu_m)
    if len(slots_enu_m) != count:
        raise ConfigError(f"{count} places for {len(slots_enu_m)} slots; expected as many")
    costs = [
        [
            round(dot(way, way) * _PER_SQUARE_M)
            for way in (minus(slot, place) for slot in slots_enu_m)
        ]
        for place in places_enu_m
    ]
    return tuple(_in_order(costs, _cheapest(costs)))


def _cheapest(costs: list[list[int]]) -> list[int]:
    """The Hungarian method: one more place at a time, along the cheapest chain of exchanges. The
    last slot stands for the place that has none yet.
    """
    count = len(costs)
    most = sum(max(row) for row in costs) + 1
    place_price, slot_price = [0] * count, [0] * (count + 1)
    owner = [-1] * (count + 1)
    for place in range(count):
        owner[count] = place
        slack, before = [most] * count, [count] * count
        unseen, seen, paid, here = list(range(count)), [(count, 0)], 0, count
        while owner[here] >= 0:
            row, price = costs[owner[here]], place_price[owner[here]] - paid
            for slot in unseen:
                cost = row[slot] - price - slot_price[slot]
                if cost < slack[slot]:
                    slack[slot], before[slot] = cost, here
            here = min(unseen, key=slack.__getitem__)
            paid = slack[here]
            unseen.remove(here)
            seen.append((here, paid))
        for slot, at in seen[:-1]:
            place_price[owner[slot]] += paid - at
            slot_price[slot] -= paid - at
        while here != count:
            owner[here], here = owner[before[here]], before[here]
    return sorted(range(count), key=owner.__getitem__)


def _cost(place_m: Vector, slot_m: Vector) -> int:
    way = minus(slot_m, place_m)
    return round(dot(way, way) * _PER_SQUARE_M)


def _in_order(costs: list[list[int]], slots: list[int]) -> list[int]:
    """The same sum, and no pair the wrong way round that could as well be the right way."""
    is_settled = False
    while not is_settled:
        is_settled = True
        for first in range(len(slots)):
            for second in range(first + 1, len(slots)):
                mine, other = slots[first], slots[second]
                now = costs[first][mine] + costs[second][other]
                if mine > other and costs[first][other] + costs[second][mine] == now:
                    slots[first], slots[second] = other, mine
                    is_settled = False
    return slots
