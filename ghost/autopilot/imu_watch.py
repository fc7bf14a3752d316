"""Whether an IMU repeats itself: a loop closed on that is open, and nobody would know."""

from ghost.hal import ImuSample, Sample

LONGEST_SAME_NS = 50_000_000
"""The same reading to the last bit, until it is taken for stuck: an IMU has noise."""


class ImuWatch:
    """Shown every sample; those of other sensors are passed over."""

    def __init__(self) -> None:
        self._last: ImuSample | None = None

    def is_stuck(self, sample: Sample) -> bool:
        if type(sample) is not ImuSample:
            return False
        last = self._last
        if last is not None and _reading(sample) == _reading(last):
            return sample.stamp_ns - last.stamp_ns > LONGEST_SAME_NS
        self._last = sample
        return False


def _reading(sample: ImuSample) -> tuple[bytes, bytes]:
    return sample.gyro_flu_rps.tobytes(), sample.accel_flu_mps2.tobytes()
