"""What the sequence numbers of one sender say was lost."""

LATEST_LATE = 32
"""A number so far back or less is a frame that came late or twice; further back is a restart."""


class Sequence:
    def __init__(self, first: int) -> None:
        self._newest = first
        self._missing: set[int] = set()

    def lost(self, number: int) -> int:
        """How many more are lost than before this frame; -1 where it is one that was missed."""
        ahead = (number - self._newest) & 0xFF
        behind = -ahead & 0xFF
        if behind <= LATEST_LATE:
            if number not in self._missing:
                return 0
            self._missing.remove(number)
            return -1
        if ahead >= 128:
            self._missing.clear()
            self._newest = number
            return 0
        skipped = {(self._newest + step) & 0xFF for step in range(1, ahead)}
        self._newest = number
        self._missing = {
            one for one in self._missing | skipped if (number - one) & 0xFF <= LATEST_LATE
        }
        return len(skipped)
