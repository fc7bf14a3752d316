"""How fast a trajectory is followed: at its own pace, or slowed so as to stop in the room left.

Far from the stop the speed is that of an even braking, near to it in proportion to the way that is
left, so that the braking fades out. The braking itself comes and goes by a bounded jerk.
"""

import math

_FADE = 1.5
"""In 1/s: near the stop, the speed over the way that is left."""
_LEAD = 0.25
"""In s: how long before its time the braking begins, and how quickly errors are put right."""
_RETURN = 0.5
"""In s: how quickly it gets back to the trajectory's own pace."""
_RAMP = 0.2
"""In s: how long the acceleration takes to its limit."""
_HARD = 1.5
"""How much harder it brakes for what was seen late."""
_STOPPED_MPS = 0.05
_AS_GOOD_AS_ONE = 0.999
_SLOWEST_MPS = 0.05


class Pace:
    """rate is how many of the trajectory's seconds pass in a second, 0 to 1; change is its
    derivative. Where nothing is in the way the rate is 1 to the last bit.
    """

    def __init__(self, acceleration_mps2: float) -> None:
        self.rate = 1.0
        self.change = 0.0
        self.stopped = False
        self._limit_mps2 = acceleration_mps2
        self._acceleration_mps2 = 0.0

    def keep(
        self, seconds: float, speed_mps: float, slope_mps2: float, room_m: float | None
    ) -> None:
        """Choose the rate for the next moment. speed and slope are the trajectory's own, along its
        path. room_m is the way left, infinite where nothing is ahead, None to stop at once.
        """
        flown_mps = self.rate * speed_mps
        own_mps2 = self.rate * self.rate * slope_mps2
        allowed_mps, most_mps2 = self._allowance(flown_mps, room_m)
        if max(allowed_mps, flown_mps) < _STOPPED_MPS:
            self.rate = self.change = 0.0
            self.stopped = True
        elif self.rate == 1.0 and most_mps2 >= own_mps2:
            self.change = 0.0
            self._acceleration_mps2 = own_mps2
        else:
            back = (1.0 - self.rate) / _RETURN
            if speed_mps > _SLOWEST_MPS:
                wanted_mps2 = min(own_mps2 + back * speed_mps, most_mps2, self._limit_mps2)
                self._accelerate(wanted_mps2, seconds)
                self._turn((self._acceleration_mps2 - own_mps2) / speed_mps, seconds)
            else:  # the trajectory itself is slower here than any room would ask for
                self._acceleration_mps2 = own_mps2
                self._turn(back, seconds)

    def _accelerate(self, wanted_mps2: float, seconds: float) -> None:
        step_mps2 = self._limit_mps2 * seconds / _RAMP
        by_mps2 = wanted_mps2 - self._acceleration_mps2
        self._acceleration_mps2 += min(max(by_mps2, -step_mps2), step_mps2)

    def _turn(self, change: float, seconds: float) -> None:
        rate = min(max(self.rate + change * seconds, 0.0), 1.0)
        if rate > max(self.rate, _AS_GOOD_AS_ONE):
            rate = 1.0
        self.change = (rate - self.rate) / seconds if seconds > 0.0 else 0.0
        self.rate = rate

    def _allowance(self, flown_mps: float, room_m: float | None) -> tuple[float, float]:
        """The speed that the room allows, and the acceleration that keeps to it."""
        limit_mps2 = self._limit_mps2
        if room_m is None:
            return 0.0, -min(limit_mps2, _FADE * flown_mps)
        if room_m == math.inf:
            return math.inf, math.inf
        fading_m = limit_mps2 / (_FADE * _FADE)
        if room_m > fading_m:
            allowed_mps = math.sqrt(2.0 * limit_mps2 * (room_m - 0.5 * fading_m))
            falling_mps2 = limit_mps2 * flown_mps / allowed_mps
        else:
            allowed_mps = _FADE * max(room_m, 0.0)
            falling_mps2 = _FADE * flown_mps if room_m > 0.0 else 0.0
        kept_mps2 = (allowed_mps - flown_mps) / _LEAD - falling_mps2
        return allowed_mps, max(kept_mps2, -_HARD * limit_mps2)
