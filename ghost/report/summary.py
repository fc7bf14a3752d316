"""What a flight came to, for the terminal and for the report alike."""

from dataclasses import dataclass

Place = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The last that the flight controller said of itself; is_silent, if it is heard no more."""

    mode: str
    armed: bool
    on_ground: bool
    is_silent: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors in metres. Tracking is the true position against the set-point, while set-points of
    ours are flown; NaN if none were. Where there is no truth, the estimate's error is None, and
    tracking and all the rest is by the estimate.
    """

    flown_ns: int
    path_m: float
    highest_m: float
    fastest_mps: float
    tracking_rms_m: float
    tracking_max_m: float
    tracked_by: str
    """truth, or estimate; empty where no set-point was flown."""
    estimate_rms_m: float | None
    estimate_max_m: float | None
    was_airborne: bool
    home_enu_m: Place | None
    saw_start: bool
    """Whether home is where it was armed; else it was in the air before, and said where home is."""
    landed_enu_m: Place | None
    landing_error_m: float | None
    last_seen: LastSeen | None
    warnings: int
    events: int

    @property
    def landing(self) -> str:
        """How it came down; empty if it never was in the air."""
        seen = self.last_seen
        if not self.was_airborne or seen is None:
            return ""
        if self.landed_enu_m is not None and self.landing_error_m is not None:
            start = "where it took off" if self.saw_start else "home"
            return f"{self.landing_error_m:.2f} m from {start}"
        if self.landed_enu_m is not None:
            return "seen"
        if seen.on_ground and not seen.armed:
            return "not seen"
        armed = "armed" if seen.armed else "disarmed"
        return f"not seen: it was {_where(seen)}, mode {seen.mode}, {armed}"

    @property
    def alarm(self) -> str:
        """What nobody may overlook: that it was left armed."""
        seen = self.last_seen
        if seen is None or not seen.armed:
            return ""
        last = ", when it was last heard" if seen.is_silent else ""
        if seen.on_ground:
            return f"STILL ARMED, {_where(seen)}{last}"
        return f"STILL ARMED AND {_where(seen).upper()}, mode {seen.mode}{last}"


def _where(seen: LastSeen) -> str:
    return "on the ground" if seen.on_ground else "in the air"
