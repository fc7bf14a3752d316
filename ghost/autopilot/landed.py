"""Whether the vehicle stands on the ground, told from what it is told and what it does."""

LANDED_AFTER_NS = 700_000_000


class LandDetector:
    """Starts on the ground. Thrust is given as a share of what hovering takes."""

    __slots__ = ("_since_ns", "on_ground")

    def __init__(self) -> None:
        self.on_ground = True
        self._since_ns: int | None = None

    def update(
        self, now_ns: int, *, thrust: float, climb_mps: float, wanted_mps: float, speed_mps: float
    ) -> bool:
        """Off the ground when lift meets climb; on it when told down, and nothing moves."""
        if self.on_ground:
            self.on_ground = not (thrust > 0.9 and climb_mps > 0.2)
            return self.on_ground
        is_held_up = wanted_mps < -0.3 and thrust < 0.95 and abs(climb_mps) < 0.2
        if not (is_held_up and speed_mps < 0.7):
            self._since_ns = None
        elif self._since_ns is None:
            self._since_ns = now_ns
        elif now_ns - self._since_ns >= LANDED_AFTER_NS:
            self.on_ground = True
            self._since_ns = None
        return self.on_ground
