"""A reference that moves in a straight line to a place: it gathers way, and has none left there."""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Glide:
    def __init__(
        self,
        start_m: FloatArray,
        target_m: FloatArray,
        *,
        velocity_mps: FloatArray,
        limit_mps: float,
        acceleration_mps2: float,
    ) -> None:
        way = target_m - start_m
        self.length_m = float(np.linalg.norm(way))
        self.target_m = target_m
        self.travelled_m = 0.0
        self._start_m = start_m
        self._direction = way / self.length_m if self.length_m > 0.0 else np.zeros(3)
        self._limit_mps = limit_mps
        self._acceleration_mps2 = acceleration_mps2
        self._speed_mps = min(max(float(velocity_mps @ self._direction), 0.0), limit_mps)

    @property
    def is_done(self) -> bool:
        return self.length_m - self.travelled_m < 0.02

    def step(self, step_s: float) -> tuple[FloatArray, FloatArray]:
        """Where the reference is after that time, and how it moves."""
        left_m = self.length_m - self.travelled_m
        brake_mps = math.sqrt(2.0 * self._acceleration_mps2 * max(left_m, 0.0))
        gained_mps = self._speed_mps + self._acceleration_mps2 * step_s
        self._speed_mps = min(gained_mps, self._limit_mps, brake_mps)
        self.travelled_m = min(self.travelled_m + self._speed_mps * step_s, self.length_m)
        if self.is_done:
            return self.target_m, np.zeros(3)
        place = self._start_m + self._direction * self.travelled_m
        return place, self._direction * self._speed_mps
