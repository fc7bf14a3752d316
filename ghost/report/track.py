"""The track from above, a metre as long to the east as to the north."""

from dataclasses import dataclass

import numpy as np

from ghost.events import EventKind
from ghost.report.axis import Scale, TimeAxis, domain, tick_step, tick_texts, ticks_every
from ghost.report.chart import NAMES
from ghost.report.figures import Figures
from ghost.report.flight import Flight, FloatArray, Motion
from ghost.report.summary import Place
from ghost.report.svg import escape, line, number, path_data, tag, text
from ghost.report.thin import thinned_path
from ghost.report.timeline import event_text
from ghost.report.world import Plan, plan_of, with_neighbours, world

_WIDTH_PX, _HEIGHT_PX = 660.0, 520.0
_LEFT_PX, _TOP_PX, _BOTTOM_PX, _RIGHT_PX = 52.0, 8.0, 46.0, 8.0
_PLOT_WIDTH_PX = _WIDTH_PX - _LEFT_PX - _RIGHT_PX
_PLOT_HEIGHT_PX = _HEIGHT_PX - _TOP_PX - _BOTTOM_PX
_LEAST_SPAN_M = 0.5
_APART_PX = 8.0


@dataclass(frozen=True, slots=True)
class _Paper:
    east: Scale
    north: Scale


def track(flight: Flight, figures: Figures, axis: TimeAxis) -> str:
    """Empty where the log holds no positions."""
    paths = _paths(flight)
    if not any(np.isfinite(position_m).any() for _, position_m in paths):
        return ""
    plan = plan_of(flight.scene) if flight.scene else None
    paper = _paper([position_m for _, position_m in paths], plan)
    solids = world(plan, paper.east, paper.north) if plan else ""
    legend, legend_end_px = _legend(paths, has_world=bool(solids))
    plot = tag(
        "svg",
        _grid(paper),
        solids,
        *(_path(style, position_m, paper) for style, position_m in paths),
        _followed(flight.motion, paper, axis) if flight.motion else "",
        _waypoints(flight, paper),
        _collisions(flight, paper),
        _mark(figures.summary.home_enu_m, "home", paper),
        _mark(figures.summary.landed_enu_m, "landing", paper),
        class_="plot",
        x=_LEFT_PX,
        y=_TOP_PX,
        width=_PLOT_WIDTH_PX,
        height=_PLOT_HEIGHT_PX,
        data_east_low=f"{paper.east.low:.9g}",
        data_east_high=f"{paper.east.high:.9g}",
        data_north_low=f"{paper.north.low:.9g}",
        data_north_high=f"{paper.north.high:.9g}",
    )
    return tag(
        "svg",
        plot,
        _labels(paper, legend_end_px),
        legend,
        _scale_bar(paper),
        class_="track",
        viewBox=f"0 0 {_WIDTH_PX:g} {_HEIGHT_PX:g}",
        role="img",
        aria_label="Track from above: truth, estimate and set-point",
    )


def _paths(flight: Flight) -> list[tuple[str, FloatArray]]:
    paths = []
    if flight.truth:
        paths.append(("truth", flight.truth.motion.position_enu_m))
    if flight.estimate:
        paths.append(("estimate", flight.estimate.motion.position_enu_m))
    if flight.control:
        paths.append(("setpoint", flight.control.position_enu_m))
    return paths


def _paper(positions_m: list[FloatArray], plan: Plan | None) -> _Paper:
    """Both axes at one scale, the narrower one widened about its middle."""
    east = domain([each[:, 0] for each in positions_m], least_span=_LEAST_SPAN_M, margin=0.08)
    north = domain([each[:, 1] for each in positions_m], least_span=_LEAST_SPAN_M, margin=0.08)
    if plan:
        east, north = with_neighbours(plan, east, north)
    metre_per_px = max(
        (east[1] - east[0]) / _PLOT_WIDTH_PX, (north[1] - north[0]) / _PLOT_HEIGHT_PX
    )
    return _Paper(
        _centred(east, metre_per_px, 0.0, _PLOT_WIDTH_PX),
        _centred(north, metre_per_px, _PLOT_HEIGHT_PX, 0.0),
    )


def _centred(
    span_m: tuple[float, float], metre_per_px: float, start_px: float, end_px: float
) -> Scale:
    middle_m = (span_m[0] + span_m[1]) / 2
    half_m = metre_per_px * abs(end_px - start_px) / 2
    return Scale(middle_m - half_m, middle_m + half_m, start_px, end_px)


def _path(style: str, position_m: FloatArray, paper: _Paper) -> str:
    east_px, north_px = paper.east.px(position_m[:, 0]), paper.north.px(position_m[:, 1])
    rows = thinned_path(east_px, north_px)
    drawn = path_data(east_px[rows], north_px[rows])
    return tag("path", d=drawn, class_=f"series {style}", data_name=style)


def _followed(motion: Motion, paper: _Paper, axis: TimeAxis) -> str:
    """An unseen copy of the path that knows its times: the cursor of the charts runs along it."""
    east_px = paper.east.px(motion.position_enu_m[:, 0])
    north_px = paper.north.px(motion.position_enu_m[:, 1])
    rows = thinned_path(east_px, north_px)
    rows = rows[np.isfinite(east_px[rows]) & np.isfinite(north_px[rows])]
    times = " ".join(number(x, 1) for x in axis.px(motion.stamp_ns[rows]).tolist())
    return tag(
        "path", d=path_data(east_px[rows], north_px[rows]), class_="followed", data_time=times
    )


def _waypoints(flight: Flight, paper: _Paper) -> str:
    """Where the vehicle was as it reached each, which is what the log knows of them."""
    if flight.motion is None:
        return ""
    marks = []
    for event in flight.events:
        reached = event.kind == EventKind.WAYPOINT_REACHED
        if reached or event.kind == EventKind.WAYPOINT_MISSED:
            place = _at(flight.motion, event.stamp_ns)
            x, y = paper.east.at(place[0]), paper.north.at(place[1])
            if not (np.isfinite(x) and np.isfinite(y)):
                continue
            label = text(event.payload.get("waypoint", ""), x=x + 9, y=y - 9, class_="mark")
            style = "waypoint" if reached else "waypoint missed"
            marks.append(tag("circle", cx=x, cy=y, r=4.5, class_=style) + label)
    return "".join(marks)


def _collisions(flight: Flight, paper: _Paper) -> str:
    """Where the vehicle was as each happened; one mark where several would cover each other."""
    if flight.motion is None:
        return ""
    marks: list[str] = []
    last_px = np.full(2, np.inf)
    for event in flight.events:
        if event.kind != EventKind.COLLISION:
            continue
        place = _at(flight.motion, event.stamp_ns)
        at_px: FloatArray = np.array([paper.east.at(place[0]), paper.north.at(place[1])])
        if np.isfinite(at_px).all() and np.abs(at_px - last_px).max() >= _APART_PX:
            marks.append(_burst(at_px[0], at_px[1], event_text(event)))
            last_px = at_px
    return "".join(marks)


def _burst(x: float, y: float, said: str) -> str:
    """A star of eight points."""
    angle = np.arange(16) * (np.pi / 8.0)
    reach_px = np.where(np.arange(16) % 2, 4.5, 10.0)
    star = path_data(x + reach_px * np.sin(angle), y - reach_px * np.cos(angle))
    shape = tag("path", tag("title", escape(said)), d=f"{star}Z", class_="collision")
    return shape + text("collision", x=x + 10, y=y - 10, class_="mark grave")


def _at(motion: Motion, stamp_ns: int) -> FloatArray:
    row = int(np.searchsorted(motion.stamp_ns, stamp_ns))
    place_m: FloatArray = motion.position_enu_m[min(row, len(motion.stamp_ns) - 1)]
    return place_m


def _mark(place_m: Place | None, name: str, paper: _Paper) -> str:
    """A ring where it took off, a cross where it landed: one inside the other if all went well."""
    if place_m is None:
        return ""
    x, y = paper.east.at(place_m[0]), paper.north.at(place_m[1])
    if name == "home":
        shape = tag("circle", cx=x, cy=y, r=8.0, class_="home")
        return shape + text(name, x=x - 13, y=y + 4, class_="mark end")
    cross = f"M{x - 5:.1f},{y - 5:.1f}l10,10m0,-10l-10,10"
    return tag("path", d=cross, class_="landing") + text(name, x=x + 6, y=y + 22, class_="mark")


def _grid(paper: _Paper) -> str:
    east, north = _ticks(paper)
    columns = [
        line(paper.east.at(m), 0, paper.east.at(m), _PLOT_HEIGHT_PX, class_="grid") for m in east
    ]
    rows = [
        line(0, paper.north.at(m), _PLOT_WIDTH_PX, paper.north.at(m), class_="grid") for m in north
    ]
    return "".join(columns + rows)


def _ticks(paper: _Paper) -> tuple[list[float], list[float]]:
    """The same step on both axes, so that the grid is made of squares."""
    step = _step(paper)
    return (
        ticks_every(step, paper.east.low, paper.east.high),
        ticks_every(step, paper.north.low, paper.north.high),
    )


def _step(paper: _Paper) -> float:
    return tick_step(paper.east.low, paper.east.high, 9)


def _labels(paper: _Paper, legend_end_px: float) -> str:
    east, north = _ticks(paper)
    bottom_px = _TOP_PX + _PLOT_HEIGHT_PX
    below = [
        text(shown, x=_LEFT_PX + paper.east.at(m), y=bottom_px + 17, class_="tick middle")
        for m, shown in zip(east, tick_texts(east), strict=True)
    ]
    beside = [
        text(shown, x=_LEFT_PX - 8, y=_TOP_PX + paper.north.at(m) + 3.5, class_="tick end")
        for m, shown in zip(north, tick_texts(north), strict=True)
    ]
    middle_px = _TOP_PX + _PLOT_HEIGHT_PX / 2
    beside_legend_px = max(_LEFT_PX + _PLOT_WIDTH_PX / 2, legend_end_px + 26.0)
    names = [
        text("east, m", x=beside_legend_px, y=_HEIGHT_PX - 6, class_="tick middle"),
        text(
            "north, m",
            x=0,
            y=0,
            class_="tick middle",
            transform=f"translate(12 {middle_px:g}) rotate(-90)",
        ),
    ]
    return "".join(below + beside + names)


def _legend(paths: list[tuple[str, FloatArray]], *, has_world: bool) -> tuple[str, float]:
    """And where it ends."""
    keys = []
    x, y = _LEFT_PX, _HEIGHT_PX - 6.0
    for style, _ in paths:
        name = NAMES[style]
        keys.append(line(x, y - 3.5, x + 16, y - 3.5, class_=f"series {style}"))
        keys.append(text(name, x=x + 22, y=y, class_="key"))
        x += 40.0 + 6.0 * len(name)
    if has_world:
        keys.append(tag("rect", x=x, y=y - 9, width=16, height=10, class_="world-key"))
        keys.append(text("world", x=x + 22, y=y, class_="key"))
        x += 70.0
    return "".join(keys), x


def _scale_bar(paper: _Paper) -> str:
    length_m = _step(paper)
    right_px, y = _LEFT_PX + _PLOT_WIDTH_PX - 1.0, _HEIGHT_PX - 10.0
    left_px = right_px - (paper.east.at(length_m) - paper.east.at(0.0))
    bar = f"M{left_px:.1f},{y - 4:.1f}v8m0,-4H{right_px:.1f}m0,-4v8"
    label = text(f"{length_m:g} m", x=left_px - 8, y=y + 4, class_="tick end")
    return tag("path", d=bar, class_="scale") + label
