"""The estimator: samples in, in whatever order they arrive; the vehicle's state out.

The belief after every IMU sample of the last half second is kept. A measurement that arrives late
goes to its own place in time, and everything after it is computed again; so the result is, bit
for bit, that of a flight in which nothing was late.
"""

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core.exact import rotate
from ghost.estimation import kernel
from ghost.estimation.alignment import Alignment
from ghost.estimation.config import EstimatorConfig
from ghost.estimation.ledger import Ledger
from ghost.estimation.measurements import Kind, Measurement, Reader
from ghost.estimation.verdict import judge
from ghost.hal.airframe import GRAVITY_MPS2
from ghost.hal.samples import Health, ImuSample
from ghost.hal.vehicle import EstimateHealth, VehicleState

FloatArray = NDArray[np.float64]

_FUSE = (kernel.fuse_gps, kernel.fuse_heading, kernel.fuse_height, kernel.fuse_range)
_NO_GATE = 1.0e9
_SMALLEST_REFUSED_COUNT = 5
_RANGE_HOLDS_NS = 1_000_000_000
_HELD_STEP_NS = 20_000_000
_LONGEST_BRIDGE_NS = 1_000_000_000
_LONGEST_TURN_S = 0.5
_LARGEST_ACCEL_MPS2 = 2000.0
_LARGEST_RATE_RPS = 200.0


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
        self._noise = np.array(
            [
                density * density
                for density in (
                    config.accel_noise,
                    config.gyro_noise,
                    config.gyro_walk,
                    config.accel_walk,
                    config.barometer_walk,
                )
            ]
        )
        self._gates = (
            config.gps_gate,
            config.magnetometer_gate,
            config.barometer_gate,
            config.rangefinder_gate,
        )
        self._scratch = np.zeros((9, 18))
        self._output = np.zeros(27)
        self._output[6] = 1.0
        readable = self._output.view()
        readable.flags.writeable = False
        self.nominal: FloatArray = readable[:17]
        self.rate_flu_rps: FloatArray = readable[17:20]
        self.acceleration_enu_mps2: FloatArray = readable[20:23]
        self._seen_ns = 0
        self._now_ns = 0
        self._stamp_ns = 0
        self._head = 0
        self._allocate(2)

    @property
    def stamp_ns(self) -> int:
        """The moment that the state is of."""
        return self._stamp_ns

    @property
    def ledger(self) -> Ledger:
        return self._ledgers[self._head % self._capacity]

    @property
    def verdict(self) -> EstimateHealth:
        if not self.ready:
            return EstimateHealth.LOST
        now_ns = max(self._seen_ns, self._now_ns)
        return judge(
            self.config,
            self._output,
            gps_age_ns=now_ns - self.ledger.gps_accepted_ns,
            imu_age_ns=self.imu_age_ns,
        )

    @property
    def imu_age_ns(self) -> int:
        """How long ago the newest good IMU sample was taken."""
        imu_ns = self._stamps_ns[self._head % self._capacity]
        return max(self._seen_ns, self._now_ns) - imu_ns

    def state(self, sequence: int) -> VehicleState:
        nominal = self.nominal
        position_covariance, velocity_covariance, attitude_covariance = self._covariances()
        return VehicleState(
            stamp_ns=self._stamp_ns,
            sequence=sequence,
            position_enu_m=nominal[0:3],
            velocity_enu_mps=nominal[3:6],
            attitude=nominal[6:10],
            rate_flu_rps=self.rate_flu_rps,
            acceleration_enu_mps2=self.acceleration_enu_mps2,
            gyro_bias_flu_rps=nominal[10:13],
            accel_bias_flu_mps2=nominal[13:16],
            position_covariance_m2=position_covariance,
            velocity_covariance_m2ps2=velocity_covariance,
            attitude_covariance_rad2=attitude_covariance,
            verdict=self.verdict,
        )

    def _covariances(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The filter's own, and the constant errors that it can't see: of GPS, of the compass."""
        whole = self._beliefs[self._live_row, 17:].reshape(16, 16)
        position, attitude = whole[0:3, 0:3].copy(), whole[6:9, 6:9].copy()
        offset_m, turn_rad = self.config.gps_offset_std_m, self.config.heading_offset_std_rad
        position[0, 0] += offset_m * offset_m
        position[1, 1] += offset_m * offset_m
        if self._stamp_ns - self.ledger.rangefinder_accepted_ns > _RANGE_HOLDS_NS:
            height_m = self.config.gps_height_offset_std_m
            position[2, 2] += height_m * height_m
        w, x, y, z = self.nominal[6:10].tolist()
        up = np.array(rotate(w, -x, -y, -z, 0.0, 0.0, 1.0))
        attitude += turn_rad * turn_rad * np.multiply.outer(up, up)
        return position, whole[3:6, 3:6], attitude

    def add(self, sample: Any) -> None:
        """Any sample; those of other sensors are passed over."""
        if type(sample) is ImuSample:
            self._add_imu(sample)
        elif self._reader.knows(sample):
            measurement = self._reader.read(sample)
            if measurement is None:
                self.ignored_count += 1
            elif self.ready:
                self._add_measurement(measurement)
            else:
                self._alignment.add(measurement)

    def advance_to(self, now_ns: int) -> None:
        """Say what time it is. Without this, time is that of the newest sample; with it, the state
        is carried on to now by the last IMU sample, and a dead IMU is noticed.
        """
        self._now_ns = now_ns
        if self.ready:
            self._publish()

    def _add_imu(self, sample: ImuSample) -> None:
        reading = [*sample.accel_flu_mps2.tolist(), *sample.gyro_flu_rps.tolist()]
        # Written so that NaN fails it.
        is_sane = all(-_LARGEST_ACCEL_MPS2 < value < _LARGEST_ACCEL_MPS2 for value in reading[:3])
        is_sane &= all(-_LARGEST_RATE_RPS < value < _LARGEST_RATE_RPS for value in reading[3:])
        if sample.health is Health.OFFLINE or not is_sane:
            self.ignored_count += 1
        elif not self.ready:
            self._align(sample.stamp_ns, reading)
        elif sample.stamp_ns <= self._stamps_ns[self._head % self._capacity]:
            self.late_count += 1
        else:
            self._head += 1
            row = self._head % self._capacity
            self._stamps_ns[row] = sample.stamp_ns
            self._imu[row] = reading
            self._seen_ns = max(self._seen_ns, sample.stamp_ns)
            self._step(self._head)
            self._drop_old_measurements()
            self._publish()

    def _align(self, stamp_ns: int, reading: list[float]) -> None:
        self._alignment.add_imu(stamp_ns, reading)
        self._stamp_ns = stamp_ns
        if not self._alignment.is_complete():
            return
        period_ns = self._alignment.imu_period_ns
        self._allocate(self.config.buffer_ns // period_ns + 2)
        self._longest_step_ns = period_ns + period_ns // 2
        self._period_ns = period_ns
        self._alignment.write(self._beliefs, 0, self._scratch)
        self._stamps_ns[0] = self._seen_ns = stamp_ns
        self._imu[0] = reading
        self._ledgers[0] = Ledger(gps_accepted_ns=self._alignment.last_fix_ns)
        self.ready = True
        self._publish()

    def _allocate(self, capacity: int) -> None:
        """One row per IMU sample, and one more for the state between samples."""
        self._capacity = capacity
        self._beliefs = np.zeros((capacity + 1, 273))
        self._beliefs[:, 6] = 1.0
        for axis in range(16):
            kernel.forget(self._beliefs, 0, axis, 1, 1.0e6)
        self._imu = np.zeros((capacity + 1, 6))
        self._stamps_ns = [0] * capacity
        self._ledgers = [Ledger()] * capacity
        self._measurements: list[Measurement] = []
        self._live_row = 0

    def _add_measurement(self, measurement: Measurement) -> None:
        stamp_ns = measurement.stamp_ns
        head_ns = self._stamps_ns[self._head % self._capacity]
        place = bisect_left(self._measurements, measurement.key, key=_key)
        is_known = (
            place < len(self._measurements) and self._measurements[place].key == measurement.key
        )
        is_early = stamp_ns > head_ns + self.config.buffer_ns
        if stamp_ns <= self._oldest_ns() or is_early or is_known:
            self.late_count += 1
            return
        self._measurements.insert(place, measurement)
        self._seen_ns = max(self._seen_ns, stamp_ns)
        if stamp_ns > head_ns:
            return  # until the IMU has got there
        first = self._head
        while self._stamps_ns[(first - 1) % self._capacity] >= stamp_ns:
            first -= 1
        for index in range(first, self._head + 1):
            self._step(index)
        self._publish()

    def _oldest_ns(self) -> int:
        return self._stamps_ns[max(self._head - self._capacity + 1, 0) % self._capacity]

    def _drop_old_measurements(self) -> None:
        oldest_ns = self._oldest_ns()
        while self._measurements and self._measurements[0].stamp_ns <= oldest_ns:
            self._measurements.pop(0)

    def _step(self, index: int) -> None:
        """From one IMU sample to the next, by way of the measurements between them."""
        row, source = index % self._capacity, (index - 1) % self._capacity
        before_ns, after_ns = self._stamps_ns[source], self._stamps_ns[row]
        ledger = self._ledgers[source]
        at_ns = before_ns
        place = bisect_right(self._measurements, before_ns, key=_stamp)
        while place < len(self._measurements):
            measurement = self._measurements[place]
            if measurement.stamp_ns > after_ns:
                break
            if measurement.stamp_ns > at_ns:
                self._propagate(row, source, at_ns, measurement.stamp_ns)
            source, at_ns = row, measurement.stamp_ns
            ledger = self._fuse(row, measurement, ledger)
            place += 1
        if at_ns < after_ns:
            self._propagate(row, source, at_ns, after_ns)
        self._ledgers[row] = ledger

    def _propagate(self, row: int, source: int, from_ns: int, to_ns: int) -> None:
        """Within the step that ends at row. Where samples were lost, the one before is held until
        the interval of the one after begins.
        """
        before = (row - 1) % self._capacity
        after_ns, before_ns = self._stamps_ns[row], self._stamps_ns[before]
        if after_ns - before_ns > self._longest_step_ns:
            held_ns = min(to_ns, after_ns - self._period_ns)
            if from_ns < held_ns:
                self._hold(row, source, before, from_ns, held_ns)
                source, from_ns = row, held_ns
            if from_ns >= to_ns:
                return
        dt_s = (to_ns - from_ns) / 1_000_000_000
        kernel.predict(self._beliefs, source, row, self._imu, row, self._noise, dt_s, 0.0, 0.0)

    def _hold(self, row: int, source: int, sample: int, from_ns: int, to_ns: int) -> None:
        """By an old IMU sample, and after a while by none: level flight at a constant speed."""
        start_ns = self._stamps_ns[sample]
        half_jerk = 0.5 * self.config.gap_jerk_mps3
        half_turn = 0.5 * self.config.gap_angular_acceleration_rps2
        steady = self._capacity
        if source != row:
            self._beliefs[row] = self._beliefs[source]
        while from_ns < to_ns:
            next_ns = min(to_ns, from_ns + _HELD_STEP_NS)
            if next_ns > start_ns + _LONGEST_BRIDGE_NS:
                return
            if from_ns - start_ns >= self.config.max_imu_gap_ns:
                self._imu[steady] = _undisturbed(self._beliefs[row].tolist())
                sample = steady
            first_s, last_s = ((ns - start_ns) / 1_000_000_000 for ns in (from_ns, next_ns))
            push = _growth(half_jerk, first_s, last_s)
            turn = _growth(half_turn, min(first_s, _LONGEST_TURN_S), min(last_s, _LONGEST_TURN_S))
            dt_s = (next_ns - from_ns) / 1_000_000_000
            kernel.predict(
                self._beliefs, row, row, self._imu, sample, self._noise, dt_s, push, turn
            )
            from_ns = next_ns

    def _fuse(self, row: int, measurement: Measurement, ledger: Ledger) -> Ledger:
        kind, values = measurement.kind, measurement.values
        nis = _FUSE[kind](self._beliefs, row, self._scratch, values, self._gates[kind])
        ledger = ledger.with_outcome(kind, measurement.stamp_ns, nis)
        if (
            ledger.gps_refused < _SMALLEST_REFUSED_COUNT
            or kind is not Kind.GPS
            or measurement.stamp_ns - ledger.gps_refused_since_ns < self.config.gps_reset_ns
        ):
            return ledger
        # Either we or the GPS are wrong for good, and only one of them knows where it is.
        kernel.forget(self._beliefs, row, 0, 3, 1.0e8)
        kernel.forget(self._beliefs, row, 3, 3, 1.0e4)
        kernel.forget(self._beliefs, row, 15, 1, 1.0e6)
        kernel.fuse_gps(self._beliefs, row, self._scratch, values, _NO_GATE)
        return replace(
            ledger,
            gps_accepted_ns=measurement.stamp_ns,
            gps_refused=0,
            gps_resets=ledger.gps_resets + 1,
        )

    def _publish(self) -> None:
        row = self._head % self._capacity
        head_ns = self._stamps_ns[row]
        self._live_row, self._stamp_ns = row, head_ns
        if self._now_ns > head_ns:
            self._live_row, self._stamp_ns = self._capacity, self._now_ns
            self._hold(self._capacity, row, row, head_ns, self._now_ns)
        kernel.read_out(self._beliefs, self._live_row, self._imu, row, self._output)


def _key(measurement: Measurement) -> tuple[int, int, int]:
    return measurement.key


def _stamp(measurement: Measurement) -> int:
    return measurement.stamp_ns


def _growth(half_rate: float, first_s: float, last_s: float) -> float:
    """How the square of half_rate * t^2 grows from first to last."""
    first, last = half_rate * first_s * first_s, half_rate * last_s * last_s
    return last * last - first * first


def _undisturbed(belief: list[float]) -> list[float]:
    """What an IMU would read in steady flight with that attitude and those biases."""
    w, x, y, z = belief[6:10]
    up = rotate(w, -x, -y, -z, 0.0, 0.0, GRAVITY_MPS2)
    return [*(up[axis] + belief[13 + axis] for axis in range(3)), *belief[10:13]]
