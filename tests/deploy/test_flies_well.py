"""How well it flies and how well it knows where it is, over seeds, by the logs of real flights.

Errors are of the true place, so most of them is what GPS is off by. A single flight may have a
bad one; bounds on all flights together are tight, those on each are what must never be passed.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.rotations import conjugate, multiply
from ghost.deploy import Flight, Result
from ghost.telemetry import LogReader
from tests.deploy.rig import fly, order

CALM_SEEDS = range(8)
GUSTY_SEEDS = range(4)
SETTLED_NS = 2_000_000_000

Fly = Callable[[str, int], Flight]


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Fly:
    """Of the square, flown once for all tests."""

    @cache
    def of(scenario: str, seed: int) -> Flight:
        out = tmp_path_factory.mktemp(scenario) / "run"
        return fly(order(out, mission="square", scenario=scenario, seed=seed))[1]

    return of


@pytest.mark.slow
def test_in_calm_air_the_square_is_held_within_0_3_m(flown: Fly) -> None:
    flights = [flown("calm", seed) for seed in CALM_SEEDS]
    assert {flight.outcome.result for flight in flights} == {Result.COMPLETED}
    assert rms([flight.summary.tracking_rms_m for flight in flights]) < 0.3
    assert max(flight.summary.tracking_rms_m for flight in flights) < 0.5
    assert max(flight.summary.tracking_max_m for flight in flights) < 1.0


@pytest.mark.slow
def test_in_gusts_it_stays_within_1_m(flown: Fly) -> None:
    flights = [flown("gusty", seed) for seed in GUSTY_SEEDS]
    assert {flight.outcome.result for flight in flights} == {Result.COMPLETED}
    assert max(flight.summary.tracking_max_m for flight in flights) < 1.0


@pytest.mark.slow
def test_it_lands_within_0_5_m(flown: Fly) -> None:
    flights = [flown("calm", seed) for seed in CALM_SEEDS]
    flights += [flown("gusty", seed) for seed in GUSTY_SEEDS]
    errors_m = [flight.summary.landing_error_m for flight in flights]
    landed_m = [error_m for error_m in errors_m if error_m is not None]
    assert len(landed_m) == len(flights)
    assert rms(landed_m) < 0.5
    assert max(landed_m) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("block", ["position", "velocity", "attitude"])
def test_errors_are_as_large_as_the_estimate_says(flown: Fly, block: str) -> None:
    """Normalised and squared they come to 3 on average, for three axes, if it is quite right."""
    means = [nees(flown("calm", seed).folder)[block] for seed in CALM_SEEDS]
    assert 0.5 < float(np.mean(means)) < 5.0


@cache
def nees(folder: Path) -> dict[str, float]:
    truths: dict[int, Any] = {}
    squares: dict[str, list[float]] = {"position": [], "velocity": [], "attitude": []}
    states: list[Any] = []
    for record in LogReader(folder).messages(["/groundtruth/state", "/state/vehicle"]):
        if record.channel.name == "/state/vehicle":
            states.append(record.message)
        else:
            truths[record.message.stamp_ns] = record.message
    for state in states:
        if state.stamp_ns < SETTLED_NS or state.stamp_ns not in truths:
            continue
        truth = truths[state.stamp_ns]
        position_m = truth.position_enu_m - state.position_enu_m
        velocity_mps = truth.velocity_enu_mps - state.velocity_enu_mps
        turn = multiply(conjugate(state.attitude), truth.attitude)
        turn_rad = 2.0 * np.sign(turn[0]) * turn[1:]
        squares["position"].append(square(position_m, state.position_covariance_m2))
        squares["velocity"].append(square(velocity_mps, state.velocity_covariance_m2ps2))
        squares["attitude"].append(square(turn_rad, state.attitude_covariance_rad2))
    assert len(squares["position"]) > 2000
    return {name: float(np.mean(values)) for name, values in squares.items()}


def square(error: NDArray[np.float64], covariance: NDArray[np.float64]) -> float:
    return float(error @ np.linalg.solve(covariance, error))


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
