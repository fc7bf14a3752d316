"""The estimator: samples in, in whatever order they arrive; the vehicle's state out.

The belief after every IMU sample of the last half second is kept. A measurement that arrives late
goes to its own place in time, and everything after it is computed again; so the result is, bit
for bit, that of a flight in which nothing was late.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.estimation import kernel
from ghost.estimation.alignment import Alignment
from ghost.estimation.config import EstimatorConfig
from ghost.estimation.ledger import Ledger
from ghost.estimation.measurements import Reader
from ghost.estimation.track import LATE, TAKEN, Track, is_sane
from ghost.estimation.verdict import judge, limits
from ghost.hal.message import sealed
from ghost.hal.samples import Health, ImuSample
from ghost.hal.vehicle import EstimateHealth, VehicleState

FloatArray = NDArray[np.float64]

_OFFLINE = Health.OFFLINE  # a lookup in an enum is slow
_VERDICTS: tuple[EstimateHealth, ...] = (EstimateHealth.LOST, *EstimateHealth)  # by number
_LOST = EstimateHealth.LOST
_RANGE_HOLDS_NS = 1_000_000_000
_LAST_NS = 1 << 62


class Estimator:
    """nominal is position ENU 3, velocity ENU 3, quaternion 4, gyro bias 3, accel bias 3 and baro
    bias 1. It, rate_flu_rps and acceleration_enu_mps2 are views that each add() brings up to date.
    """

    def __init__(self, config: EstimatorConfig) -> None:
        self.config = config
        self.ready = False
        self.ignored_count = 0  # offline, not finite or of no use
        self.late_count = 0  # older than the buffer, twice the same, or from far ahead
        self._reader = Reader(config)
        self._alignment = Alignment(config)
        self._limits = limits(config)
        self._covariances = np.zeros(27)
        self._output = np.zeros(27)
        self._output[6] = 1.0
        readable = self._output.view()
        readable.flags.writeable = False
        self.nominal: FloatArray = readable[:17]
        self.rate_flu_rps: FloatArray = readable[17:20]
        self.acceleration_enu_mps2: FloatArray = readable[20:23]
        self._stamp_ns = self._now_ns = 0
        self._track = self._begin(2, 1)

    @property
    def stamp_ns(self) -> int:
        """The moment that the state is of."""
        return self._track.stamp_ns if self.ready else self._stamp_ns

    @property
    def ledger(self) -> Ledger:
        return Ledger.read(*self._track.books())

    @property
    def verdict(self) -> EstimateHealth:
        if not self.ready:
            return _LOST
        track = self._track
        return _VERDICTS[judge(self._output, self._limits, track.gps_age_ns(), track.imu_age_ns())]

    @property
    def imu_age_ns(self) -> int:
        """How long ago the newest good IMU sample was taken."""
        return self._track.imu_age_ns() if self.ready else self._now_ns

    def state(self, sequence: int) -> VehicleState:
        """With the filter's own covariances, and the constant errors that it can't see: of GPS, of
        the compass.
        """
        config, stamp_ns = self.config, self.stamp_ns
        offset_m, turn_rad, height_m = config.gps_offset_std_m, config.heading_offset_std_rad, 0.0
        if stamp_ns - self._track.ranged_ns() > _RANGE_HOLDS_NS:
            height_m = config.gps_height_offset_std_m
        kernel.spread(
            self._beliefs,
            self._track.live_row,
            offset_m * offset_m,
            height_m * height_m,
            turn_rad * turn_rad,
            self._covariances,
        )
        told, spread = sealed(self._output), sealed(self._covariances).reshape(3, 3, 3)
        return VehicleState(
            stamp_ns=stamp_ns,
            sequence=sequence,
            position_enu_m=told[0:3],
            velocity_enu_mps=told[3:6],
            attitude=told[6:10],
            rate_flu_rps=told[17:20],
            acceleration_enu_mps2=told[20:23],
            gyro_bias_flu_rps=told[10:13],
            accel_bias_flu_mps2=told[13:16],
            position_covariance_m2=spread[0],
            velocity_covariance_m2ps2=spread[1],
            attitude_covariance_rad2=spread[2],
            verdict=self.verdict,
        )

    def add(self, sample: Any) -> None:
        """Any sample; those of other sensors are passed over."""
        if type(sample) is ImuSample:
            self._add_imu(sample)
            return
        if not self._reader.knows(sample):
            return
        measurement = self._reader.read(sample)
        if measurement is None:
            self.ignored_count += 1
        elif not self.ready:
            self._alignment.add(measurement)
        elif not abs(measurement.stamp_ns) < _LAST_NS or self._track.add(*measurement) == LATE:
            self.late_count += 1

    def advance_to(self, now_ns: int) -> None:
        """Say what time it is. Without this, time is that of the newest sample; with it, the state
        is carried on to now by the last IMU sample, and a dead IMU is noticed.
        """
        self._now_ns = now_ns
        if self.ready:
            self._track.advance_to(now_ns)

    def _add_imu(self, sample: ImuSample) -> None:
        if sample.health is _OFFLINE:
            self.ignored_count += 1
        elif not self.ready:
            self._align(sample)
        elif not abs(sample.stamp_ns) < _LAST_NS:
            self.late_count += 1
        else:
            fate = self._track.add_imu(sample.stamp_ns, sample.accel_flu_mps2, sample.gyro_flu_rps)
            if fate == LATE:
                self.late_count += 1
            elif fate != TAKEN:
                self.ignored_count += 1

    def _align(self, sample: ImuSample) -> None:
        stamp_ns, accel, gyro = sample.stamp_ns, sample.accel_flu_mps2, sample.gyro_flu_rps
        if not is_sane(accel, gyro):
            self.ignored_count += 1
            return
        reading = [*accel.tolist(), *gyro.tolist()]
        self._alignment.add_imu(stamp_ns, reading)
        self._stamp_ns = stamp_ns
        if not self._alignment.is_complete():
            return
        period_ns = self._alignment.imu_period_ns
        self._track = self._begin(self.config.buffer_ns // period_ns + 2, period_ns)
        self._alignment.write(self._beliefs, 0)
        self._imu[0] = reading
        self._track.start(stamp_ns, self._alignment.last_fix_ns, self._now_ns)
        self.ready = True

    def _begin(self, capacity: int, period_ns: int) -> Track:
        """One row per IMU sample, and one more for the state between samples."""
        self._beliefs = np.zeros((capacity + 1, 273))
        self._beliefs[:, 6] = 1.0
        for axis in range(16):
            kernel.forget(self._beliefs, 0, axis, 1, 1.0e6)
        self._imu = np.zeros((capacity + 1, 6))
        return Track(self.config, self._beliefs, self._imu, self._output, period_ns)
