"""Whether the vehicle stands on the ground, told from what it is told and what it does."""

TOUCHES_AFTER_NS = 300_000_000
LANDED_AFTER_NS = 700_000_000
OFF_THE_GROUND_M = 0.5


class LandDetector:
    """Starts on the ground. Thrust is given as a share of what hovering takes. touches comes before
    on_ground: something holds the vehicle up, and it may still slide.
    """

    __slots__ = ("_since_ns", "on_ground", "touches")

    def __init__(self) -> None:
        self.on_ground = True
        self.touches = False
        self._since_ns: int | None = None

    def update(
        self,
        now_ns: int,
        *,
        thrust: float,
        climb_mps: float,
        wanted_mps: float,
        speed_mps: float,
        height_m: float,
    ) -> bool:
        """Off the ground when lift meets climb, or height where the climb was slow; on it when told
        down, and nothing moves. Height is above home.
        """
        if self.on_ground:
            has_left = climb_mps > 0.2 or height_m > OFF_THE_GROUND_M
            self.on_ground = not (thrust > 0.9 and has_left)
            return self.on_ground
        is_held_up = wanted_mps < -0.3 and thrust < 0.95 and abs(climb_mps) < 0.2
        if not is_held_up:
            self._since_ns = None
        elif self._since_ns is None:
            self._since_ns = now_ns
        held_ns = 0 if self._since_ns is None else now_ns - self._since_ns
        self.touches = held_ns >= TOUCHES_AFTER_NS
        self.on_ground = held_ns >= LANDED_AFTER_NS and speed_mps < 0.7
        if self.on_ground:
            self._since_ns = None
        return self.on_ground
