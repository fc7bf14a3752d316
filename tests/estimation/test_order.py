"""Whenever a measurement arrives, the estimate is that of a flight in which nothing was late."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.estimation import Estimator, track, verdict
from ghost.estimation import estimator as estimator_module
from ghost.hal.samples import GpsSample, ImuSample
from tests.estimation.flight import CONFIG, bits, flight, needs_compiled_kernel
from tests.interpreted import interpreted

ALIGNED_NS = 1_600_000_000
LAST_NS = 4_000_000_000
JUMP_NS = 2_200_000_000
# Short enough for a reset to come, and to be rewound, within the flight.
SETTINGS = replace(CONFIG, gps_reset_ns=700_000_000)


@cache
def samples(shift_ns: int, jump: bool) -> tuple[Any, ...]:
    """In order of stamps; the others lie shift_ns before an IMU sample, of which some are lost."""
    made: list[Any] = []
    for _, sample in flight(5, LAST_NS / 1e9).samples:
        if type(sample) is ImuSample:
            if not (560 <= sample.sequence < 566 or sample.sequence % 97 == 0):
                made.append(sample)
            continue
        changed = replace(sample, stamp_ns=sample.stamp_ns - shift_ns)
        if jump and type(sample) is GpsSample and sample.stamp_ns > JUMP_NS:
            changed = replace(changed, latitude_deg=sample.latitude_deg + 0.0005)
        made.append(changed)
    return tuple(sorted(made, key=lambda sample: sample.stamp_ns))


@cache
def in_order(shift_ns: int, jump: bool) -> tuple[Any, ...]:
    estimator = Estimator(SETTINGS)
    for sample in samples(shift_ns, jump):
        estimator.add(sample)
    assert estimator.late_count == 0
    assert estimator.ledger.gps_resets == int(jump)
    return bits(estimator)


@needs_compiled_kernel
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([0, 1, 1_234_567, 3_999_999]),
    st.booleans(),
    st.lists(st.integers(0, 450), min_size=1, max_size=40),
)
def test_late_measurements_leave_the_same_bits(
    shift_ns: int, jump: bool, latencies_ms: list[int]
) -> None:
    arrivals = []
    for index, sample in enumerate(samples(shift_ns, jump)):
        is_punctual = type(sample) is ImuSample or sample.stamp_ns < ALIGNED_NS
        latency_ms = 0 if is_punctual else latencies_ms[index % len(latencies_ms)]
        arrivals.append((sample.stamp_ns + latency_ms * 1_000_000, index, sample))
    estimator = Estimator(SETTINGS)
    for _, _, sample in sorted(arrivals, key=lambda arrival: arrival[:2]):
        estimator.add(sample)
    assert estimator.late_count == 0
    assert bits(estimator) == in_order(shift_ns, jump)


def test_what_is_older_than_the_buffer_is_dropped_and_counted() -> None:
    estimator = Estimator(CONFIG)
    old: Any = None
    for _, sample in flight(5, 4.0).samples:
        if type(sample) is GpsSample and old is None and sample.stamp_ns > ALIGNED_NS:
            old = sample
            continue
        estimator.add(sample)
    before = bits(estimator)
    estimator.add(old)
    assert estimator.late_count == 1
    assert bits(estimator) == before


def test_the_same_sample_twice_counts_once() -> None:
    once, twice = Estimator(CONFIG), Estimator(CONFIG)
    for _, sample in flight(5, 3.0).samples:
        once.add(sample)
        twice.add(sample)
        if twice.ready:
            twice.add(sample)
    assert bits(once) == bits(twice)
    assert twice.late_count > 0


def test_compiled_and_interpreted_are_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffer alone, with late measurements, gaps and a reset; test_kernel.py compares the
    filter.
    """
    late_ns = {GpsSample: 130_000_000}
    arrivals = sorted(
        samples(1_234_567, True), key=lambda sample: sample.stamp_ns + late_ns.get(type(sample), 0)
    )

    def flown() -> list[Any]:
        estimator, seen = Estimator(SETTINGS), []
        for index, sample in enumerate(arrivals):
            estimator.add(sample)
            estimator.advance_to(sample.stamp_ns + index % 3 * 5_000_000)
            seen += [bits(estimator), estimator.verdict]
        assert estimator.ledger.gps_resets == 1
        return seen

    compiled = flown()
    monkeypatch.setattr(estimator_module, "Track", interpreted(track).Track)
    monkeypatch.setattr(estimator_module, "judge", interpreted(verdict).judge)
    assert flown() == compiled
