"""The beliefs of the last half second, one after every IMU sample, and the measurements between
them. A kernel: see ghost.core.exact.

A measurement that arrives late goes to its own place in time, and everything after it is computed
again. What became of the measurements belongs to a belief and is rewound with it: the columns of
counts are accepted and refused, each by kind of measurement (GPS, magnetometer, barometer,
rangefinder); then when a fix was accepted last, when a range was, how many fixes were refused in a
row, since when, and how often the filter was reset to the GPS. nis sums the normalised innovation
squared of what was accepted.
"""

import numpy as np
from numpy.typing import NDArray

from ghost.core import exact
from ghost.estimation import kernel
from ghost.estimation.config import EstimatorConfig

FloatArray = NDArray[np.float64]

TAKEN, LATE, ABSURD = 1, 2, 3
"""What became of a sample: LATE is older than the buffer, twice the same, or from far ahead."""


class Track:
    """Rows of beliefs and imu go round, by number of the IMU sample; the last one is for the state
    between samples. output is what kernel.read_out() says of now.
    """

    def __init__(
        self,
        config: EstimatorConfig,
        beliefs: FloatArray,
        imu: FloatArray,
        output: FloatArray,
        period_ns: int,
    ) -> None:
        self.beliefs = beliefs
        self.imu = imu
        self.output = output
        self.capacity = beliefs.shape[0] - 1
        self.scratch = np.zeros((9, 18))
        self.noise = np.array(
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
        self.gates = np.array(
            [
                config.gps_gate,
                config.magnetometer_gate,
                config.barometer_gate,
                config.rangefinder_gate,
            ]
        )
        self.half_jerk = 0.5 * config.gap_jerk_mps3
        self.half_turn = 0.5 * config.gap_angular_acceleration_rps2
        self.buffer_ns = config.buffer_ns
        self.gps_reset_ns = config.gps_reset_ns
        self.max_imu_gap_ns = config.max_imu_gap_ns
        self.period_ns = period_ns
        self.longest_step_ns = period_ns + period_ns // 2
        self.stamps_ns = np.zeros(self.capacity, np.int64)
        self.counts = np.zeros((self.capacity, 13), np.int64)
        self.nis = np.zeros((self.capacity, 4))
        # Measurements wait in rows begin to end, by stamp, kind and sequence.
        self.keys = np.zeros((64, 3), np.int64)
        self.values = np.zeros((64, 12))
        self.begin = 0
        self.end = 0
        self.head = 0
        self.seen_ns = 0
        self.now_ns = 0
        self.stamp_ns = 0
        self.live_row = 0

    def start(self, stamp_ns: int, gps_accepted_ns: int, now_ns: int) -> None:
        """From the first belief, and its IMU sample, in row 0."""
        self.stamps_ns[0] = stamp_ns
        self.counts[0, 8] = gps_accepted_ns
        self.seen_ns, self.now_ns = stamp_ns, now_ns
        self._publish()

    def add_imu(self, stamp_ns: int, accel: FloatArray, gyro: FloatArray) -> int:
        if not is_sane(accel, gyro):
            return ABSURD
        if stamp_ns <= self.stamps_ns[self.head % self.capacity]:
            return LATE
        self.head += 1
        row = self.head % self.capacity
        self.stamps_ns[row] = stamp_ns
        for axis in range(3):
            self.imu[row, axis] = accel[axis]
            self.imu[row, 3 + axis] = gyro[axis]
        self.seen_ns = max(self.seen_ns, stamp_ns)
        self._step(self.head)
        oldest_ns = self._oldest_ns()
        while self.begin < self.end and self.keys[self.begin, 0] <= oldest_ns:
            self.begin += 1
        self._publish()
        return TAKEN

    def add(self, stamp_ns: int, kind: int, sequence: int, values: tuple[float, ...]) -> int:
        """A measurement; values are what the kernel's fuse function of this kind takes."""
        head_ns = self.stamps_ns[self.head % self.capacity]
        if stamp_ns <= self._oldest_ns() or stamp_ns > head_ns + self.buffer_ns:
            return LATE
        place = self._insert(stamp_ns, kind, sequence)
        if place < 0:
            return LATE
        for index in range(len(values)):
            self.values[place, index] = values[index]
        self.seen_ns = max(self.seen_ns, stamp_ns)
        if stamp_ns > head_ns:
            return TAKEN  # it waits until the IMU has got there
        if stamp_ns == head_ns and (place + 1 == self.end or self.keys[place + 1, 0] > head_ns):
            # The usual case: nothing that comes after it has been taken in yet.
            self._fuse(self.head % self.capacity, place)
        else:
            first = self.head
            while self.stamps_ns[(first - 1) % self.capacity] >= stamp_ns:
                first -= 1
            for index in range(first, self.head + 1):
                self._step(index)
        self._publish()
        return TAKEN

    def advance_to(self, now_ns: int) -> None:
        """See Estimator."""
        self.now_ns = now_ns
        self._publish()

    def imu_age_ns(self) -> int:
        """How long ago the newest good IMU sample was taken."""
        stamp_ns: int = self.stamps_ns[self.head % self.capacity]
        return max(self.seen_ns, self.now_ns) - stamp_ns

    def gps_age_ns(self) -> int:
        """How long ago the newest accepted fix was taken."""
        stamp_ns: int = self.counts[self.head % self.capacity, 8]
        return max(self.seen_ns, self.now_ns) - stamp_ns

    def ranged_ns(self) -> int:
        """When the newest accepted range was taken."""
        stamp_ns: int = self.counts[self.head % self.capacity, 9]
        return stamp_ns

    def books(self) -> tuple[list[int], list[float]]:
        """The newest row of counts, and of nis."""
        row = self.head % self.capacity
        return list(self.counts[row]), list(self.nis[row])

    def _oldest_ns(self) -> int:
        stamp_ns: int = self.stamps_ns[max(self.head - self.capacity + 1, 0) % self.capacity]
        return stamp_ns

    def _insert(self, stamp_ns: int, kind: int, sequence: int) -> int:
        """The row made for a measurement, or -1 where there is that one already."""
        if self.end == self.keys.shape[0]:
            self._make_room()
        place = self.end
        while place > self.begin and not self._is_before(place - 1, stamp_ns, kind, sequence):
            place -= 1
        if (
            place < self.end
            and self.keys[place, 0] == stamp_ns
            and self.keys[place, 1] == kind
            and self.keys[place, 2] == sequence
        ):
            return -1
        for row in range(self.end, place, -1):
            self._move(row - 1, row)
        self.end += 1
        self.keys[place, 0], self.keys[place, 1], self.keys[place, 2] = stamp_ns, kind, sequence
        return place

    def _is_before(self, place: int, stamp_ns: int, kind: int, sequence: int) -> bool:
        if self.keys[place, 0] != stamp_ns:
            return bool(self.keys[place, 0] < stamp_ns)
        if self.keys[place, 1] != kind:
            return bool(self.keys[place, 1] < kind)
        return bool(self.keys[place, 2] < sequence)

    def _make_room(self) -> None:
        """At the end, by moving down what is left, or else by twice as many rows."""
        if self.begin == 0:
            self.keys = np.concatenate((self.keys, np.zeros_like(self.keys)))
            self.values = np.concatenate((self.values, np.zeros_like(self.values)))
            return
        for row in range(self.begin, self.end):
            self._move(row, row - self.begin)
        self.end -= self.begin
        self.begin = 0

    def _move(self, source: int, target: int) -> None:
        for column in range(3):
            self.keys[target, column] = self.keys[source, column]
        for column in range(12):
            self.values[target, column] = self.values[source, column]

    def _step(self, index: int) -> None:
        """From one IMU sample to the next, by way of the measurements between them."""
        row, before = index % self.capacity, (index - 1) % self.capacity
        after_ns, at_ns = self.stamps_ns[row], self.stamps_ns[before]
        source = before
        for column in range(13):
            self.counts[row, column] = self.counts[before, column]
        for column in range(4):
            self.nis[row, column] = self.nis[before, column]
        place, high = self.begin, self.end
        while place < high:  # to the first after at_ns
            middle = (place + high) // 2
            if self.keys[middle, 0] > at_ns:
                high = middle
            else:
                place = middle + 1
        while place < self.end and self.keys[place, 0] <= after_ns:
            stamp_ns = self.keys[place, 0]
            if stamp_ns > at_ns:
                self._propagate(row, source, before, at_ns, stamp_ns)
            source, at_ns = row, stamp_ns
            self._fuse(row, place)
            place += 1
        if at_ns < after_ns:
            self._propagate(row, source, before, at_ns, after_ns)

    def _propagate(self, row: int, source: int, before: int, from_ns: int, to_ns: int) -> None:
        """Within the step from row before to row. Where samples were lost, the one before is held
        until the interval of the one after begins.
        """
        after_ns = self.stamps_ns[row]
        if after_ns - self.stamps_ns[before] > self.longest_step_ns:
            held_ns = min(to_ns, after_ns - self.period_ns)
            if from_ns < held_ns:
                self._hold(row, source, before, from_ns, held_ns)
                source, from_ns = row, held_ns
            if from_ns >= to_ns:
                return
        dt_s = (to_ns - from_ns) / 1e9
        kernel.predict(self.beliefs, source, row, self.imu, row, self.noise, dt_s, 0.0, 0.0)

    def _hold(self, row: int, source: int, sample: int, from_ns: int, to_ns: int) -> None:
        """By an old IMU sample, and after a while by none: level flight at a constant speed."""
        step_ns, longest_ns, longest_turn_s = 20_000_000, 1_000_000_000, 0.5
        start_ns = self.stamps_ns[sample]
        if source != row:
            for column in range(273):
                self.beliefs[row, column] = self.beliefs[source, column]
        while from_ns < to_ns:
            next_ns = min(to_ns, from_ns + step_ns)
            if next_ns > start_ns + longest_ns:
                return
            if from_ns - start_ns >= self.max_imu_gap_ns:
                self._fly_steadily(row)
                sample = self.capacity
            first_s, last_s = (from_ns - start_ns) / 1e9, (next_ns - start_ns) / 1e9
            push = _growth(self.half_jerk, first_s, last_s)
            first_s, last_s = min(first_s, longest_turn_s), min(last_s, longest_turn_s)
            turn = _growth(self.half_turn, first_s, last_s)
            dt_s = (next_ns - from_ns) / 1e9
            kernel.predict(self.beliefs, row, row, self.imu, sample, self.noise, dt_s, push, turn)
            from_ns = next_ns

    def _fly_steadily(self, row: int) -> None:
        """Write what an IMU would read in steady flight with that attitude and those biases."""
        w, x = self.beliefs[row, 6], self.beliefs[row, 7]
        y, z = self.beliefs[row, 8], self.beliefs[row, 9]
        ux, uy, uz = exact.rotate(w, -x, -y, -z, 0.0, 0.0, 9.80665)
        self.imu[self.capacity, 0] = ux + self.beliefs[row, 13]
        self.imu[self.capacity, 1] = uy + self.beliefs[row, 14]
        self.imu[self.capacity, 2] = uz + self.beliefs[row, 15]
        for axis in range(3):
            self.imu[self.capacity, 3 + axis] = self.beliefs[row, 10 + axis]

    def _fuse(self, row: int, place: int) -> None:
        kind, stamp_ns = self.keys[place, 1], self.keys[place, 0]
        values, gate = self.values[place], self.gates[kind]
        if kind == 0:
            nis = kernel.fuse_gps(self.beliefs, row, self.scratch, values, gate)
        elif kind == 1:
            nis = kernel.fuse_heading(self.beliefs, row, self.scratch, values, gate)
        elif kind == 2:
            nis = kernel.fuse_height(self.beliefs, row, self.scratch, values, gate)
        else:
            nis = kernel.fuse_range(self.beliefs, row, self.scratch, values, gate)
        if nis >= 0.0:
            self.counts[row, kind] += 1
            self.nis[row, kind] += nis
            if kind == 0:
                self.counts[row, 8], self.counts[row, 10] = stamp_ns, 0
            elif kind == 3:
                self.counts[row, 9] = stamp_ns
            return
        self.counts[row, 4 + kind] += 1
        if kind == 0:
            self._doubt(row, stamp_ns, values)

    def _doubt(self, row: int, stamp_ns: int, values: FloatArray) -> None:
        """Refused fixes: either we or the GPS are wrong for good, and only one of them knows where
        it is.
        """
        if self.counts[row, 10] == 0:
            self.counts[row, 11] = stamp_ns
        self.counts[row, 10] += 1
        fewest = 5
        if self.counts[row, 10] < fewest or stamp_ns - self.counts[row, 11] < self.gps_reset_ns:
            return
        kernel.forget(self.beliefs, row, 0, 3, 1.0e8)
        kernel.forget(self.beliefs, row, 3, 3, 1.0e4)
        kernel.forget(self.beliefs, row, 15, 1, 1.0e6)
        kernel.fuse_gps(self.beliefs, row, self.scratch, values, 1.0e9)
        self.counts[row, 8], self.counts[row, 10] = stamp_ns, 0
        self.counts[row, 12] += 1

    def _publish(self) -> None:
        row = self.head % self.capacity
        head_ns = self.stamps_ns[row]
        self.live_row, self.stamp_ns = row, head_ns
        if self.now_ns > head_ns:
            self.live_row, self.stamp_ns = self.capacity, self.now_ns
            self._hold(self.capacity, row, row, head_ns, self.now_ns)
        kernel.read_out(self.beliefs, self.live_row, self.imu, row, self.output)


def is_sane(accel: FloatArray, gyro: FloatArray) -> bool:
    """Written so that NaN fails it."""
    largest_mps2, largest_rps = 2000.0, 200.0
    for axis in range(3):
        if not -largest_mps2 < accel[axis] < largest_mps2:
            return False
        if not -largest_rps < gyro[axis] < largest_rps:
            return False
    return True


def _growth(half_rate: float, first_s: float, last_s: float) -> float:
    """How the square of half_rate * t^2 grows from first to last."""
    first, last = half_rate * first_s * first_s, half_rate * last_s * last_s
    return last * last - first * first
