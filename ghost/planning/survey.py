"""A lawnmower pattern: parallel lines over a polygon, flown there and back."""

import math
from collections.abc import Sequence

from ghost.core.errors import ConfigError
from ghost.core.exact import sine_cosine
from ghost.planning.polygon import Point, checked_polygon, edges_of, way_inside
from ghost.planning.vectors import Vector

MAX_LINES = 1000

Stretch = tuple[float, float, float]
"""One line's way through the polygon: its offset, and where it enters and leaves."""


def survey_pattern(
    polygon_enu_m: Sequence[Point], spacing_m: float, altitude_m: float, heading_rad: float = 0.0
) -> tuple[Vector, ...]:
    """Waypoints that cover a simple polygon by lines along heading_rad, counted from east.

    The lines are as far apart as spacing_m or a little less, the outer ones half of that from the
    polygon's extremes. The straight lines between the waypoints stay inside the polygon, around
    its notches too.
    """
    polygon = checked_polygon(polygon_enu_m)
    if not 0.0 < spacing_m < math.inf:
        raise ConfigError(f"spacing_m is {spacing_m}; expected a finite number above 0")
    sine, cosine = sine_cosine(heading_rad)
    turned = tuple(_turned(corner, cosine, -sine) for corner in polygon)
    places: list[Point] = []
    for cell in _cells(_lines(turned, spacing_m)):
        for place in _there_and_back(cell, places[-1] if places else None):
            if places:
                places += way_inside(turned, places[-1], place)
            places.append(place)
    return tuple((*_turned(place, cosine, sine), altitude_m) for place in places)


def _lines(polygon: Sequence[Point], spacing_m: float) -> list[list[Stretch]]:
    lowest = min(corner[1] for corner in polygon)
    height_m = max(corner[1] for corner in polygon) - lowest
    count = max(math.ceil(height_m / spacing_m - 1e-9), 1)
    if count > MAX_LINES:
        raise ConfigError(
            f"spacing_m {spacing_m} makes {count} lines over {height_m:.1f} m; at most {MAX_LINES}"
        )
    return [_stretches(polygon, lowest + (line + 0.5) * height_m / count) for line in range(count)]


def _stretches(polygon: Sequence[Point], offset_m: float) -> list[Stretch]:
    crossings = sorted(
        start[0] + (offset_m - start[1]) / (end[1] - start[1]) * (end[0] - start[0])
        for start, end in edges_of(polygon)
        if (start[1] > offset_m) != (end[1] > offset_m)
    )
    return [
        (offset_m, entry, leave)
        for entry, leave in zip(crossings[::2], crossings[1::2], strict=True)
        if leave > entry
    ]


def _cells(lines: list[list[Stretch]]) -> list[list[Stretch]]:
    """Stretches that follow on each other from line to line, cut where the polygon forks."""
    cells: list[list[Stretch]] = []
    growing: list[list[Stretch]] = []
    for line in lines:
        grown = []
        for stretch in line:
            under = [cell for cell in growing if _overlap(cell[-1], stretch)]
            if len(under) == 1 and sum(_overlap(under[0][-1], other) for other in line) == 1:
                cell = under[0]
            else:
                cell = []
                cells.append(cell)
            grown.append((cell, stretch))
        for cell, stretch in grown:
            cell.append(stretch)
        growing = [cell for cell, _ in grown]
    return cells


def _overlap(below: Stretch, above: Stretch) -> bool:
    return below[1] < above[2] and above[1] < below[2]


def _there_and_back(cell: list[Stretch], here: Point | None) -> list[Point]:
    """The cell's lines from the end, and in the direction, that is nearest to here."""
    ways = []
    for stretches in (cell, cell[::-1]):
        for backwards in (False, True):
            way: list[Point] = []
            for index, (offset_m, entry, leave) in enumerate(stretches):
                flipped = backwards != bool(index % 2)
                ends = [(entry, offset_m), (leave, offset_m)]
                way += ends[::-1] if flipped else ends
            ways.append(way)
    if here is None:
        return ways[0]
    return min(ways, key=lambda way: _squared_m(way[0], here))


def _squared_m(left: Point, right: Point) -> float:
    east_m, north_m = right[0] - left[0], right[1] - left[1]
    return east_m * east_m + north_m * north_m


def _turned(place: Point, cosine: float, sine: float) -> Point:
    return (place[0] * cosine - place[1] * sine, place[0] * sine + place[1] * cosine)
