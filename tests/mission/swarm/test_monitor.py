"""The monitor: one event for each encounter, and how near the nearest was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.mission.swarm import Approach, SeparationMonitor


class Watched:
    def __init__(self) -> None:
        bus = Bus(SimClock())
        self.events: list[Event] = []
        bus.subscribe(EVENTS, self.events.append, name="test")
        self.monitor = SeparationMonitor(bus, 3.0)
        self._now_ns = 0

    def apart(self, *distances_m: float) -> None:
        for away_m in distances_m:
            self._now_ns += 20_000_000
            self.monitor.see(self._now_ns, {7: (away_m, 0.0, 5.0), 2: (0.0, 0.0, 5.0)})


def test_an_encounter_is_told_once_with_its_closest_approach() -> None:
    watched = Watched()
    watched.apart(9.0, 3.1, 2.9, 2.2, 2.6, 3.1, 2.8)
    assert watched.events == []
    watched.apart(3.4)
    (event,) = watched.events
    assert (event.kind, event.severity) == (EventKind.SEPARATION, Severity.WARN)
    assert event.payload == {
        "vehicles": [2, 7],
        "distance_m": 2.2,
        "limit_m": 3.0,
        "at_ns": 80_000_000,
    }
    watched.apart(2.5, 9.0)
    assert len(watched.events) == watched.monitor.encounters == 2
    assert watched.monitor.closest == Approach((2, 7), 2.2, 80_000_000)


def test_one_that_is_grave_is_told_at_once_and_once() -> None:
    watched = Watched()
    watched.apart(5.0, 2.0, 1.4)
    (event,) = watched.events
    assert event.severity is Severity.ERROR
    watched.apart(0.5, 1.4, 9.0)
    assert len(watched.events) == 1
    assert watched.monitor.closest == Approach((2, 7), 0.5, 80_000_000)


def test_what_lasts_is_told_at_the_end_and_when_one_has_landed() -> None:
    watched = Watched()
    watched.apart(2.0)
    watched.monitor.close(1_000_000_000)
    assert len(watched.events) == 1
    watched.apart(2.0)
    watched.monitor.see(2_000_000_000, {7: (0.0, 0.0, 5.0)})
    assert len(watched.events) == 2


def test_who_keeps_away_is_not_told_of() -> None:
    watched = Watched()
    watched.apart(9.0, 3.0, 9.0)
    assert watched.events == []
    assert watched.monitor.closest == Approach((2, 7), 3.0, 40_000_000)


METRES = st.floats(-9.0, 9.0)
PLACES = st.lists(st.tuples(METRES, METRES, METRES), min_size=2, max_size=6)


@given(st.lists(PLACES, min_size=1, max_size=4))
def test_the_closest_of_all_pairs_is_found(moments: list[list[tuple[float, float, float]]]) -> None:
    watched = Watched()
    nearest = float("inf")
    for index, places in enumerate(moments):
        watched.monitor.see(index, dict(enumerate(places)))
        for first in range(len(places)):
            for second in range(first):
                ways = zip(places[first], places[second], strict=True)
                nearest = min(nearest, sum((a - b) * (a - b) for a, b in ways) ** 0.5)
    assert watched.monitor.closest is not None
    assert watched.monitor.closest.distance_m == pytest.approx(nearest)
