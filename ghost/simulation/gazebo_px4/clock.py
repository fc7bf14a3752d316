"""Run time that follows the time of PX4's simulation, however fast or slow that goes."""

from ghost.core.clock import SystemClock

AHEAD_NS = 20_000_000
"""Between two words of PX4, which come this often, time goes on by no more."""
SILENCE_NS = 1_000_000_000
"""Of the wall clock. Then it goes on by that, so that whoever waits for PX4 gives up one day."""
PARTED_NS = 1_000_000_000
"""So far back PX4's time is another's: it was restarted, or stood still in a silence."""


class FollowingClock:
    """Starts at 0, and never goes back."""

    __slots__ = (
        "_base_ns",
        "_heard_ns",
        "_is_told",
        "_newest_ns",
        "_now_ns",
        "_offset_ns",
        "_wall",
    )

    def __init__(self) -> None:
        self._wall = SystemClock()
        self._is_told = False
        self._newest_ns = 0
        self._offset_ns = 0
        self._base_ns = 0
        self._heard_ns = 0
        self._now_ns = 0

    def now_ns(self) -> int:
        self._now_ns = max(self._now_ns, self._reckoned_ns(self._wall.now_ns()))
        return self._now_ns

    @property
    def silence_ns(self) -> int:
        """For how long PX4's time has not been told, by the wall clock."""
        return self._wall.now_ns() - self._heard_ns

    def tell(self, px4_us: int) -> None:
        """PX4's time, just heard."""
        px4_ns, now_ns = px4_us * 1_000, self.now_ns()
        if self._is_told and self._newest_ns - PARTED_NS < px4_ns <= self._newest_ns:
            return  # overtaken on its way
        if not self._is_told or px4_ns + self._offset_ns < now_ns - PARTED_NS:
            self._offset_ns = now_ns - px4_ns
        self._is_told = True
        self._newest_ns = px4_ns
        self._base_ns = px4_ns + self._offset_ns
        self._heard_ns = self._wall.now_ns()

    def of(self, px4_us: int) -> int:
        """The run time of something that PX4 stamped."""
        return max(px4_us * 1_000 + self._offset_ns, 0)

    def _reckoned_ns(self, wall_ns: int) -> int:
        since_ns = wall_ns - self._heard_ns
        if self._is_told and since_ns < SILENCE_NS:
            since_ns = min(since_ns, AHEAD_NS)
        return self._base_ns + since_ns
