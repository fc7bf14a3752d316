"""The solid things of a simulated world, seen from above."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.core.rotations import normalize, to_matrix
from ghost.hal import Scene
from ghost.report.axis import Scale
from ghost.report.flight import FloatArray
from ghost.report.outline import Span, clipped, hull
from ghost.report.svg import escape, number, path_data, tag

BoolArray = NDArray[np.bool_]

MOST_SOLIDS = 2000
_NEAR_M = (2.0, 5.0)
_AIR_M = 0.1
_OUTWARD = np.array([-1.0, 1.0, -1.0, 1.0])  # for west, east, south and north
_FURTHEST_M = 1e9
_RIM = 48
_LEAST_PX = 0.5
_OVER_EDGE_PX = 4.0  # what is cut off is cut off where no outline shows
_LARGEST_CIRCLE_PX = 5000.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What stands where. corners_m are those of each solid, in arrays of one kind each: boxes,
    cylinders by points of their rims, triangles. bounds_m is west, east, south and north.
    """

    corners_m: tuple[FloatArray, FloatArray, FloatArray]
    bounds_m: FloatArray
    top_m: FloatArray
    rgb: FloatArray
    circle_m: FloatArray  # radius of what is a circle from above, NaN for all else

    def corners_of(self, solid: int) -> FloatArray:
        for kind in self.corners_m:
            if solid < len(kind):
                corners_m: FloatArray = kind[solid]
                return corners_m
            solid -= len(kind)
        raise IndexError(solid)

    def is_facet(self, solid: int) -> bool:
        return solid >= len(self.bounds_m) - len(self.corners_m[2])


def plan_of(scene: Scene) -> Plan:
    """Without what isn't finite, has no attitude or lies beyond all maps."""
    boxes, cylinders = _placed(scene.boxes), _placed(scene.cylinders)
    triangles = scene.triangles[_is_sane(scene.triangles)]
    corners_m = (
        _corners(boxes, _CUBE),
        _corners(cylinders, _DRUM),
        triangles[:, :9].reshape(-1, 3, 3),
    )
    low_m = np.concatenate([each.min(axis=1, initial=np.inf) for each in corners_m])
    high_m = np.concatenate([each.max(axis=1, initial=-np.inf) for each in corners_m])
    circle_m = np.full(len(low_m), np.nan)
    circle_m[len(boxes) : len(boxes) + len(cylinders)] = _circles_m(cylinders)
    return Plan(
        corners_m,
        np.stack([low_m[:, 0], high_m[:, 0], low_m[:, 1], high_m[:, 1]], axis=1),
        high_m[:, 2],
        np.concatenate([boxes[:, 10:], cylinders[:, 10:], triangles[:, 9:]]),
        circle_m,
    )


def with_neighbours(plan: Plan, east_m: Span, north_m: Span) -> tuple[Span, Span]:
    """The view of a track, widened for what stands near it. What is as wide as the whole track,
    as a floor is, asks for no room, and what is large gets no more than what is near. A short track
    is widened little, as long as there is something to see.
    """
    least_m, most_m = _NEAR_M
    usual_m = min(most_m, max(least_m, east_m[1] - east_m[0], north_m[1] - north_m[0]))
    inner = np.array([*east_m, *north_m])
    beside = ~_cover(plan.bounds_m, inner)
    for reach_m in (usual_m, most_m):
        outer = inner + reach_m * _OUTWARD
        near = plan.bounds_m[_overlap(plan.bounds_m, outer) & beside]
        if len(near):
            break
    asked = (near + _AIR_M * _OUTWARD) * _OUTWARD
    view = np.minimum(asked, outer * _OUTWARD).max(axis=0, initial=-np.inf)
    west, east, south, north = (np.maximum(view, inner * _OUTWARD) * _OUTWARD).tolist()
    return (west, east), (south, north)


def world(plan: Plan, east: Scale, north: Scale) -> str:
    """What is in view, one path a colour: the higher above the lower."""
    solids, left_out = _in_view(plan, east, north)
    paths: dict[tuple[str, str], list[str]] = {}
    for solid in solids:
        outline = _outline(plan, solid, east, north)
        if outline:
            is_flat = plan.is_facet(solid) and outline.count(",") > 2
            style = "solid facet" if is_flat else "solid"
            paths.setdefault((style, _colour(plan.rgb[solid])), []).append(outline)
    if not paths:
        return ""
    count = f"{len(solids)} solid things in view"
    said = f"The largest of {len(solids) + left_out} solid things in view" if left_out else count
    drawn = [
        tag("path", d="".join(outlines), fill=colour, class_=style)
        for (style, colour), outlines in paths.items()
    ]
    return tag("g", tag("title", escape(said)), *drawn, class_="world")


def _in_view(plan: Plan, east: Scale, north: Scale) -> tuple[list[int], int]:
    """Those to draw, from the lowest to the highest, and how many are too many."""
    bounds_m = plan.bounds_m
    size_m = bounds_m[:, 1::2] - bounds_m[:, ::2]
    metre_per_px = (east.high - east.low) / abs(east.end_px - east.start_px)
    view = np.array([east.low, east.high, north.low, north.high])
    shown = _overlap(bounds_m, view) & (size_m.max(axis=1) >= _LEAST_PX * metre_per_px)
    solids = np.flatnonzero(shown)
    largest = np.argsort(-size_m[solids].prod(axis=1), kind="stable")[:MOST_SOLIDS]
    kept = solids[np.sort(largest)]
    ordered = kept[np.argsort(plan.top_m[kept], kind="stable")]
    return ordered.tolist(), len(solids) - len(kept)


def _outline(plan: Plan, solid: int, east: Scale, north: Scale) -> str:
    """Anticlockwise each, so that what overlaps in one path leaves no hole."""
    px_per_m = abs(east.end_px - east.start_px) / (east.high - east.low)
    radius_px = float(plan.circle_m[solid]) * px_per_m
    if radius_px <= _LARGEST_CIRCLE_PX:
        west, right, south, top = plan.bounds_m[solid].tolist()
        x, y = east.at((west + right) / 2), north.at((south + top) / 2)
        r, across = number(radius_px), number(2.0 * radius_px)
        arcs = f"a{r},{r} 0 1 0 {across},0a{r},{r} 0 1 0 -{across},0"
        return f"M{number(x - radius_px)},{number(y)}{arcs}Z"
    corners_m = np.array(hull(plan.corners_of(solid)[:, :2].tolist()))
    x_px, y_px = east.px(corners_m[:, 0]), north.px(corners_m[:, 1])
    seen = clipped(
        list(zip(x_px.tolist(), y_px.tolist(), strict=True)),
        (east.start_px - _OVER_EDGE_PX, east.end_px + _OVER_EDGE_PX),
        (north.end_px - _OVER_EDGE_PX, north.start_px + _OVER_EDGE_PX),
    )
    drawn = np.array(seen).reshape(-1, 2)
    return path_data(drawn[:, 0], drawn[:, 1]) + "Z" if seen else ""


def _is_sane(rows: FloatArray) -> BoolArray:
    return _every(np.abs(np.nan_to_num(rows, nan=np.inf)) <= _FURTHEST_M)


def _placed(rows: FloatArray) -> FloatArray:
    rows = rows[_is_sane(rows)]
    placed: FloatArray = rows[(rows[:, 3:7] ** 2).sum(axis=1) > 1e-12]
    return placed


def _around() -> FloatArray:
    angle = np.arange(_RIM) * (2.0 * np.pi / _RIM)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


# Corners of a solid of size 1 about the origin.
_CUBE: FloatArray = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), axis=-1).reshape(-1, 3)
_DRUM: FloatArray = np.concatenate(
    [np.column_stack([0.5 * _around(), np.full(_RIM, z)]) for z in (-0.5, 0.5)]
)


def _corners(rows: FloatArray, unit: FloatArray) -> FloatArray:
    """Shape (solids, corners, 3), in the world."""
    axes = to_matrix(normalize(rows[:, 3:7]))
    own_m = unit[None] * np.abs(rows[:, None, 7:10])
    return own_m @ axes.transpose(0, 2, 1) + rows[:, None, :3]


def _circles_m(rows: FloatArray) -> FloatArray:
    """The radius of each cylinder that stands upright and is round."""
    size_m = np.abs(rows[:, 7:10])
    upright = np.abs(to_matrix(normalize(rows[:, 3:7]))[:, 2, 2]) > 1.0 - 1e-9
    return np.where(upright & (size_m[:, 0] == size_m[:, 1]), size_m[:, 0] / 2, np.nan)


def _overlap(bounds_m: FloatArray, view: FloatArray) -> BoolArray:
    return _every((bounds_m[:, ::2] <= view[1::2]) & (bounds_m[:, 1::2] >= view[::2]))


def _cover(bounds_m: FloatArray, view: FloatArray) -> BoolArray:
    return _every((bounds_m[:, ::2] <= view[::2]) & (bounds_m[:, 1::2] >= view[1::2]))


def _every(values: BoolArray) -> BoolArray:
    """Whether a row has nothing but true ones."""
    every: BoolArray = np.all(values, axis=1)
    return every


def _colour(rgb: FloatArray) -> str:
    red, green, blue = np.rint(255.0 * np.clip(rgb, 0.0, 1.0)).astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"
