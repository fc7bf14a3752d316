"""Where the vehicle was when a sensor looked, and so where in the world its points are.

A sample is late by its latency, and at 5 m/s a tenth of a second is half a metre. So the states
of the last second are kept, and a sample is placed by those around its stamp.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ghost.core import exact
from ghost.hal import EstimateHealth, Mount, Ranging, VehicleState
from ghost.hal.message import Points, Ranges

_KEPT_NS = 1_000_000_000
_WIDEST_GAP_NS = 200_000_000

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Posture:
    position_enu_m: Vector
    attitude: Quaternion
    attitude_std_rad: float


class History:
    """States in order of their stamps. A state that is LOST says nothing of where it is."""

    def __init__(self) -> None:
        self._states: deque[VehicleState] = deque()

    def add(self, state: VehicleState) -> None:
        states = self._states
        if state.verdict is EstimateHealth.LOST or self.reaches(state.stamp_ns):
            return
        states.append(state)
        while states[0].stamp_ns < state.stamp_ns - _KEPT_NS:
            states.popleft()

    def reaches(self, stamp_ns: int) -> bool:
        """Whether the state that follows stamp_ns is known already."""
        return bool(self._states) and self._states[-1].stamp_ns >= stamp_ns

    def at(self, stamp_ns: int) -> Posture | None:
        """Between the states around stamp_ns; None without them."""
        after: VehicleState | None = None
        for state in reversed(self._states):
            if state.stamp_ns == stamp_ns:
                return _posture(state, state, 0.0)
            if state.stamp_ns < stamp_ns:
                if after is None or after.stamp_ns - state.stamp_ns > _WIDEST_GAP_NS:
                    return None
                share = (stamp_ns - state.stamp_ns) / (after.stamp_ns - state.stamp_ns)
                return _posture(state, after, share)
            after = state
        return None


def placed(points_m: Ranges, mount: Mount, posture: Posture) -> Points:
    """From rows of x, y and z in the sensor's axes to a point a row in the world."""
    w, x, y, z = exact.multiply(*posture.attitude, *mount.attitude)
    offset = exact.rotate(*posture.attitude, *mount.position_flu_m)
    matrix = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    ahead, left, up = points_m
    world = np.empty((len(ahead), 3), np.float32)
    for axis, (by_x, by_y, by_z) in enumerate(matrix):
        from_m = posture.position_enu_m[axis] + offset[axis]
        world[:, axis] = ahead * by_x + left * by_y + up * by_z + from_m
    return world


def deviations(readings_m: Ranges, ranging: Ranging, attitude_std_rad: float) -> Ranges:
    """Of the reading, and of the attitude at the reading's distance."""
    of_reading_m = ranging.noise_m + ranging.noise_per_m2 * readings_m * readings_m
    of_attitude_m = attitude_std_rad * readings_m
    return np.sqrt(of_reading_m * of_reading_m + of_attitude_m * of_attitude_m)


def _posture(before: VehicleState, after: VehicleState, share: float) -> Posture:
    start, end = before.position_enu_m.tolist(), after.position_enu_m.tolist()
    variance_rad2 = after.attitude_covariance_rad2.diagonal().tolist()
    return Posture(
        (
            start[0] + share * (end[0] - start[0]),
            start[1] + share * (end[1] - start[1]),
            start[2] + share * (end[2] - start[2]),
        ),
        _between(before.attitude.tolist(), after.attitude.tolist(), share),
        math.sqrt(max(variance_rad2[0] + variance_rad2[1] + variance_rad2[2], 0.0)),
    )


def _between(start: list[float], end: list[float], share: float) -> Quaternion:
    """A straight line, brought back to unit length: within 20 ms as good as an arc."""
    cosine = start[0] * end[0] + start[1] * end[1] + start[2] * end[2] + start[3] * end[3]
    toward = share if cosine >= 0.0 else -share
    w, x, y, z = (
        (1.0 - share) * left + toward * right for left, right in zip(start, end, strict=True)
    )
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    return (w / norm, x / norm, y / norm, z / norm)
