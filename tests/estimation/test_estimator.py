"""What the estimator makes of a bad day: lost GPS, jumps, gaps in the IMU, nonsense."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.frames import LocalFrame
from ghost.estimation import Estimator
from ghost.hal.samples import (
    BatterySample,
    GpsFix,
    GpsSample,
    Health,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
)
from ghost.hal.scenario import ZURICH
from ghost.hal.vehicle import EstimateHealth
from tests.estimation.flight import CONFIG, IMU_NS, bits, errors, flight

GOOD, DEGRADED, LOST = EstimateHealth.GOOD, EstimateHealth.DEGRADED, EstimateHealth.LOST
PLACE = LocalFrame(ZURICH)


def watch(
    change: Callable[[Any], Any], duration_s: float, config: Any = CONFIG
) -> tuple[Estimator, list[tuple[float, EstimateHealth]]]:
    """Fly with each sample changed, or lost where change gives None; when verdicts changed."""
    estimator = Estimator(config)
    verdicts: list[tuple[float, EstimateHealth]] = []
    for arrival_ns, sample in flight(2, duration_s).samples:
        changed = change(sample)
        if changed is not None and arrival_ns <= duration_s * 1e9:
            estimator.add(changed)
        if not verdicts or estimator.verdict is not verdicts[-1][1]:
            verdicts.append((arrival_ns / 1e9, estimator.verdict))
    return estimator, verdicts


def east_by(sample: GpsSample, offset_m: float) -> GpsSample:
    place = PLACE.to_geodetic([offset_m, 0.0, 0.0])
    longitude_deg = sample.longitude_deg + place.longitude_deg - ZURICH.longitude_deg
    return replace(sample, longitude_deg=longitude_deg)


def test_it_is_ready_after_a_second_at_rest_and_good_from_then_on() -> None:
    estimator, verdicts = watch(lambda sample: sample, 12.0)
    assert [verdict for _, verdict in verdicts] == [LOST, GOOD]
    assert 0.9 < verdicts[1][0] < 1.3
    index = round(12e9 / IMU_NS) - 1
    error = errors(estimator, flight(2, 12.0).path, index)
    assert np.linalg.norm(error[:3]) < 0.5
    assert np.linalg.norm(error[3:6]) < 0.3
    assert np.linalg.norm(error[6:9]) < 0.03


def test_the_message_says_what_the_arrays_say() -> None:
    estimator, _ = watch(lambda sample: sample, 6.0)
    state = estimator.state(17)
    assert (state.stamp_ns, state.sequence, state.verdict) == (6_000_000_000, 17, GOOD)
    joined = np.concatenate(
        (
            *(state.position_enu_m, state.velocity_enu_mps, state.attitude),
            *(state.gyro_bias_flu_rps, state.accel_bias_flu_mps2),
        )
    )
    np.testing.assert_array_equal(joined, estimator.nominal[:16])
    np.testing.assert_array_equal(state.rate_flu_rps, estimator.rate_flu_rps)
    np.testing.assert_array_equal(state.acceleration_enu_mps2, estimator.acceleration_enu_mps2)
    truth = flight(2, 6.0).path
    np.testing.assert_allclose(state.rate_flu_rps, truth.rate[-1], atol=0.1)
    acceleration = (truth.velocity[-1] - truth.velocity[-2]) / (IMU_NS / 1e9)
    np.testing.assert_allclose(state.acceleration_enu_mps2, acceleration, atol=1.5)
    for covariance in (state.position_covariance_m2, state.attitude_covariance_rad2):
        assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    with pytest.raises(ValueError, match="read-only"):
        estimator.nominal[0] = 1.0


def test_before_it_is_ready_it_says_lost_and_knows_nothing() -> None:
    estimator = Estimator(CONFIG)
    state = estimator.state(0)
    assert (estimator.ready, state.verdict) == (False, LOST)
    assert state.position_covariance_m2[0, 0] > 1e5


def test_a_vehicle_that_moves_is_not_aligned() -> None:
    def shaken(sample: Any) -> Any:
        if type(sample) is ImuSample and sample.sequence % 200 == 0:
            return replace(sample, gyro_flu_rps=np.array([0.5, 0.0, 0.0]))
        return sample

    estimator, _ = watch(shaken, 2.4)
    assert not estimator.ready


def test_without_gps_it_degrades_after_two_seconds_then_loses_itself_then_recovers() -> None:
    def outage(sample: Any) -> Any:
        is_out = type(sample) is GpsSample and 10e9 < sample.stamp_ns < 28e9
        return None if is_out else sample

    config = replace(CONFIG, lost_velocity_std_mps=0.3, good_velocity_std_mps=0.25)
    estimator, verdicts = watch(outage, 30.0, config)
    assert [verdict for _, verdict in verdicts] == [LOST, GOOD, DEGRADED, LOST, GOOD]
    assert 11.5 < verdicts[2][0] < 12.1
    assert verdicts[-1][1] is GOOD
    assert 28.0 < verdicts[-1][0] < 28.6
    assert estimator.ledger.gps_resets == 0


def test_a_jump_of_fifty_metres_is_refused() -> None:
    def jump(sample: Any) -> Any:
        is_off = type(sample) is GpsSample and 10e9 < sample.stamp_ns < 11.5e9
        return east_by(sample, 50.0) if is_off else sample

    estimator, verdicts = watch(jump, 12.0)
    assert estimator.ledger.gps.rejected == 8  # at 5 Hz
    assert estimator.ledger.gps_resets == 0
    assert verdicts[-1][1] is GOOD
    index = round(12e9 / IMU_NS) - 1
    assert np.linalg.norm(errors(estimator, flight(2, 12.0).path, index)[:3]) < 0.6


def test_a_gps_that_insists_is_believed_after_five_seconds() -> None:
    def moved(sample: Any) -> Any:
        is_off = type(sample) is GpsSample and sample.stamp_ns > 10e9
        return east_by(sample, 50.0) if is_off else sample

    estimator, verdicts = watch(moved, 18.0)
    assert [verdict for _, verdict in verdicts] == [LOST, GOOD, DEGRADED, GOOD]
    assert 15.0 < verdicts[3][0] < 15.6
    assert estimator.ledger.gps_resets == 1
    index = round(18e9 / IMU_NS) - 1
    error = errors(estimator, flight(2, 18.0).path, index)
    assert error[0] == pytest.approx(-50.0, abs=1.0)
    assert np.linalg.norm(error[6:9]) < 0.03


@pytest.mark.parametrize("gap_ms", [8, 60, 180])
def test_a_short_gap_in_the_imu_is_bridged(gap_ms: int) -> None:
    def gap(sample: Any) -> Any:
        after_ns = sample.stamp_ns - 10_000_000_000
        return None if type(sample) is ImuSample and 0 < after_ns <= gap_ms * 1e6 else sample

    estimator, verdicts = watch(gap, 14.0)
    assert LOST not in [verdict for _, verdict in verdicts[1:]]
    assert verdicts[-1][1] is GOOD
    assert estimator.ledger.gps.rejected == 0
    index = round(14e9 / IMU_NS) - 1
    error = errors(estimator, flight(2, 14.0).path, index)
    assert np.linalg.norm(error[:3]) < 0.6
    assert np.linalg.norm(error[6:9]) < 0.03


def test_a_long_gap_in_the_imu_is_lost_until_gps_has_found_it_again() -> None:
    def gap(sample: Any) -> Any:
        return None if type(sample) is ImuSample and 10e9 < sample.stamp_ns < 10.6e9 else sample

    _, verdicts = watch(gap, 20.0)
    assert 10.2 <= next(at_s for at_s, verdict in verdicts[1:] if verdict is LOST) < 10.3
    assert verdicts[-1][1] is GOOD


def test_told_the_time_it_carries_the_state_on_and_notices_a_dead_imu() -> None:
    estimator, _ = watch(lambda sample: sample, 10.0)
    plain = bits(estimator)
    before = estimator.nominal.copy()
    estimator.advance_to(10_100_000_000)
    assert estimator.stamp_ns == 10_100_000_000
    np.testing.assert_allclose(
        estimator.nominal[:3], before[:3] + 0.1 * before[3:6], rtol=0, atol=0.1
    )
    assert estimator.verdict is DEGRADED
    estimator.advance_to(10_201_000_000)
    assert estimator.verdict is LOST
    estimator.advance_to(10_000_000_000)
    assert bits(estimator) == plain


NAN_VECTOR = np.array([math.nan, 0.0, 0.0])


@pytest.mark.parametrize(
    "nonsense",
    [
        ImuSample(9_000_000_000, 0, NAN_VECTOR, np.zeros(3)),
        ImuSample(9_000_000_000, 0, np.zeros(3), np.array([1e9, 0.0, 0.0])),
        ImuSample(9_000_000_000, 0, np.zeros(3), np.zeros(3), health=Health.OFFLINE),
        MagnetometerSample(5_000_000_000, 0, NAN_VECTOR),
        MagnetometerSample(5_000_000_000, 0, np.array([1.0, 0.0, 0.0])),
        RangefinderSample(5_000_000_000, 0, math.inf),
        RangefinderSample(5_000_000_000, 0, math.nan),
    ],
    ids=lambda sample: type(sample).__name__,
)
def test_nonsense_is_counted_and_changes_nothing(nonsense: Any) -> None:
    estimator, _ = watch(lambda sample: sample, 5.2)
    before, ignored_count = bits(estimator), estimator.ignored_count
    estimator.add(nonsense)
    assert estimator.ignored_count == ignored_count + 1
    assert bits(estimator) == before


def test_a_gps_without_a_fix_or_with_nonsense_is_not_used() -> None:
    estimator, _ = watch(lambda sample: sample, 5.2)
    fix = next(
        sample
        for _, sample in flight(2, 5.2).samples
        if type(sample) is GpsSample and sample.stamp_ns > 5_000_000_000
    )
    before, ignored_count = bits(estimator), estimator.ignored_count
    bad = [
        replace(fix, fix=GpsFix.NONE),
        replace(fix, fix=GpsFix.TWO_D),
        replace(fix, latitude_deg=math.nan),
        replace(fix, latitude_deg=95.0),
        replace(fix, latitude_deg=-30.0),  # half the Earth away
        replace(fix, velocity_enu_mps=NAN_VECTOR),
        replace(fix, velocity_std_mps=math.inf),
        replace(fix, position_covariance_enu_m2=np.full((3, 3), math.nan)),
    ]
    for sample in bad:
        estimator.add(sample)
    assert estimator.ignored_count == ignored_count + len(bad)
    assert bits(estimator) == before


def test_samples_of_other_sensors_are_passed_over() -> None:
    estimator = Estimator(CONFIG)
    estimator.add(BatterySample(0, 0, 12.0, 1.0, 0.5))
    assert (estimator.ignored_count, estimator.late_count) == (0, 0)
