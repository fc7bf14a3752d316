"""The world under the track: drawn to scale, cut at the paper's edge, and no larger than it is."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghost.core.rotations import from_euler_zyx
from ghost.events import Event, EventKind, Severity
from ghost.hal import Scene
from ghost.report import write_report
from ghost.report.axis import Scale
from ghost.report.outline import clipped, hull
from ghost.report.world import MOST_SOLIDS, plan_of, with_neighbours, world
from tests.report.rig import STEP_NS, Plot, east_m, plots, record

RED = (0.8, 0.2, 0.0)
LEVEL = (1.0, 0.0, 0.0, 0.0)
Points = list[tuple[float, float]]


def solid(
    centre_m: Sequence[float],
    size_m: Sequence[float],
    attitude: Sequence[float] = LEVEL,
    rgb: Sequence[float] = RED,
) -> list[float]:
    return [*centre_m, *attitude, *size_m, *rgb]


def scene(
    boxes: Sequence[Sequence[float]] = (),
    cylinders: Sequence[Sequence[float]] = (),
    triangles: Sequence[Sequence[float]] = (),
    frame_id: str = "world",
) -> Scene:
    return Scene(
        0,
        np.array(boxes, np.float64).reshape(-1, 13),
        np.array(cylinders, np.float64).reshape(-1, 13),
        np.array(triangles, np.float64).reshape(-1, 12),
        frame_id,
    )


@pytest.fixture
def track(tmp_path: Path) -> Callable[..., Plot]:
    def draw(**options: Any) -> Plot:
        folder = record(tmp_path / f"run-{len(list(tmp_path.iterdir()))}", **options)
        (plot,) = plots(write_report(folder).read_text(encoding="utf-8"), "track")
        return plot

    return draw


def test_a_turned_box_is_its_own_rectangle_under_the_track(track: Callable[..., Plot]) -> None:
    yaw = from_euler_zyx(0.0, 0.0, np.radians(30.0)).tolist()
    plot = track(scene=scene(boxes=[solid((2.0, 1.5, 1.0), (2.0, 1.0, 3.0), yaw)]))
    (path,) = _solids(plot)
    assert (path.attrib["fill"], path.attrib["class"]) == ("#cc3300", "solid")
    along, across = _rotated(1.0, 0.0, 30.0), _rotated(0.0, 0.5, 30.0)
    expected = [
        (2.0 + a * along[0] + b * across[0], 1.5 + a * along[1] + b * across[1])
        for a in (-1, 1)
        for b in (-1, 1)
    ]
    (outline,) = _outlines_m(plot, path)
    assert _are_corners(outline, expected)
    drawn = [element.attrib.get("class", "") for element in plot.element]
    assert drawn.index("world") < drawn.index("series truth")


def test_a_tilted_box_is_the_shadow_of_its_corners(track: Callable[..., Plot]) -> None:
    roll = from_euler_zyx(np.radians(90.0), 0.0, 0.0).tolist()
    plot = track(scene=scene(boxes=[solid((2.0, 1.5, 1.0), (2.0, 1.0, 3.0), roll)]))
    (outline,) = _outlines_m(plot, *_solids(plot))
    assert _are_corners(outline, [(1.0, 0.0), (1.0, 3.0), (3.0, 0.0), (3.0, 3.0)])


def test_a_cylinder_is_a_circle_and_one_that_lies_is_not(track: Callable[..., Plot]) -> None:
    lying = from_euler_zyx(np.radians(90.0), 0.0, 0.0).tolist()
    standing = solid((2.0, 1.0, 1.0), (1.0, 1.0, 4.0))
    plot = track(scene=scene(cylinders=[standing, solid((2.0, -3.0, 1.0), (1, 1, 2), lying)]))
    (path,) = _solids(plot)
    lies, stands = path.attrib["d"].split("Z")[:2]  # the higher last
    left, y, radius = map(float, re.findall(r"^M([\d.]+),([\d.]+)a([\d.]+),", stands)[0])
    px_per_m, (west, north) = _scale(plot)
    assert radius / px_per_m == pytest.approx(0.5, abs=0.01)
    assert west + (left + radius) / px_per_m == pytest.approx(2.0, abs=0.01)
    assert north - y / px_per_m == pytest.approx(1.0, abs=0.01)
    east, up = zip(*_points_m(plot, lies), strict=True)
    assert (min(east), max(east)) == pytest.approx((1.5, 2.5), abs=0.01)
    assert (min(up), max(up)) == pytest.approx((-4.0, -2.0), abs=0.01)


def test_triangles_are_drawn_as_they_lie_and_never_cut_holes(track: Callable[..., Plot]) -> None:
    up = [1, 1, 0, 2, 1, 0, 1, 2, 1, *RED]
    down = [1, 1, 0, 1, 2, 1, 2, 1, 0, *RED]
    plot = track(scene=scene(triangles=[up, down]))
    (path,) = _solids(plot)
    assert path.attrib["class"] == "solid facet"
    for outline in _outlines_m(plot, path):
        assert _are_corners(outline, [(1, 1), (1, 2), (2, 1)])
        assert _area(outline) > 0.0


def test_what_is_far_away_is_left_out_and_takes_no_room(track: Callable[..., Plot]) -> None:
    bare, far = track(), track(scene=scene(boxes=[solid((60.0, 0.0, 1.0), (1.0, 200.0, 3.0))]))
    assert _scale(bare) == _scale(far)
    assert not _solids(far)


def test_what_is_near_widens_the_view_a_little(track: Callable[..., Plot]) -> None:
    flown_m = east_m(199)
    bare = track()
    near = track(scene=scene(boxes=[solid((flown_m + 2.0, 0.0, 1.0), (1.0, 100.0, 3.0))]))
    east = float(near.element.attrib["data-east-high"])
    assert flown_m + 2.5 < east < flown_m + 6.0
    assert _scale(near)[0] > 0.3 * _scale(bare)[0]
    ((_, *xy),) = [_numbers(path.attrib["d"]) for path in _solids(near)]
    assert len(xy) == 7
    assert all(-5.0 <= value <= near.width_px + 5.0 for value in xy)


@pytest.mark.parametrize(
    ("away_m", "others_m", "widened_m"), [(4.0, (), 4.6), (4.0, (1.0,), 1.6), (5.1, (), 0.0)]
)
def test_one_that_hovers_is_shown_what_is_next_to_it(
    away_m: float, others_m: tuple[float, ...], widened_m: float
) -> None:
    """As in a room, whose walls are farther from it than it ever went."""
    size = (0.5, 0.5, 3.0)
    plan = plan_of(scene(boxes=[solid((m + 0.25, 0, 0), size) for m in (away_m, *others_m)]))
    east, _ = with_neighbours(plan, (-0.3, 0.0), (-0.3, 0.3))
    assert east == pytest.approx((-0.3, widened_m))


def test_a_floor_takes_no_room(track: Callable[..., Plot]) -> None:
    floor = track(scene=scene(boxes=[solid((0.0, 0.0, -0.1), (1e6, 1e6, 0.2))]))
    assert _scale(floor) == _scale(track())
    (path,) = _solids(floor)
    assert all(-5.0 <= value <= floor.width_px + 5.0 for value in _numbers(path.attrib["d"]))


def test_without_a_scene_there_is_no_world(track: Callable[..., Plot], tmp_path: Path) -> None:
    assert not _solids(track())
    assert not _solids(track(scene=scene()))
    elsewhere = scene(boxes=[solid((2, 1, 1), (1, 1, 1))], frame_id="map")
    assert not _solids(track(scene=elsewhere))
    legend = '<text x="326" y="514" class="key">world</text>'
    page = write_report(record(tmp_path / "bare")).read_text(encoding="utf-8")
    assert "world</text>" not in page
    here = scene(boxes=[solid((2, 1, 1), (1, 1, 1))])
    page = write_report(record(tmp_path / "here", scene=here)).read_text(encoding="utf-8")
    assert legend in page


def test_what_makes_no_sense_is_left_out(track: Callable[..., Plot]) -> None:
    good = solid((2.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    plot = track(
        scene=scene(
            boxes=[
                good,
                solid((np.nan, 1, 1), (1, 1, 1)),
                solid((2, 1, 1), (np.inf, 1, 1)),
                solid((2, 1, 1), (1, 1, 1), (0, 0, 0, 0)),
            ],
            cylinders=[solid((1e300, 1, 1), (1, 1, 1))],
            triangles=[[np.nan] * 12],
        )
    )
    (path,) = _solids(plot)
    assert path.attrib["d"].count("M") == 1


def test_a_city_costs_no_more_than_what_is_seen_of_it(tmp_path: Path) -> None:
    spots = np.random.Generator(np.random.Philox(7)).uniform(-1000.0, 1000.0, (50_000, 2))
    city = scene(boxes=[solid((*spot, 1.0), (1, 1, 2)) for spot in spots.tolist()])
    plain = write_report(record(tmp_path / "plain")).stat().st_size
    page = write_report(record(tmp_path / "city", scene=city))
    assert page.stat().st_size < plain + 2000


def test_a_crowd_keeps_the_largest() -> None:
    small = [solid((0.001 * n, 0.0, 1.0), (0.5, 0.5, 1)) for n in range(MOST_SOLIDS + 10)]
    large = solid((0.0, 0.0, 0.0), (4.0, 4.0, 1.0), rgb=(0.0, 0.0, 1.0))
    view = Scale(-5.0, 5.0, 0.0, 500.0), Scale(-5.0, 5.0, 500.0, 0.0)
    drawn = world(plan_of(scene(boxes=[*small, large])), *view)
    assert drawn.count("M") == MOST_SOLIDS
    assert 'fill="#0000ff"' in drawn
    assert f"<title>The largest of {MOST_SOLIDS + 11} solid things in view</title>" in drawn


def test_a_collision_is_marked_where_the_vehicle_was(track: Callable[..., Plot]) -> None:
    hits = [
        Event(step * STEP_NS, Severity.CRITICAL, EventKind.COLLISION, "safety", "tree <4>")
        for step in (100, 101, 150)
    ]
    plot = track(events=tuple(hits))
    marks = [path for path in plot.element.iter("path") if path.attrib["class"] == "collision"]
    assert len(marks) == 2  # the second is where the first is
    for mark, step in zip(marks, (100, 150), strict=True):
        east, north = np.mean(_points_m(plot, mark.attrib["d"].rstrip("Z")), axis=0)
        assert (east, north) == pytest.approx((east_m(step), 0.0), abs=0.02)
        assert str(mark.findtext("title")).endswith("CRITICAL  COLLISION: tree <4>")
    assert [text.text for text in plot.element.iter("text")].count("collision") == 2


COORDINATE = st.floats(-1e3, 1e3)


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.just(2)), elements=COORDINATE))
def test_a_hull_turns_left_and_holds_every_point(
    points: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    outline = hull(points.tolist())
    assert {*outline} <= {tuple(point) for point in points.tolist()}
    for start, end in zip(outline, outline[1:] + outline[:1], strict=True):
        edge = np.subtract(end, start)
        away = points - start
        assert (edge[0] * away[:, 1] - edge[1] * away[:, 0] >= -1e-6).all()


@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=3, max_size=12))
def test_what_is_clipped_lies_inside_and_stays_where_it_was(points: Points) -> None:
    outline = hull(points)
    seen = clipped(outline, (-100.0, 200.0), (-50.0, 60.0))
    for x, y in seen:
        assert -100.001 <= x <= 200.001
        assert -50.001 <= y <= 60.001
    if all(-100.0 <= x <= 200.0 and -50.0 <= y <= 60.0 for x, y in outline):
        assert seen == outline


@given(st.lists(st.tuples(COORDINATE, COORDINATE, st.floats(0.01, 1e4)), max_size=6))
def test_no_world_widens_the_view_by_more_than_five_metres(
    boxes: list[tuple[float, float, float]],
) -> None:
    plan = plan_of(scene(boxes=[solid((x, y, 0.0), (size, size, 1.0)) for x, y, size in boxes]))
    (west, east), (south, north) = with_neighbours(plan, (-10.0, 30.0), (0.0, 4.0))
    assert -15.0 <= west <= -10.0
    assert 30.0 <= east <= 35.0
    assert -5.0 <= south <= 0.0
    assert 4.0 <= north <= 9.0


def _solids(plot: Plot) -> list[ET.Element]:
    return [path for path in plot.element.iter("path") if "solid" in path.attrib["class"]]


def _outlines_m(plot: Plot, path: ET.Element) -> list[Points]:
    return [_points_m(plot, outline) for outline in path.attrib["d"].split("Z")[:-1]]


def _are_corners(outline: Points, expected: Points) -> bool:
    away_m = np.abs(np.array(outline)[:, None] - np.array(expected)[None]).max(axis=2)
    return len(outline) == len(expected) and bool((away_m.min(axis=0) < 0.01).all())


def _points_m(plot: Plot, outline: str) -> Points:
    px_per_m, (west, north) = _scale(plot)
    xy = (map(float, point.split(",")) for point in outline.removeprefix("M").split(" "))
    return [(west + x / px_per_m, north - y / px_per_m) for x, y in xy]


def _scale(plot: Plot) -> tuple[float, tuple[float, float]]:
    """Pixels a metre, and the place of the upper left corner."""
    west, east, north = (
        float(plot.element.attrib[f"data-{end}"]) for end in ("east-low", "east-high", "north-high")
    )
    return plot.width_px / (east - west), (west, north)


def _numbers(drawn: str) -> list[float]:
    return [float(value) for value in re.findall(r"-?[\d.]+", drawn)]


def _rotated(x: float, y: float, degrees: float) -> tuple[float, float]:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return (c * x - s * y, s * x + c * y)


def _area(outline: Points) -> float:
    ends = outline[1:] + outline[:1]
    return 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(outline, ends, strict=True))
