"""The safety envelope: where a vehicle may be told to go, and how hard. Data and geometry."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ghost.core.errors import ConfigError

Point = tuple[float, float]

_ON_EDGE_M = 1e-9
"""Nearer than this is on the edge: more than rounding, up to 1000 km out, and less than matters."""


@dataclass(frozen=True, slots=True)
class SafetyEnvelope:
    """Refused: outside the fence or the altitude band. Saturated: too fast, too steep, too quick.

    The fence is a polygon in ENU metres (east, north), either way round, or None for none;
    whatever it was given as, it is kept as a tuple of corners.
    """

    geofence_enu_m: Any = None
    min_altitude_m: float = 0.0
    max_altitude_m: float = 120.0
    max_speed_mps: float = 15.0
    max_climb_mps: float = 5.0
    max_tilt_rad: float = 0.7
    max_rate_rps: float = 4.0
    max_command_age_ns: int = 200_000_000
    command_timeout_ns: int = 500_000_000
    lookahead_ns: int = 1_000_000_000

    def __post_init__(self) -> None:
        if self.geofence_enu_m is not None:
            object.__setattr__(self, "geofence_enu_m", _checked_polygon(self.geofence_enu_m))
        if not self.min_altitude_m < self.max_altitude_m:
            raise ConfigError(
                f"altitude band {self.min_altitude_m} to {self.max_altitude_m} m is empty"
            )
        for key in ("max_speed_mps", "max_climb_mps", "max_tilt_rad", "max_rate_rps"):
            if not getattr(self, key) > 0:
                raise ConfigError(f"{key} is {getattr(self, key)}; expected above 0")
        for key, least in (
            ("max_command_age_ns", 1),
            ("command_timeout_ns", 1),
            ("lookahead_ns", 0),
        ):
            value = getattr(self, key)
            if type(value) is not int or value < least:
                raise ConfigError(f"{key} is {value}; expected an int of {least} or more")

    def in_altitude_band(self, altitude_m: float) -> bool:
        return self.min_altitude_m <= altitude_m <= self.max_altitude_m

    def outside_fence_m(self, east_m: float, north_m: float) -> float:
        """How far a point lies outside the fence; 0.0 inside, on the edge, or without a fence."""
        if self.geofence_enu_m is None:
            return 0.0
        edges = _edges(self.geofence_enu_m)
        nearest = min(_distance(east_m, north_m, start, end) for start, end in edges)
        crossings = sum(_crosses(east_m, north_m, start, end) for start, end in edges)
        return 0.0 if crossings % 2 or nearest < _ON_EDGE_M else nearest


def _checked_polygon(corners: Any) -> tuple[Point, ...]:
    try:
        polygon = np.asarray(corners, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise ConfigError(f"geofence {corners!r}; expected corners of (east, north)") from None
    if polygon.ndim != 2 or polygon.shape[1] != 2:
        raise ConfigError(f"geofence {polygon.tolist()}; expected corners of (east, north)")
    if len(polygon) < 3 or not np.isfinite(polygon).all():
        raise ConfigError(f"geofence {polygon.tolist()}; expected 3 or more finite corners")
    points = tuple((east, north) for east, north in polygon.tolist())
    twice_area = 0.0
    for (east, north), (next_east, next_north) in _edges(points):
        twice_area += east * next_north - north * next_east
    if twice_area == 0.0:
        raise ConfigError(f"geofence {polygon.tolist()} encloses no area")
    return points


def _edges(corners: tuple[Point, ...]) -> list[tuple[Point, Point]]:
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def _crosses(east_m: float, north_m: float, start: Point, end: Point) -> bool:
    """Whether a ray to the east from the point crosses the edge."""
    if (start[1] > north_m) == (end[1] > north_m):
        return False
    along = (north_m - start[1]) / (end[1] - start[1])
    return east_m < start[0] + along * (end[0] - start[0])


def _distance(east_m: float, north_m: float, start: Point, end: Point) -> float:
    edge_e, edge_n = end[0] - start[0], end[1] - start[1]
    to_e, to_n = east_m - start[0], north_m - start[1]
    length2 = edge_e * edge_e + edge_n * edge_n
    along = to_e * edge_e + to_n * edge_n
    if 0.0 < along < length2:
        return float(abs(edge_e * to_n - edge_n * to_e) / np.sqrt(length2))
    off_e, off_n = (to_e, to_n) if along <= 0.0 else (east_m - end[0], north_m - end[1])
    return float(np.sqrt(off_e * off_e + off_n * off_n))
