"""Whether this loop was away, and whether it knows again how the vehicle is."""

from collections.abc import Callable

AWAY_NS = 350_000_000
"""Below every flight controller's time-out for set-points: who was away for so long may have lost
the vehicle to a failsafe or a pilot meanwhile, and reads of it in the order in which it came.
"""


class Presence:
    """A loop that was stopped reads old news first. A set-point computed from them would be late,
    and on a PX4 in a failsafe it takes the vehicle back. So nothing is sent until what had come is
    read and the flight controller has been heard anew.
    """

    def __init__(self, now_ns: int) -> None:
        self._here_ns = now_ns
        self._is_behind = self._has_read = False

    def look(self, now_ns: int, has_unread: Callable[[], bool]) -> None:
        """Called every few milliseconds for as long as the loop runs."""
        self._notice(now_ns)
        self._here_ns = now_ns
        if self._is_behind and not self._has_read:
            self._has_read = not has_unread()

    def hear(self) -> None:
        """A heartbeat of the flight controller, with its mode."""
        if self._has_read:
            self._is_behind = self._has_read = False

    def is_behind(self, now_ns: int) -> bool:
        self._notice(now_ns)
        return self._is_behind

    def _notice(self, now_ns: int) -> None:
        if now_ns - self._here_ns > AWAY_NS:
            self._is_behind, self._has_read = True, False
