"""From samples to what the kernel fuses: in local coordinates, with variances, checked once."""

import math
from enum import IntEnum
from typing import Any, NamedTuple

from ghost.core.earth import altitude_m, magnetic_field_enu_t
from ghost.core.exact import sine_cosine
from ghost.core.frames import Geodetic, LocalFrame
from ghost.estimation.config import EstimatorConfig
from ghost.hal.samples import (
    BarometerSample,
    GpsFix,
    GpsSample,
    Health,
    MagnetometerSample,
    RangefinderSample,
)

_USEFUL_FIXES = (GpsFix.THREE_D, GpsFix.DIFFERENTIAL, GpsFix.RTK_FLOAT, GpsFix.RTK_FIXED)
_FURTHEST_M = 1.0e6
_FASTEST_MPS = 1.0e3


class Kind(IntEnum):
    """In this order where stamps are equal."""

    GPS = 0
    MAGNETOMETER = 1
    BAROMETER = 2
    RANGEFINDER = 3


# A lookup in an enum is slow.
_GPS, _MAGNETOMETER, _BAROMETER, _RANGEFINDER = Kind
_OFFLINE = Health.OFFLINE


class Measurement(NamedTuple):
    """values are what the kernel's fuse function of this kind takes."""

    stamp_ns: int
    kind: Kind
    sequence: int
    values: tuple[float, ...]


class Reader:
    """Reads samples at one place on Earth."""

    def __init__(self, config: EstimatorConfig) -> None:
        self._config = config
        self._place = LocalFrame(config.origin)
        east_t, north_t, up_t = config.magnetic_field_enu_t or magnetic_field_enu_t(config.origin)
        horizontal_t = math.sqrt(east_t * east_t + north_t * north_t)
        self._field_direction = (east_t / horizontal_t, north_t / horizontal_t)
        self._field_variance = config.magnetometer_std_t * config.magnetometer_std_t
        self._field_square = horizontal_t * horizontal_t + up_t * up_t
        self._smallest_cosine = sine_cosine(config.rangefinder_max_tilt_rad)[1]
        self._readers: dict[type, Any] = {
            GpsSample: self._gps,
            MagnetometerSample: self._magnetometer,
            BarometerSample: self._barometer,
            RangefinderSample: self._rangefinder,
        }

    def knows(self, sample: object) -> bool:
        return type(sample) in self._readers

    def read(self, sample: Any) -> Measurement | None:
        """None where it says nothing that can be used."""
        if sample.health is _OFFLINE:
            return None
        measurement: Measurement | None = self._readers[type(sample)](sample)
        return measurement

    def _gps(self, sample: GpsSample) -> Measurement | None:
        degrees = (sample.latitude_deg, sample.longitude_deg, sample.altitude_m)
        velocity = sample.velocity_enu_mps.tolist()
        spread = [sample.position_covariance_enu_m2.item(axis, axis) for axis in range(3)]
        if sample.fix not in _USEFUL_FIXES or not _all_within(degrees, _FURTHEST_M):
            return None
        if not _all_within(velocity, _FASTEST_MPS):
            return None
        if not _all_within((*spread, sample.velocity_std_mps), _FURTHEST_M):
            return None
        if not (abs(degrees[0]) <= 90.0 and abs(degrees[1]) <= 180.0 and degrees[2] > -1.0e5):
            return None
        position = self._place.to_enu_m(Geodetic(*degrees)).tolist()
        if not _all_within(position, _FURTHEST_M):
            return None
        position_floor = self._config.gps_position_floor_m * self._config.gps_position_floor_m
        velocity_std = max(sample.velocity_std_mps, self._config.gps_velocity_floor_mps)
        return Measurement(
            sample.stamp_ns,
            _GPS,
            sample.sequence,
            (
                *position,
                *velocity,
                *(max(variance, position_floor) for variance in spread),
                *[velocity_std * velocity_std] * 3,
            ),
        )

    def _magnetometer(self, sample: MagnetometerSample) -> Measurement | None:
        x, y, z = sample.field_flu_t.tolist()
        strength = (x * x + y * y + z * z) / self._field_square
        # Beyond twice or below half the Earth's field it is something else's. NaN fails it.
        if not 0.25 < strength < 4.0:
            return None
        return Measurement(
            sample.stamp_ns,
            _MAGNETOMETER,
            sample.sequence,
            (x, y, z, *self._field_direction, self._field_variance),
        )

    def _barometer(self, sample: BarometerSample) -> Measurement | None:
        if not 1.0e4 < sample.pressure_pa < 1.2e5:
            return None
        height_m = altitude_m(sample.pressure_pa) - self._place.origin.altitude_m
        std_m = self._config.barometer_std_m
        return Measurement(
            sample.stamp_ns,
            _BAROMETER,
            sample.sequence,
            (height_m, std_m * std_m),
        )

    def _rangefinder(self, sample: RangefinderSample) -> Measurement | None:
        config, ground_m = self._config, self._config.ground_height_enu_m
        if ground_m is None:
            return None
        if not config.rangefinder_min_m < sample.range_m < config.rangefinder_max_m:
            return None
        std_m = config.rangefinder_std_m
        return Measurement(
            sample.stamp_ns,
            _RANGEFINDER,
            sample.sequence,
            (
                sample.range_m + config.rangefinder_below_m,
                ground_m,
                std_m * std_m,
                self._smallest_cosine,
            ),
        )


def _all_within(values: Any, limit: float) -> bool:
    """False for NaN, too."""
    return all(-limit < value < limit for value in values)
