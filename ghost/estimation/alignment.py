"""The first belief, from a vehicle at rest: level by the accelerometer, heading by the compass,
place by GPS. Its covariance comes from the kernel's own updates, so it knows that a tilt error
and an accel bias explain each other.
"""

import math
from collections import deque
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ghost.core.exact import arctangent2, rotate, sine_cosine
from ghost.estimation import kernel
from ghost.estimation.config import EstimatorConfig
from ghost.estimation.measurements import Kind, Measurement
from ghost.hal.airframe import GRAVITY_MPS2

FloatArray = NDArray[np.float64]

_FASTEST_REST_RPS = 0.3
_STRONGEST_SHAKE_MPS2 = 2.0
_FIX_LIFETIME_NS = 10_000_000_000


class Alignment:
    """Gathers the last second or so, and starts anew whenever the vehicle moves."""

    def __init__(self, config: EstimatorConfig) -> None:
        self._config = config
        self._imu: deque[tuple[int, list[float]]] = deque()
        self._others: dict[Kind, deque[Measurement]] = {kind: deque(maxlen=50) for kind in Kind}

    @property
    def imu_period_ns(self) -> int:
        """The usual one, whatever was lost in between."""
        stamps_ns = [stamp_ns for stamp_ns, _ in self._imu]
        steps_ns = sorted(after - before for before, after in pairwise(stamps_ns))
        return steps_ns[len(steps_ns) // 2]

    @property
    def last_fix_ns(self) -> int:
        return max(fix.stamp_ns for fix in self._others[Kind.GPS])

    def add_imu(self, stamp_ns: int, reading: list[float]) -> None:
        ax, ay, az, gx, gy, gz = reading
        force_mps2 = math.sqrt(ax * ax + ay * ay + az * az)
        rate_rps = math.sqrt(gx * gx + gy * gy + gz * gz)
        is_moving = (
            abs(force_mps2 - GRAVITY_MPS2) > _STRONGEST_SHAKE_MPS2 or rate_rps > _FASTEST_REST_RPS
        )
        if is_moving or (self._imu and stamp_ns <= self._imu[-1][0]):
            self._imu.clear()
            for gathered in self._others.values():
                gathered.clear()
            return
        self._imu.append((stamp_ns, reading))
        # One sample longer than asked for, so that a full window spans it.
        while len(self._imu) > 2 and stamp_ns - self._imu[1][0] >= self._config.alignment_ns:
            self._imu.popleft()

    def add(self, measurement: Measurement) -> None:
        gathered = self._others[measurement.kind]
        gathered.append(measurement)
        while measurement.stamp_ns - gathered[0].stamp_ns > _FIX_LIFETIME_NS:
            gathered.popleft()

    def is_complete(self) -> bool:
        return (
            len(self._imu) > 2
            and self._imu[-1][0] - self._imu[0][0] >= self._config.alignment_ns
            and len(self._others[Kind.GPS]) >= self._config.alignment_fixes
            and len(self._others[Kind.MAGNETOMETER]) > 0
        )

    def write(self, beliefs: FloatArray, row: int) -> None:
        config, scratch = self._config, np.zeros((9, 18))
        reading = _mean(values for _, values in self._imu)
        field = _mean([*entry.values] for entry in self._others[Kind.MAGNETOMETER])
        fix = _mean([*entry.values] for entry in self._others[Kind.GPS])

        beliefs[row, :] = 0.0
        beliefs[row, 0:3] = fix[0:3]
        beliefs[row, 6:10] = _attitude(reading[0:3], field)
        beliefs[row, 10:13] = reading[3:6]
        for axis in range(3):
            kernel.forget(beliefs, row, axis, 1, fix[6 + axis] / len(self._others[Kind.GPS]))
        kernel.forget(beliefs, row, 3, 3, _square(config.initial_velocity_std_mps))
        kernel.forget(beliefs, row, 6, 3, 1.0)
        kernel.forget(beliefs, row, 9, 3, _square(config.initial_gyro_bias_rps))
        kernel.forget(beliefs, row, 12, 3, _square(config.initial_accel_bias_mps2))
        kernel.forget(beliefs, row, 15, 1, 1.0e6)
        imu = np.array([reading])
        span_s = (self._imu[-1][0] - self._imu[0][0]) / 1_000_000_000
        kernel.fuse_rest(
            beliefs,
            row,
            scratch,
            imu,
            0,
            _square(config.rest_accel_std_mps2) + _square(config.accel_noise) / span_s,
            _square(config.rest_gyro_std_rps) + _square(config.gyro_noise) / span_s,
        )
        kernel.fuse_heading(beliefs, row, scratch, np.array(field), 1.0e9)
        if self._others[Kind.BAROMETER]:
            height = _mean([*entry.values] for entry in self._others[Kind.BAROMETER])
            beliefs[row, 16] = height[0] - fix[2]
            kernel.fuse_height(beliefs, row, scratch, np.array(height), 1.0e9)


def _attitude(force: list[float], field: list[float]) -> tuple[float, float, float, float]:
    """The shortest turn that puts the force upright, then the one that puts the field north."""
    x, y, z = force
    length = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / length, y / length, z / length
    # Half way between the force and up is the axis of a half turn that swaps them.
    w = math.sqrt(0.5 * (1.0 + z)) if z > -0.999 else 0.0
    level = (w, 0.5 * y / w, -0.5 * x / w, 0.0) if w > 0.0 else (0.0, 1.0, 0.0, 0.0)
    east, north, _ = rotate(*level, field[0], field[1], field[2])
    turn_rad = arctangent2(east * field[4] - north * field[3], east * field[3] + north * field[4])
    sine, cosine = sine_cosine(0.5 * turn_rad)
    lw, lx, ly, _ = level
    return (
        cosine * lw,
        cosine * lx - sine * ly,
        cosine * ly + sine * lx,
        sine * lw,
    )


def _mean(rows: Iterable[list[float]]) -> list[float]:
    """By plain additions in order: numpy's and Python's sums differ between versions."""
    count = 0
    total: list[float] = []
    for row in rows:
        total = [a + b for a, b in zip(total, row, strict=True)] if count else row
        count += 1
    return [value / count for value in total]


def _square(value: float) -> float:
    return value * value
