"""Whether a sensor repeats itself, which nobody would know: a loop closed on an IMU that does is
open, and a rangefinder that does outvotes every other height.
"""

from ghost.hal import ImuSample, RangefinderSample, Sample

LONGEST_SAME_NS = {ImuSample: 50_000_000, RangefinderSample: 300_000_000}
"""The same reading to the last bit, until it is taken for stuck: they have noise."""


class StuckWatch:
    """Shown every sample; those of other sensors are passed over."""

    def __init__(self) -> None:
        self._last: dict[type, tuple[object, int]] = {}

    def is_stuck(self, sample: Sample) -> bool:
        kind = type(sample)
        longest_ns = LONGEST_SAME_NS.get(kind)
        if longest_ns is None:
            return False
        reading = _reading(sample)
        last = self._last.get(kind)
        if last is not None and last[0] == reading:
            return sample.stamp_ns - last[1] > longest_ns
        self._last[kind] = (reading, sample.stamp_ns)
        return False


def _reading(sample: Sample) -> object:
    if isinstance(sample, ImuSample):
        return sample.gyro_flu_rps.tobytes(), sample.accel_flu_mps2.tobytes()
    return sample.range_m if isinstance(sample, RangefinderSample) else None
