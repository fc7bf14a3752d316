"""What the mission has heard of obstacles: who sees, how well, and what."""

from collections import deque

from ghost.hal import Obstacles, Sight

KEPT_NS = 1_000_000_000
_SILENT_NS = 500_000_000


class Surroundings:
    """Every sensor that was ever heard is expected to go on: a vehicle that has two eyes and
    loses one doesn't know what that one would have seen.
    """

    def __init__(self) -> None:
        self.heard = 0
        self._recent: deque[Obstacles] = deque()
        self._newest: dict[str, Obstacles] = {}

    def hear(self, obstacles: Obstacles) -> None:
        self.heard += 1
        self._recent.append(obstacles)
        self._newest[obstacles.sensor] = obstacles
        while self._recent[0].stamp_ns < obstacles.stamp_ns - KEPT_NS:
            self._recent.popleft()

    def after(self, heard: int) -> list[Obstacles]:
        """The messages after the first so many, as far as they are kept."""
        count = min(self.heard - heard, len(self._recent))
        return list(self._recent)[len(self._recent) - count :]

    def silence(self, now_ns: int) -> str:
        """Which sensor says nothing; empty when all do. By the stamps, so that a picture that is
        sent again and again is no news.
        """
        if not self._newest:
            return "no obstacle sensor was heard"
        for sensor in sorted(self._newest):
            silent_ns = now_ns - self._newest[sensor].stamp_ns
            if silent_ns > _SILENT_NS:
                return f"nothing was heard of {sensor} for {silent_ns / 1e9:.1f} s"
        return ""

    def trouble(self, now_ns: int) -> str:
        """Which sensor can't be relied on, and why; empty when all can."""
        for sensor in sorted(self._newest):
            sight = self._newest[sensor].sight
            if not sight.trusted:
                return f"the view of {sensor} is {sight.name}"
        return self.silence(now_ns)

    def sight_of(self, sensor: str) -> Sight:
        return self._newest[sensor].sight
