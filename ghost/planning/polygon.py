"""Simple polygons on the ground: what lies inside, and the shortest way that stays there."""

import math
from collections.abc import Sequence
from itertools import pairwise

from ghost.core.errors import ConfigError

Point = tuple[float, float]

_ON_EDGE_M = 1e-6


def checked_polygon(corners: Sequence[Point]) -> tuple[Point, ...]:
    """Refuses what has no inside: too few corners, no area, edges that cross."""
    polygon = tuple((float(east_m), float(north_m)) for east_m, north_m in corners)
    if len(polygon) < 3:
        raise ConfigError(f"a polygon of {len(polygon)} corners; expected 3 or more")
    if not all(abs(part) <= 1e6 for corner in polygon for part in corner):
        raise ConfigError(f"polygon {polygon}; expected corners within 1000 km")
    edges = edges_of(polygon)
    area_m2 = 0.0
    for start, end in edges:
        area_m2 += 0.5 * (start[0] * end[1] - start[1] * end[0])
    if abs(area_m2) < _ON_EDGE_M:
        raise ConfigError(f"polygon {polygon} encloses no area")
    for index, edge in enumerate(edges):
        for other_index in range(index + 2, len(edges)):
            if (other_index + 1) % len(edges) != index and _touch(edge, edges[other_index]):
                raise ConfigError(
                    f"polygon edges {edge} and {edges[other_index]} cross; "
                    "give the corners in order around the outside"
                )
    return polygon


def edges_of(polygon: Sequence[Point]) -> list[tuple[Point, Point]]:
    return [(start, polygon[(index + 1) % len(polygon)]) for index, start in enumerate(polygon)]


def is_inside(polygon: Sequence[Point], place: Point) -> bool:
    """Edges count as inside."""
    edges = edges_of(polygon)
    if any(_distance_m(place, start, end) < _ON_EDGE_M for start, end in edges):
        return True
    inside = False
    for start, end in edges:
        if (start[1] > place[1]) != (end[1] > place[1]):
            along = (place[1] - start[1]) / (end[1] - start[1])
            if place[0] < start[0] + along * (end[0] - start[0]):
                inside = not inside
    return inside


def stays_inside(polygon: Sequence[Point], start: Point, end: Point) -> bool:
    """Whether the straight line does: the middle of each stretch between edges tells for it."""
    cuts = [0.0, 1.0]
    way_e, way_n = end[0] - start[0], end[1] - start[1]
    for corner, following in edges_of(polygon):
        edge_e, edge_n = following[0] - corner[0], following[1] - corner[1]
        across = way_e * edge_n - way_n * edge_e
        if across != 0.0:
            cuts.append(
                ((corner[0] - start[0]) * edge_n - (corner[1] - start[1]) * edge_e) / across
            )
    cuts = sorted(cut for cut in cuts if 0.0 <= cut <= 1.0)
    middles = [0.5 * (before + after) for before, after in pairwise(cuts)]
    return all(
        is_inside(polygon, (start[0] + along * way_e, start[1] + along * way_n))
        for along in middles
    )


def way_inside(polygon: Sequence[Point], start: Point, end: Point) -> list[Point]:
    """The corners to pass on the shortest way from start to end; none when it is straight."""
    if stays_inside(polygon, start, end):
        return []
    places = [start, *polygon, end]
    goal = len(places) - 1
    way_m = [math.inf] * len(places)
    came_from = [-1] * len(places)
    open_places = list(range(len(places)))
    way_m[0] = 0.0
    while open_places:
        here = min(open_places, key=lambda index: (way_m[index], index))
        open_places.remove(here)
        if here == goal or way_m[here] == math.inf:
            break
        for there in open_places:
            through_m = way_m[here] + distance_m(places[here], places[there])
            if through_m < way_m[there] and stays_inside(polygon, places[here], places[there]):
                way_m[there], came_from[there] = through_m, here
    passed: list[Point] = []
    here = came_from[goal]
    while here > 0:
        passed.append(places[here])
        here = came_from[here]
    return passed[::-1]


def distance_m(left: Point, right: Point) -> float:
    east_m, north_m = right[0] - left[0], right[1] - left[1]
    return math.sqrt(east_m * east_m + north_m * north_m)


def _distance_m(place: Point, start: Point, end: Point) -> float:
    """To the nearest point of an edge."""
    edge_e, edge_n = end[0] - start[0], end[1] - start[1]
    squared = edge_e * edge_e + edge_n * edge_n
    along = (place[0] - start[0]) * edge_e + (place[1] - start[1]) * edge_n
    share = min(max(along / squared, 0.0), 1.0) if squared > 0.0 else 0.0
    return distance_m(place, (start[0] + share * edge_e, start[1] + share * edge_n))


def _touch(left: tuple[Point, Point], right: tuple[Point, Point]) -> bool:
    return (
        any(_distance_m(corner, *right) < _ON_EDGE_M for corner in left)
        or any(_distance_m(corner, *left) < _ON_EDGE_M for corner in right)
        or (
            (_side(*left, right[0]) > 0.0) != (_side(*left, right[1]) > 0.0)
            and (_side(*right, left[0]) > 0.0) != (_side(*right, left[1]) > 0.0)
        )
    )


def _side(start: Point, end: Point, place: Point) -> float:
    return (end[0] - start[0]) * (place[1] - start[1]) - (end[1] - start[1]) * (place[0] - start[0])
