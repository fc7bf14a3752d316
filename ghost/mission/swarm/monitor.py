"""Watches how near vehicles come to each other. It is told where they are, and has no other way to
know: the truth in simulation, what they believe elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.planning import Vector
from ghost.planning.vectors import distance

_SOURCE = "separation"
_PARTED = 1.1
_GRAVE = 0.5
"""Shares of the limit: beyond the first an encounter is over, below the second it is an error."""


@dataclass(frozen=True, slots=True)
class Approach:
    pair: tuple[int, int]
    distance_m: float
    at_ns: int


class SeparationMonitor:
    """An event for each encounter, that is each time that two come nearer than the limit: when
    they part again, or as soon as they are nearer than half of it.
    """

    def __init__(self, bus: Bus, limit_m: float) -> None:
        self.limit_m = limit_m
        self.closest: Approach | None = None
        self.encounters = 0
        self._bus = bus
        self._open: dict[tuple[int, int], Approach] = {}
        self._told: dict[tuple[int, int], bool] = {}

    def see(self, now_ns: int, places_enu_m: Mapping[int, Vector]) -> None:
        """Where those in the air are; who is missing has landed, or was lost."""
        near = self._near(places_enu_m)
        for pair, away_m in near:
            approach = Approach(pair, away_m, now_ns)
            if self.closest is None or away_m < self.closest.distance_m:
                self.closest = approach
            self._follow(approach)
        still_near = {pair for pair, away_m in near if away_m <= _PARTED * self.limit_m}
        for pair in sorted(self._open):
            if pair not in still_near:
                self._end(pair, now_ns)

    def close(self, now_ns: int) -> None:
        """Tell of encounters that last."""
        for pair in sorted(self._open):
            self._end(pair, now_ns)

    def _near(self, places_enu_m: Mapping[int, Vector]) -> list[tuple[tuple[int, int], float]]:
        """Pairs that matter: near the limit, or nearer than any before. From west to east, so that
        who is too far east ends the search.
        """
        reach_m = _PARTED * self.limit_m
        nearest_m = float("inf") if self.closest is None else self.closest.distance_m
        reach_m = max(reach_m, nearest_m)
        row = sorted(places_enu_m, key=lambda number: (places_enu_m[number][0], number))
        found = []
        for index, first in enumerate(row):
            here = places_enu_m[first]
            for second in row[index + 1 :]:
                there = places_enu_m[second]
                if there[0] - here[0] > reach_m:
                    break
                away_m = distance(here, there)
                if away_m <= reach_m:
                    found.append(((min(first, second), max(first, second)), away_m))
        return sorted(found)

    def _follow(self, approach: Approach) -> None:
        pair = approach.pair
        known = self._open.get(pair)
        if known is None:
            if approach.distance_m >= self.limit_m:
                return
            self.encounters += 1
            self._told[pair] = False
        if known is None or approach.distance_m < known.distance_m:
            self._open[pair] = approach
        if approach.distance_m < _GRAVE * self.limit_m and not self._told[pair]:
            self._tell(approach, approach.at_ns)

    def _end(self, pair: tuple[int, int], now_ns: int) -> None:
        nearest = self._open.pop(pair)
        if not self._told.pop(pair):
            self._tell(nearest, now_ns)

    def _tell(self, approach: Approach, now_ns: int) -> None:
        first, second = approach.pair
        away_m, limit_m = approach.distance_m, self.limit_m
        if approach.pair in self._told:
            self._told[approach.pair] = True
        self._bus.publish(
            EVENTS,
            Event(
                now_ns,
                Severity.ERROR if away_m < _GRAVE * limit_m else Severity.WARN,
                EventKind.SEPARATION,
                _SOURCE,
                f"vehicles {first} and {second} came within {away_m:.2f} m; {limit_m:g} m are set",
                {
                    "vehicles": [first, second],
                    "distance_m": away_m,
                    "limit_m": limit_m,
                    "at_ns": approach.at_ns,
                },
            ),
        )
