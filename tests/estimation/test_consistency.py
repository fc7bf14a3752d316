"""Is the filter as good as it says? Errors over many flights, in units of its own covariance."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from ghost.estimation import Estimator, Ledger
from ghost.hal.samples import ImuSample
from ghost.hal.vehicle import EstimateHealth
from tests.estimation.flight import (
    CONFIG,
    FIELD_T,
    FloatArray,
    errors,
    flight,
    needs_compiled_kernel,
    run,
)

pytestmark = needs_compiled_kernel

SEEDS = range(24)
EPOCHS_S = (2, 6, 10, 15, 20, 25)
# The mean of chi-square of 3 x 24 and 9 x 24 degrees of freedom over the 24, two-sided 99.9 %.
BOUNDS_3 = (1.62, 4.93)
BOUNDS_9 = (6.42, 12.13)


BLOCKS = {
    "position": slice(0, 3),
    "velocity": slice(3, 6),
    "attitude": slice(6, 9),
    "gyro_bias": slice(9, 12),
    "accel_bias": slice(12, 15),
    "motion": slice(0, 9),
}


@dataclass(frozen=True)
class Flown:
    nees: FloatArray  # (seed, epoch, block)
    bias_errors: FloatArray  # (seed, gyro 3 accel 3)
    bias_stds: FloatArray
    ledgers: list[Ledger]
    verdicts: list[EstimateHealth]


@cache
def flown() -> Flown:
    nees, bias_errors, bias_stds, ledgers, verdicts = [], [], [], [], []
    for seed in SEEDS:
        made = flight(seed, EPOCHS_S[-1] + 0.5)
        estimator = Estimator(CONFIG)
        rows = []
        for _, sample in made.samples:
            estimator.add(sample)
            index = sample.sequence
            if (
                type(sample) is ImuSample
                and (index + 1) % 250 == 0
                and (index + 1) // 250 in EPOCHS_S
            ):
                nominal = estimator.nominal
                error = np.concatenate(
                    (
                        errors(estimator, made.path, index),
                        made.gyro_bias[index] - nominal[10:13],
                        made.accel_bias[index] - nominal[13:16],
                    )
                )
                rows.append(_nees(error, _covariance(estimator)))
        nees.append(rows)
        nominal = estimator.nominal
        bias_errors.append(
            np.concatenate(
                (nominal[10:13] - made.gyro_bias[-1], nominal[13:16] - made.accel_bias[-1])
            )
        )
        bias_stds.append(np.sqrt(np.diag(_covariance(estimator)))[9:15])
        ledgers.append(estimator.ledger)
        verdicts.append(estimator.verdict)
    return Flown(np.array(nees), np.array(bias_errors), np.array(bias_stds), ledgers, verdicts)


def _covariance(estimator: Estimator) -> FloatArray:
    return estimator._beliefs[estimator._track.live_row, 17:].reshape(16, 16)


def _nees(error: FloatArray, covariance: FloatArray) -> list[float]:
    return [
        float(error[block] @ np.linalg.solve(covariance[block, block], error[block]))
        for block in BLOCKS.values()
    ]


@pytest.mark.parametrize("epoch", range(len(EPOCHS_S)))
@pytest.mark.parametrize("block", BLOCKS)
def test_errors_are_as_large_as_the_covariance_says(block: str, epoch: int) -> None:
    low, high = BOUNDS_9 if block == "motion" else BOUNDS_3
    index = list(BLOCKS).index(block)
    assert low < float(np.mean(flown().nees[:, epoch, index])) < high


@pytest.mark.parametrize(
    ("sensor", "freedoms"),
    [("gps", 6), ("magnetometer", 1), ("barometer", 1), ("rangefinder", 1)],
)
def test_innovations_are_as_large_as_the_filter_expects(sensor: str, freedoms: int) -> None:
    """Within 99.9 % of chi-square over all flights, by its normal approximation."""
    tallies = [getattr(ledger, sensor) for ledger in flown().ledgers]
    count = freedoms * sum(tally.accepted for tally in tallies)
    mean = sum(tally.nis_total for tally in tallies) / count
    assert abs(mean - 1.0) < 3.29 * (2.0 / count) ** 0.5


def test_nothing_good_is_refused_and_every_verdict_is_good() -> None:
    for ledger in flown().ledgers:
        assert ledger.gps.rejected == ledger.magnetometer.rejected == ledger.barometer.rejected == 0
        assert ledger.gps_resets == 0
    assert set(flown().verdicts) == {EstimateHealth.GOOD}


def test_biases_are_found() -> None:
    """They start at 0.02 rad/s and 0.1 m/s2, one sigma."""
    found = flown()
    rms = np.sqrt(np.mean(found.bias_errors**2, axis=0))
    assert (rms[:3] < 0.001).all()
    assert (rms[3:] < 0.025).all()
    np.testing.assert_allclose(rms, np.mean(found.bias_stds, axis=0), rtol=0.5)


def test_a_wrong_dip_does_not_tilt_the_vehicle() -> None:
    """The same flight, in a field 20 degrees steeper than the estimator was told."""
    turn_rad = np.radians(20.0)
    horizontal, up = np.linalg.norm(FIELD_T[:2]), FIELD_T[2]
    steeper = np.cos(turn_rad) * horizontal + np.sin(turn_rad) * up
    field_t = np.array(
        [
            *(FIELD_T[:2] * steeper / horizontal),
            np.cos(turn_rad) * up - np.sin(turn_rad) * horizontal,
        ]
    )
    assert steeper > 0.0
    made = flight(1, 15.0, field_t)
    estimator = Estimator(CONFIG)
    run(estimator, made.samples, until_ns=15_000_000_000)
    assert estimator.ledger.magnetometer.rejected == 0
    error_rad = made.path.matrix[-1] @ errors(estimator, made.path, -1)[6:9]
    assert np.linalg.norm(error_rad[:2]) < 0.012
    assert abs(error_rad[2]) < 0.05


def test_the_same_samples_give_the_same_bits() -> None:
    made = flight(3, 8.0)
    first, second = Estimator(CONFIG), Estimator(CONFIG)
    run(first, made.samples)
    run(second, made.samples)
    assert first._beliefs.tobytes() == second._beliefs.tobytes()
    assert first.state(1) == second.state(1)
