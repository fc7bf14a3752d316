"""The estimator's own covariance explains how far it was from the truth.

The normalised squared error of 3 numbers is chi-squared with 3 degrees of freedom. Errors of
position, velocity and attitude change slowly: the mean over a short flight may be worth one draw,
so its bounds are those of one draw. Over a long flight they are generous.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.hal import EstimateHealth, Failsafe, GroundTruth, VehicleState, VehicleStatus
from ghost.verify.reading import STATE, STATUS, TRUTH
from ghost.verify.terms import Terms
from ghost.verify.verdict import Heard, Result, Verdict, skipped

FloatArray = NDArray[np.float64]

LEAST_MEAN, MOST_MEAN = 0.005, 21.1
"""One in 10,000 draws lies below, and one above."""
MOST_ONCE = 225.0
"""15 standard deviations. A GPS three times as noisy as it says gives 10."""

_NAMES = ("position", "velocity", "attitude")
_BATCH = 512


@dataclass(frozen=True, slots=True)
class _Pair:
    """An estimate with the truth of the same moment."""

    heard: Heard
    state: VehicleState
    truth: GroundTruth


class Consistency:
    """An estimate that says LOST claims nothing, if it was acted upon: a vehicle that flies on is
    judged, whatever the verdict says.
    """

    name = "estimate"

    def __init__(self, terms: Terms) -> None:
        self._is_embedded = terms.is_embedded
        self._heard: Heard | None = None
        self._status: VehicleStatus | None = None
        self._batch: list[_Pair] = []
        self._count = self._lost = 0
        self._sums = np.zeros(3)
        self._worst = np.zeros(3)
        self._worst_at: list[Heard | None] = [None, None, None]
        self._first: tuple[Heard, str] | None = None
        self._has_truth = False

    def wants(self, channel: str) -> bool:
        return self._is_embedded and channel in (STATE, STATUS, TRUTH)

    def hear(self, heard: Heard) -> None:
        if heard.channel == STATUS:
            self._status = heard.message
        elif heard.channel == STATE:
            self._heard = heard
        else:
            self._has_truth = True
            self._pair(heard.message)

    def verdict(self) -> Verdict:
        if not self._is_embedded:
            return skipped(self.name, "not the embedded estimator: its frame is not the truth's")
        self._judge()
        if not self._has_truth:
            return skipped(self.name, "the log holds no truth")
        if not self._count and self._first is None:
            return skipped(self.name, "no estimate has a truth of its own moment")
        if self._first is not None:
            return Verdict(self.name, Result.FAIL, self._first[1], self._first[0])
        means = (self._sums / self._count).tolist()
        told = ", ".join(f"{name} {mean:.2f}" for name, mean in zip(_NAMES, means, strict=True))
        for name, mean, worst in zip(_NAMES, means, self._worst_at, strict=True):
            if not LEAST_MEAN <= mean <= MOST_MEAN:
                text = f"mean error of {name} is {mean:.3g} of what its covariance says"
                text += f"; expected {LEAST_MEAN} to {MOST_MEAN}"
                return Verdict(self.name, Result.FAIL, text, worst)
        figure = (
            f"mean normalised squared error (3 is ideal): {told}; worst {self._worst.max():.1f}"
        )
        figure += f"; {self._count} estimates, {self._lost} LOST and left out"
        return Verdict(self.name, Result.PASS, figure)

    def _pair(self, truth: GroundTruth) -> None:
        heard = self._heard
        if heard is None or heard.message.stamp_ns != truth.stamp_ns:
            return
        state, status = heard.message, self._status
        flies_on = status is not None and status.armed and status.failsafe is Failsafe.NONE
        if state.verdict is EstimateHealth.LOST and not flies_on:
            self._lost += 1
            return
        self._batch.append(_Pair(heard, state, truth))
        if len(self._batch) >= _BATCH:
            self._judge()

    def _judge(self) -> None:
        pairs, self._batch = self._batch, []
        if not pairs:
            return
        errors, covariances = _errors(pairs), _covariances(pairs)
        wrong = _improper(covariances) | ~np.isfinite(errors).all(axis=2)
        covariances[wrong] = np.eye(3)
        errors[wrong] = 0.0
        squares = np.einsum(
            "nki,nki->nk", errors, np.linalg.solve(covariances, errors[..., None])[..., 0]
        )
        self._count += len(pairs)
        self._sums += squares.sum(axis=0)
        for group in range(3):
            row = int(squares[:, group].argmax())
            if self._worst_at[group] is None or squares[row, group] > self._worst[group]:
                self._worst[group] = squares[row, group]
                self._worst_at[group] = pairs[row].heard
        self._find_first(pairs, wrong, squares)

    def _find_first(
        self, pairs: list[_Pair], wrong: NDArray[np.bool_], squares: FloatArray
    ) -> None:
        offends = wrong | (squares > MOST_ONCE)
        if self._first is not None or not offends.any():
            return
        row = int(offends.any(axis=1).argmax())
        group = int(offends[row].argmax())
        if wrong[row, group]:
            text = f"{_NAMES[group]} has no covariance: not finite, symmetric and positive"
        else:
            sigmas = float(np.sqrt(squares[row, group]))
            text = f"{_NAMES[group]} is off by {sigmas:.1f} standard deviations; 15 is the limit"
        self._first = (pairs[row].heard, text)


def _errors(pairs: list[_Pair]) -> FloatArray:
    """A row per pair, in it a vector for each of the three."""
    errors = np.empty((len(pairs), 3, 3))
    for row, pair in zip(errors, pairs, strict=True):
        row[0] = pair.truth.position_enu_m - pair.state.position_enu_m
        row[1] = pair.truth.velocity_enu_mps - pair.state.velocity_enu_mps
    errors[:, 2] = _turns(
        np.array([pair.state.attitude for pair in pairs]),
        np.array([pair.truth.attitude for pair in pairs]),
    )
    return errors


def _turns(estimated: FloatArray, true: FloatArray) -> FloatArray:
    """The small rotation in the body frame from one attitude to the other."""
    scalar = (estimated * true).sum(axis=1)
    we, ve, wt, vt = estimated[:, :1], estimated[:, 1:], true[:, :1], true[:, 1:]
    vector = we * vt - wt * ve - np.cross(ve, vt)
    return np.asarray(2.0 * np.where(scalar < 0.0, -1.0, 1.0)[:, None] * vector)


def _covariances(pairs: list[_Pair]) -> FloatArray:
    return np.array(
        [
            (
                pair.state.position_covariance_m2,
                pair.state.velocity_covariance_m2ps2,
                pair.state.attitude_covariance_rad2,
            )
            for pair in pairs
        ]
    )


def _improper(covariances: FloatArray) -> NDArray[np.bool_]:
    """Which of them are none."""
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(covariances).all(axis=(2, 3)))
    safe = np.where(finite[..., None, None], covariances, np.eye(3))
    scale = np.abs(safe).max(axis=(2, 3))
    uneven = np.abs(safe - safe.swapaxes(2, 3)).max(axis=(2, 3)) > 1e-6 * scale
    positive = np.linalg.eigvalsh(safe)[..., 0] > 0.0
    return np.asarray(~finite | uneven | ~positive)
