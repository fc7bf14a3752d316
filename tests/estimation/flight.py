"""A flight to estimate, made by numpy alone from formulas: it shares no code with the filter."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.earth import pressure_pa
from ghost.core.frames import LocalFrame
from ghost.core.random import RandomSource
from ghost.estimation import Estimator, EstimatorConfig, kernel
from ghost.hal.samples import (
    BarometerSample,
    GpsSample,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
)
from ghost.hal.scenario import ZURICH

FloatArray = NDArray[Any]

needs_compiled_kernel = pytest.mark.skipif(
    str(kernel.__file__).endswith(".py"), reason="takes minutes with an interpreted kernel"
)

IMU_NS = 4_000_000
GPS_LATENCY_NS = 120_000_000
FIELD_T = np.array([1.2e-6, 21.4e-6, -43.0e-6])
CONFIG = EstimatorConfig(origin=ZURICH, magnetic_field_enu_t=(1.2e-6, 21.4e-6, -43.0e-6))
GPS_STD = np.array([0.5, 0.5, 0.8, 0.1, 0.1, 0.1])
GRAVITY = np.array([0.0, 0.0, 9.80665])
REST = np.array([0.0, 0.0, 0.2])
_PLACE = LocalFrame(ZURICH)


@dataclass(frozen=True)
class Path:
    """The truth at each IMU stamp, and the mean force and rate of the interval before it."""

    position: FloatArray
    velocity: FloatArray
    matrix: FloatArray
    force: FloatArray
    rate: FloatArray


@dataclass(frozen=True)
class Flight:
    """samples are in order of arrival, each with the moment of it."""

    path: Path
    samples: list[tuple[int, Any]]
    accel_bias: FloatArray
    gyro_bias: FloatArray


@cache
def path(duration_s: float) -> Path:
    """At rest for 2.5 s, then figures in the air that turn, climb, roll and pitch."""
    count = round(duration_s * 1e9 / IMU_NS)
    stamps_s = np.arange(count + 1) * (IMU_NS / 1e9)
    fractions = (np.arange(8) + 0.5) / 8.0
    inside_s = stamps_s[:-1, None] + fractions * (IMU_NS / 1e9)
    acceleration = _derivative(_velocity, inside_s)
    felt = np.einsum("ntji,ntj->nti", _matrix(inside_s), acceleration + GRAVITY)
    matrix = _matrix(stamps_s)
    turn = np.einsum("nji,njk->nik", matrix[:-1], matrix[1:])
    skew = 0.5 * (turn - np.swapaxes(turn, 1, 2))
    sine = np.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), axis=-1)
    length = np.linalg.norm(sine, axis=-1, keepdims=True)
    angle = np.where(length > 1e-12, np.arcsin(length) / np.maximum(length, 1e-12), 1.0)
    return Path(
        _position(stamps_s)[1:],
        _velocity(stamps_s)[1:],
        matrix[1:],
        felt.mean(axis=1),
        sine * angle / (IMU_NS / 1e9),
    )


def flight(seed: int, duration_s: float, field_t: FloatArray = FIELD_T) -> Flight:
    """With the noises that CONFIG expects."""
    truth = path(duration_s)
    source = RandomSource(seed)
    count = len(truth.position)
    dt_s = IMU_NS / 1e9
    walk = source.child("walk").normal((count, 7)) * np.sqrt(dt_s)
    accel_bias = 0.1 * source.child("accel_bias").normal(3) + CONFIG.accel_walk * np.cumsum(
        walk[:, :3], axis=0
    )
    gyro_bias = 0.02 * source.child("gyro_bias").normal(3) + CONFIG.gyro_walk * np.cumsum(
        walk[:, 3:6], axis=0
    )
    baro_bias = 5.0 * source.child("baro_bias").normal() + CONFIG.barometer_walk * np.cumsum(
        walk[:, 6]
    )
    white = source.child("white").normal((count, 6)) / np.sqrt(dt_s)
    force = truth.force + accel_bias + CONFIG.accel_noise * white[:, :3]
    rate = truth.rate + gyro_bias + CONFIG.gyro_noise * white[:, 3:]
    gps, magnetometer = source.child("gps"), source.child("magnetometer")
    barometer, rangefinder = source.child("barometer"), source.child("rangefinder")
    spread = np.diag(GPS_STD[:3] ** 2)
    samples: list[tuple[int, Any]] = []
    for index in range(count):
        stamp_ns = (index + 1) * IMU_NS
        samples.append((stamp_ns, ImuSample(stamp_ns, index, force[index], rate[index])))
        position, matrix = truth.position[index], truth.matrix[index]
        if index % 50 == 7:
            error = GPS_STD * gps.normal(6)
            place = _PLACE.to_geodetic(position + error[:3])
            fix = GpsSample(
                stamp_ns,
                index,
                place.latitude_deg,
                place.longitude_deg,
                place.altitude_m,
                truth.velocity[index] + error[3:],
                spread,
                0.1,
                14,
            )
            samples.append((stamp_ns + GPS_LATENCY_NS, fix))
        if index % 5 == 3:
            seen = matrix.T @ field_t + CONFIG.magnetometer_std_t * magnetometer.normal(3)
            samples.append((stamp_ns, MagnetometerSample(stamp_ns, index, seen)))
        if index % 10 == 4:
            height_m = position[2] + baro_bias[index] + CONFIG.barometer_std_m * barometer.normal()
            pressure = pressure_pa(ZURICH.altitude_m + float(height_m))
            samples.append((stamp_ns, BarometerSample(stamp_ns, index, pressure, 25.0)))
        if index % 12 == 6:
            range_m = position[2] / matrix[2, 2] + CONFIG.rangefinder_std_m * rangefinder.normal()
            samples.append((stamp_ns, RangefinderSample(stamp_ns, index, float(range_m))))
    samples.sort(key=lambda entry: entry[0])
    return Flight(truth, samples, accel_bias, gyro_bias)


def run(estimator: Estimator, samples: list[tuple[int, Any]], until_ns: int | None = None) -> None:
    for arrival_ns, sample in samples:
        if until_ns is None or arrival_ns <= until_ns:
            estimator.add(sample)


def bits(estimator: Estimator) -> tuple[Any, ...]:
    """Everything that an estimate is."""
    row = estimator._beliefs[estimator._track.live_row]
    return row.tobytes(), estimator._output.tobytes(), estimator.stamp_ns, estimator.ledger


def matrix_of(quaternion: FloatArray) -> FloatArray:
    w, x, y, z = quaternion
    vector = np.array([x, y, z])
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    made: FloatArray = (w * w - vector @ vector) * np.eye(3) + 2.0 * (
        np.outer(vector, vector) + w * skew
    )
    return made


def errors(estimator: Estimator, truth: Path, index: int) -> FloatArray:
    """Truth less estimate: position, velocity, and the rotation between them in the body."""
    nominal = estimator.nominal
    turn = matrix_of(nominal[6:10]).T @ truth.matrix[index]
    rotation = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    return np.concatenate(
        (truth.position[index] - nominal[:3], truth.velocity[index] - nominal[3:6], rotation)
    )


def _position(at_s: FloatArray) -> FloatArray:
    share = np.clip((at_s - 2.5) / 4.0, 0.0, 1.0)
    share = share**4 * (35.0 - 84.0 * share + 70.0 * share**2 - 20.0 * share**3)
    figure = (
        12.0 * np.sin(0.5 * at_s),
        9.0 * np.sin(0.8 * at_s + 0.4),
        6.0 + 2.5 * np.sin(0.6 * at_s),
    )
    made: FloatArray = np.stack([share * part for part in figure], axis=-1) + REST
    return made


def _velocity(at_s: FloatArray) -> FloatArray:
    return _derivative(_position, at_s)


def _derivative(function: Any, at_s: FloatArray) -> FloatArray:
    step_s = 1e-3
    near = function(at_s + step_s) - function(at_s - step_s)
    far = function(at_s + 2.0 * step_s) - function(at_s - 2.0 * step_s)
    made: FloatArray = (8.0 * near - far) / (12.0 * step_s)
    return made


def _matrix(at_s: FloatArray) -> FloatArray:
    share = np.clip((at_s - 2.5) / 4.0, 0.0, 1.0)
    share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    roll, pitch = 0.25 * share * np.sin(1.3 * at_s), 0.3 * share * np.sin(0.9 * at_s + 1.0)
    yaw = 0.7 + share * (0.3 * (at_s - 2.5) + 0.8 * np.sin(0.4 * at_s))
    (sr, cr), (sp, cp), (sy, cy) = ((np.sin(a), np.cos(a)) for a in (roll, pitch, yaw))
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
