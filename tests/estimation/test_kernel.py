"""The kernel against textbook matrices, and compiled against interpreted."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.random import RandomSource
from ghost.estimation import kernel
from tests.estimation.flight import FloatArray, matrix_of

WEIGHT = np.array([[0.0, 0.0, 9.8, 0.0, 0.0, 0.0]])
NOISE = np.array([4e-4, 1e-6, 1e-8, 4e-6, 2.5e-3])


ATTITUDE = np.array([0.9, 0.2, -0.25, 0.3]) / np.linalg.norm([0.9, 0.2, -0.25, 0.3])
# Seen just as expected, from there: off it, the tilt's part of the Jacobian is approximate.
FIELD = np.array([*(matrix_of(ATTITUDE).T @ [1.2e-5, 1.6e-5, -4e-5]), 0.6, 0.8, 1e-12])


def interpreted() -> Any:
    source = Path(kernel.__file__).with_name("kernel.py")
    spec = importlib.util.spec_from_file_location("interpreted_kernel", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def belief(random: RandomSource) -> FloatArray:
    """Some state, with some full covariance."""
    row = np.zeros(273)
    row[:17] = random.normal(17)
    row[10:16] *= 0.01
    row[6:10] /= np.linalg.norm(row[6:10])
    root = (
        random.normal((16, 16))
        * np.repeat([1.0, 0.3, 0.02, 0.001, 0.05, 1.0], [3, 3, 3, 3, 3, 1])[:, None]
    )
    row[17:] = (root @ root.T).ravel()
    return row


def covariance(row: FloatArray) -> FloatArray:
    return row[17:].reshape(16, 16).copy()


def skew(vector: FloatArray) -> FloatArray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def exercise(module: Any) -> bytes:
    """Every function, one after the other, on the same numbers."""
    random = RandomSource(7)
    beliefs, scratch = np.zeros((3, 273)), np.zeros((9, 18))
    output, spread = np.zeros(27), np.zeros(27)
    beliefs[0] = belief(random)
    seen = b""
    for step in range(40):
        source, target = step % 3, (step + 1) % 3
        imu = random.normal((1, 6)) + WEIGHT
        module.predict(beliefs, source, target, imu, 0, NOISE, 0.004, 0.001 * step, 1e-6)
        near = beliefs[target, :6] + random.normal(6)
        answers = [
            module.fuse_gps(beliefs, target, scratch, np.concatenate((near, np.ones(6))), 5.0),
            module.fuse_heading(
                beliefs, target, scratch, np.array([2e-5, 1e-6, -4e-5, 0.1, 0.995, 4e-12]), 50.0
            ),
            module.fuse_height(beliefs, target, scratch, np.array([1.0, 0.1]), 5.0),
            module.fuse_range(beliefs, target, scratch, np.array([2.0, 0.0, 0.1, -1.0]), 5.0),
        ]
        if step % 13 == 5:
            answers.append(module.fuse_rest(beliefs, target, scratch, imu, 0, 0.1, 0.01))
            module.forget(beliefs, target, 3, 2, 4.0)
        module.read_out(beliefs, target, imu, 0, output)
        module.spread(beliefs, target, 0.04, 0.09, 0.0004, spread)
        seen += (
            beliefs.tobytes() + output.tobytes() + spread.tobytes() + np.array(answers).tobytes()
        )
    return seen


def test_compiled_and_interpreted_are_the_same_bits() -> None:
    assert exercise(kernel) == exercise(interpreted())


@pytest.mark.parametrize("seed", range(5))
def test_prediction_is_that_of_the_textbook(seed: int) -> None:
    random = RandomSource(seed)
    beliefs = np.stack((belief(random), np.zeros(273)))
    imu = random.normal((1, 6)) + WEIGHT
    dt_s = 0.004
    matrix = matrix_of(beliefs[0, 6:10])
    force, rate = imu[0, :3] - beliefs[0, 13:16], imu[0, 3:] - beliefs[0, 10:13]
    change = np.zeros((16, 16))
    change[0:3, 3:6] = np.eye(3)
    change[3:6, 6:9] = -matrix @ skew(force)
    change[3:6, 12:15] = -matrix
    change[6:9, 6:9] = -skew(rate)
    change[6:9, 9:12] = -np.eye(3)
    step = np.eye(16) + change * dt_s + change @ change * (0.5 * dt_s**2)
    spread = np.repeat([0.0, *NOISE], [3, 3, 3, 3, 3, 1]) * dt_s
    expected = step @ covariance(beliefs[0]) @ step.T + np.diag(spread)

    kernel.predict(beliefs, 0, 1, imu, 0, NOISE, dt_s, 0.0, 0.0)
    np.testing.assert_allclose(covariance(beliefs[1]), expected, rtol=0, atol=2e-4)
    np.testing.assert_allclose(
        beliefs[1, 3:6] - beliefs[0, 3:6],
        dt_s * (matrix @ force - [0.0, 0.0, 9.80665]),
        rtol=0,
        atol=1e-3,
    )
    turn = matrix.T @ matrix_of(beliefs[1, 6:10])
    np.testing.assert_allclose(turn, np.eye(3) + skew(rate) * dt_s, rtol=0, atol=1e-4)


def test_prediction_in_many_small_steps_is_prediction_in_one() -> None:
    """Constant force and rate in the body have a closed form; steps must converge to it."""
    beliefs = np.zeros((2, 273))
    beliefs[:, 6] = 1.0
    imu = np.array([[0.5, -0.3, 9.9, 0.4, -0.2, 0.9]])
    for _ in range(250):
        kernel.predict(beliefs, 0, 0, imu, 0, NOISE, 0.004, 0.0, 0.0)
    for _ in range(25_000):
        kernel.predict(beliefs, 1, 1, imu, 0, NOISE, 0.000_04, 0.0, 0.0)
    np.testing.assert_allclose(beliefs[0, :10], beliefs[1, :10], rtol=0, atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_an_update_is_that_of_the_textbook(seed: int) -> None:
    random = RandomSource(seed)
    beliefs, scratch = belief(random)[None], np.zeros((9, 18))
    prior, before = covariance(beliefs[0]), beliefs[0].copy()
    scratch[:3, :16], scratch[:3, 16] = random.normal((3, 16)), 0.01 * random.normal(3)
    scratch[:3, 17] = 0.5
    jacobian, residual = scratch[:3, :16].copy(), scratch[:3, 16].copy()
    innovation = jacobian @ prior @ jacobian.T + 0.5 * np.eye(3)
    gain = prior @ jacobian.T @ np.linalg.inv(innovation)
    correction = gain @ residual
    reset = np.eye(16)
    reset[6:9, 6:9] -= 0.5 * skew(correction[6:9])
    posterior = reset @ (prior - gain @ innovation @ gain.T) @ reset.T

    nis = kernel.update(beliefs, 0, scratch, 3, 5.0, 0)
    assert nis == pytest.approx(residual @ np.linalg.solve(innovation, residual))
    np.testing.assert_allclose(covariance(beliefs[0]), posterior, rtol=0, atol=1e-10)
    np.testing.assert_allclose(beliefs[0, :6] - before[:6], correction[:6], rtol=0, atol=1e-12)
    np.testing.assert_allclose(beliefs[0, 10:17] - before[10:17], correction[9:], atol=1e-12)
    turn = matrix_of(before[6:10]).T @ matrix_of(beliefs[0, 6:10])
    np.testing.assert_allclose(turn, np.eye(3) + skew(correction[6:9]), rtol=0, atol=1e-3)


def moved(row: FloatArray, axis: int, by: float) -> FloatArray:
    """The state with one element of its error changed."""
    changed = row.copy()
    if axis < 6 or axis > 8:
        changed[axis if axis < 6 else axis + 1] += by
        return changed
    w, x, y, z = row[6:10]
    half = 0.5 * by
    columns = ((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))
    changed[6:10] += half * np.array(columns[axis - 6])
    changed[6:10] /= np.linalg.norm(changed[6:10])
    return changed


@pytest.mark.parametrize(
    ("fuse", "count", "measured"),
    [
        (kernel.fuse_gps, 6, np.arange(1.0, 13.0)),
        (kernel.fuse_heading, 1, FIELD),
        (kernel.fuse_height, 1, np.array([3.0, 0.1])),
        (kernel.fuse_range, 1, np.array([3.0, -4.0, 0.1, -1.0])),
    ],
)
def test_jacobians_are_the_derivatives_of_their_residuals(
    fuse: Any, count: int, measured: FloatArray
) -> None:
    row, scratch = belief(RandomSource(11)), np.zeros((9, 18))
    row[6:10] = ATTITUDE
    shut = 0.0  # a gate that lets nothing in: only the rows are made
    fuse(row[None].copy(), 0, scratch, measured, shut)
    jacobian = scratch[:count, :16].copy()
    for axis in range(16):
        residuals = []
        for by in (1e-6, -1e-6):
            fuse(moved(row, axis, by)[None], 0, scratch, measured, shut)
            residuals.append(scratch[:count, 16].copy())
        slope = (residuals[1] - residuals[0]) / 2e-6
        np.testing.assert_allclose(jacobian[:, axis], slope, rtol=0, atol=1e-6)


def test_a_refused_update_changes_nothing() -> None:
    beliefs, scratch = belief(RandomSource(1))[None], np.zeros((9, 18))
    before = beliefs.tobytes()
    for far in (50.0, np.nan, np.inf):
        measured = np.array([*beliefs[0, :5], beliefs[0, 5] + far, *[1e-4] * 6])
        assert kernel.fuse_gps(beliefs, 0, scratch, measured, 5.0) == -1.0
        assert beliefs.tobytes() == before


def test_a_covariance_stays_symmetric_and_positive_over_thousands_of_steps() -> None:
    random = RandomSource(2)
    beliefs, scratch = belief(random)[None], np.zeros((9, 18))
    imu = np.zeros((1, 6))
    for step in range(20_000):
        imu[0] = [0.2, -0.1, 9.9, 0.5, -0.8, 1.5]
        imu[0] += 0.1 * random.normal(6)
        kernel.predict(beliefs, 0, 0, imu, 0, NOISE, 0.004, 0.0, 0.0)
        if step % 3 == 0:
            # Far more exact than any sensor, which is what breaks a covariance.
            measured = np.array([*beliefs[0, :6], *[1e-10] * 6])
            kernel.fuse_gps(beliefs, 0, scratch, measured, 5.0)
            measured = np.array([beliefs[0, 2] + beliefs[0, 16], 1e-10])
            kernel.fuse_height(beliefs, 0, scratch, measured, 5.0)
    final = covariance(beliefs[0])
    np.testing.assert_array_equal(final, final.T)
    scale = 1.0 / np.sqrt(np.diag(final))
    assert np.linalg.eigvalsh(final * scale * scale[:, None]).min() > 1e-9
    assert np.linalg.norm(beliefs[0, 6:10]) == pytest.approx(1.0, abs=1e-12)
