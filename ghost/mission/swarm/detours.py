"""How those get on whom the rule alone leaves standing before others.

The rule looks at one moment, and knows no way around what is wider than it can see. Who doesn't get
on for a while turns aside for some seconds, first to the right and then to the left, longer the
more often; and who is already where it wants to be makes room for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ghost.core.exact import sine_cosine
from ghost.planning import Vector
from ghost.planning.vectors import dot, horizontal, minus, times

_STALLED_NS = 1_500_000_000
_STAGGER_NS = 300_000_000
"""Not all of those who block each other should turn at once."""
_SLOW = 0.3
"""Of the speed wanted, or in metres per second: what is no getting on."""
_ASIDE_NS = 3_000_000_000
_ASIDE_RAD = 1.92
_THERE_M = 0.5
_NEAR = 1.4
"""Of the distance kept: who is nearer than this makes room."""


@dataclass(slots=True)
class _Progress:
    slow_ns: int = 0
    aside_ns: int = 0
    detours: int = 0


@dataclass(frozen=True, slots=True)
class Traveller:
    place_enu_m: Vector
    velocity_enu_mps: Vector
    wanted_enu_mps: Vector
    target_enu_m: Vector

    @property
    def way_m(self) -> Vector:
        east_m, north_m, _ = minus(self.target_enu_m, self.place_enu_m)
        return (east_m, north_m, 0.0)

    @property
    def is_there(self) -> bool:
        return horizontal(self.way_m) < _THERE_M


class Detours:
    """Of one part. wanted() is called once a period, with everybody who has a target."""

    def __init__(self, distance_m: float, speed_mps: float) -> None:
        self._distance_m = distance_m
        self._speed_mps = speed_mps
        self._progress: dict[int, _Progress] = {}

    def wanted(self, travellers: Mapping[int, Traveller], passed_ns: int) -> dict[int, Vector]:
        """What each should want in the place of what it wants; who isn't named goes on."""
        found = {}
        for index, number in enumerate(sorted(travellers)):
            traveller = travellers[number]
            progress = self._progress.setdefault(number, _Progress())
            if traveller.is_there:
                self._progress[number] = _Progress()
            elif progress.aside_ns > 0:
                progress.aside_ns -= passed_ns
                found[number] = self._aside(traveller, progress.detours)
            else:
                self._watch(traveller, progress, passed_ns, index)
        stalled = [number for number in sorted(travellers) if self._progress[number].detours]
        return found | self._make_room(travellers, stalled)

    def _watch(self, traveller: Traveller, progress: _Progress, passed_ns: int, index: int) -> None:
        wanted = (*traveller.wanted_enu_mps[:2], 0.0)
        size_mps = horizontal(wanted)
        along_mps = dot(traveller.velocity_enu_mps, wanted) / size_mps if size_mps > 0.0 else 0.0
        if along_mps < _SLOW * min(1.0, size_mps):
            progress.slow_ns += passed_ns
        else:
            progress.slow_ns = max(progress.slow_ns - passed_ns, 0)
        if progress.slow_ns > _STALLED_NS + _STAGGER_NS * (index % 4):
            longer_ns = _ASIDE_NS // 2 * (progress.detours // 2 % 4)
            progress.detours += 1
            progress.slow_ns, progress.aside_ns = 0, _ASIDE_NS + longer_ns

    def _aside(self, traveller: Traveller, detours: int) -> Vector:
        """Across the way, and back a little, at half the speed or as fast as wanted."""
        sine, cosine = sine_cosine(-_ASIDE_RAD if detours % 2 else _ASIDE_RAD)
        east, north, up_mps = traveller.wanted_enu_mps
        size_mps = horizontal(traveller.wanted_enu_mps)
        if size_mps == 0.0:
            return traveller.wanted_enu_mps
        scale = max(1.0, 0.5 * self._speed_mps / size_mps)
        turned_east, turned_north = east * cosine - north * sine, east * sine + north * cosine
        return (scale * turned_east, scale * turned_north, up_mps)

    def _make_room(
        self, travellers: Mapping[int, Traveller], stalled: Sequence[int]
    ) -> dict[int, Vector]:
        found = {}
        for number in stalled:
            here = travellers[number]
            for other in sorted(travellers):
                there = travellers[other]
                if other == number or not there.is_there:
                    continue
                east_m, north_m, _ = minus(there.place_enu_m, here.place_enu_m)
                away_m = horizontal((east_m, north_m, 0.0))
                is_ahead = dot((east_m, north_m, 0.0), here.way_m) > 0.0
                if is_ahead and 0.0 < away_m < _NEAR * self._distance_m:
                    push = 0.4 * self._speed_mps / away_m
                    found[other] = times((east_m, north_m, 0.0), push)
        return found
