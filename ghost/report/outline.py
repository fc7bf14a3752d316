"""Outlines: what encloses points, and what of it a rectangle shows."""

from collections.abc import Iterable, Iterator, Sequence

Point = tuple[float, float]
Span = tuple[float, float]
Polygon = list[Point]


def hull(points: Iterable[Sequence[float]]) -> Polygon:
    """Andrew's monotone chain, anticlockwise; what lies on a line is its two ends."""
    ordered = sorted((east, north) for east, north in points)
    found: Polygon = []
    for chain in (ordered, ordered[::-1]):
        start = len(found)
        for point in chain:
            while len(found) >= start + 2 and _turn(found[-2], found[-1], point) <= 0.0:
                found.pop()
            found.append(point)
        found.pop()
    return found


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def clipped(polygon: Polygon, *limits: Span) -> Polygon:
    """Of a convex polygon what lies within limits along both axes: Sutherland and Hodgman's way,
    one edge of the rectangle after the other.
    """
    for axis, (low, high) in enumerate(limits):
        for limit, sign in ((low, 1.0), (high, -1.0)):
            polygon = list(_cut(polygon, axis, limit, sign))
    return polygon


def _cut(polygon: Polygon, axis: int, limit: float, sign: float) -> Iterator[Point]:
    for start, end in zip(polygon[-1:] + polygon[:-1], polygon, strict=True):
        before, after = sign * (start[axis] - limit), sign * (end[axis] - limit)
        if (before < 0.0) != (after < 0.0):
            share = before / (before - after)
            yield (
                start[0] + share * (end[0] - start[0]),
                start[1] + share * (end[1] - start[1]),
            )
        if after >= 0.0:
            yield end
