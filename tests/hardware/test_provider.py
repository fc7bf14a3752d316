"""A stream that stops says so in time; one that goes on never does."""

import math
from typing import Any

import numpy as np
import pytest

from ghost.hal import (
    BarometerSample,
    EstimateHealth,
    Health,
    SensorKind,
    SensorSpec,
    VehicleState,
)
from ghost.hardware.provider import StreamProvider

MS = 1_000_000
PERIOD_NS = 100 * MS


def barometer(stamp_ns: int, sequence: int) -> BarometerSample:
    return BarometerSample(stamp_ns, sequence, 1e5, 15.0)


def state(stamp_ns: int, sequence: int) -> VehicleState:
    nothing, unknown = np.zeros(3), np.full((3, 3), math.nan)
    return VehicleState(
        stamp_ns,
        sequence,
        np.array([1.0, 2.0, 3.0]),
        nothing,
        np.array([1.0, 0.0, 0.0, 0.0]),
        nothing,
        nothing,
        nothing,
        nothing,
        unknown,
        unknown,
        unknown,
        EstimateHealth.GOOD,
    )


def listened(kind: SensorKind) -> tuple[StreamProvider, list[Any]]:
    provider = StreamProvider(SensorSpec(kind.name.lower(), kind, PERIOD_NS))
    heard: list[Any] = []
    provider.subscribe(heard.append)
    return provider, heard


def judged(provider: StreamProvider, from_ms: int, until_ms: int) -> None:
    for now_ms in range(from_ms, until_ms, 5):
        provider.judge(now_ms * MS)


def test_silence_is_told_within_three_periods_and_once() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    provider.push(barometer(1000 * MS, 0), 1000 * MS)
    judged(provider, 1000, 1296)
    assert len(heard) == 1
    judged(provider, 1300, 5000)
    assert len(heard) == 2
    assert (heard[1].health, heard[1].sequence, heard[1].pressure_pa) == (Health.OFFLINE, 1, 1e5)
    assert heard[1].stamp_ns == 1300 * MS
    assert provider.poll() is heard[1]


def test_a_stream_that_comes_back_is_well_again_and_may_stop_again() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    provider.push(barometer(0, 0), 0)
    judged(provider, 0, 1000)
    provider.push(barometer(1000 * MS, provider.sequence), 1000 * MS)
    judged(provider, 1000, 2000)
    assert [sample.health for sample in heard] == [Health.OK, Health.OFFLINE] * 2
    assert [sample.sequence for sample in heard] == [0, 1, 2, 3]


def test_a_stream_that_goes_on_is_never_offline() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    for now_ms in range(0, 2000, 20):
        if now_ms % 280 == 0:  # not quite three periods
            provider.push(barometer(now_ms * MS, provider.sequence), now_ms * MS)
        provider.judge(now_ms * MS)
    assert {sample.health for sample in heard} == {Health.OK}


def test_what_was_never_heard_is_not_lost() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    judged(provider, 0, 1000)
    assert heard == []
    assert provider.poll() is None


def test_a_stale_state_is_lost_at_its_own_rate_so_that_a_mission_goes_on() -> None:
    provider, heard = listened(SensorKind.VEHICLE)
    provider.push(state(0, 0), 0)
    judged(provider, 0, 1300)
    lost = heard[1:]
    assert {sample.verdict for sample in lost} == {EstimateHealth.LOST}
    assert [sample.sequence for sample in lost] == list(range(1, 11))
    assert [sample.stamp_ns // MS for sample in lost] == list(range(300, 1300, 100))
    assert all(sample.position_enu_m.tolist() == [1.0, 2.0, 3.0] for sample in lost)
    provider.push(state(1400 * MS, provider.sequence), 1400 * MS)
    assert heard[-1].verdict is EstimateHealth.GOOD


def test_what_was_overtaken_is_dropped() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    for stamp_ms in (10, 30, 20, 30, 40):
        provider.push(barometer(stamp_ms * MS, provider.sequence), 50 * MS)
    assert [sample.stamp_ns // MS for sample in heard] == [10, 30, 40]
    assert [sample.sequence for sample in heard] == [0, 1, 2]


def test_a_slow_stream_is_judged_by_its_own_period() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    provider.slow_down(1000 * MS)
    assert provider.spec.period_ns == 1000 * MS
    provider.slow_down(10 * MS)  # faster than asked for is as asked for
    assert provider.spec.period_ns == 1000 * MS
    provider.push(barometer(0, 0), 0)
    judged(provider, 0, 2996)
    assert len(heard) == 1


def test_unsubscribing_from_inside_a_delivery_leaves_the_others() -> None:
    provider, heard = listened(SensorKind.BAROMETER)
    once: list[Any] = []

    def leave_at_once(sample: Any) -> None:
        once.append(sample)
        leave()

    leave = provider.subscribe(leave_at_once)
    twice = provider.subscribe(heard.append)
    provider.push(barometer(1, 0), 1)
    twice()
    twice()
    provider.push(barometer(2, 1), 2)
    assert (len(once), len(heard)) == (1, 3)


@pytest.mark.parametrize("kind", [SensorKind.BAROMETER, SensorKind.VEHICLE])
def test_poll_gives_the_newest(kind: SensorKind) -> None:
    provider, heard = listened(kind)
    provider.push(state(5, 0) if kind is SensorKind.VEHICLE else barometer(5, 0), 5)
    assert provider.poll() is heard[-1]
    assert provider.is_heard
