"""Time charts: rows of lines over one time axis, with their legends beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ghost.report.axis import Scale, TimeAxis, domain, tick_texts, ticks
from ghost.report.flight import FloatArray, IntArray
from ghost.report.svg import line, path_data, tag, text
from ghost.report.thin import thinned

WIDTH_PX = 1120.0
LEFT_PX = 56.0
PLOT_PX = 894.0
LEGEND_PX = LEFT_PX + PLOT_PX + 18.0
# What has one colour throughout the report, by its style.
NAMES = {"truth": "truth", "estimate": "estimate", "setpoint": "set-point"}
_HEADING_PX = 22.0
_GAP_PX = 14.0
_AXIS_PX = 26.0
_KEY_PX = 17.0
_BAND_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A named series. style is the style sheet's: truth, estimate, setpoint, or c0 to c7."""

    name: str
    style: str
    stamp_ns: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Band:
    """The area between the negative and the positive of some half width."""

    name: str
    stamp_ns: IntArray
    half_width: FloatArray


@dataclass(frozen=True, slots=True)
class Row:
    """One plot. limits fixes the vertical axis; otherwise the data do, least_span at least."""

    title: str
    unit: str
    lines: Sequence[Line]
    least_span: float = 1.0
    limits: tuple[float, float] | None = None
    band: Band | None = None
    note: str = ""
    height_px: float = 112.0


def chart(rows: Sequence[Row], axis: TimeAxis, *, label: str) -> str:
    """An SVG of the rows, one below the other; the time is written under the last."""
    top_px, parts = 0.0, []
    for row in rows:
        height_px = _height_px(row)
        parts.append(
            tag(
                "g",
                _heading(row),
                _plot(row, axis, height_px),
                _legend(row),
                class_="row",
                transform=f"translate(0 {top_px:g})",
            )
        )
        top_px += _HEADING_PX + height_px + _GAP_PX
    top_px -= _GAP_PX
    return time_svg(top_px + _AXIS_PX, "".join(parts) + time_labels(axis, top_px), label=label)


def time_svg(height_px: float, content: str, *, label: str) -> str:
    return tag(
        "svg",
        content,
        class_="time",
        viewBox=f"0 0 {WIDTH_PX:g} {height_px:g}",
        role="img",
        aria_label=label,
    )


def time_labels(axis: TimeAxis, top_px: float) -> str:
    labels = [
        text(shown, x=LEFT_PX + axis.at(stamp_ns), y=top_px + 17.0, class_="tick middle")
        for stamp_ns, shown in axis.ticks()
    ]
    in_minutes = any(":" in shown for _, shown in axis.ticks())
    unit = "min:s" if in_minutes else "s"
    return "".join(labels) + text(unit, x=LEGEND_PX, y=top_px + 17.0, class_="tick")


def time_grid(axis: TimeAxis, height_px: float) -> str:
    """Tinted spans and a line at each tick, in the coordinates of a plot."""
    tints = [
        tag(
            "rect",
            x=axis.at(start_ns),
            y=0,
            width=axis.at(end_ns) - axis.at(start_ns),
            height=height_px,
            class_="shade",
        )
        for start_ns, end_ns in axis.shades
    ]
    lines = [
        line(axis.at(stamp_ns), 0, axis.at(stamp_ns), height_px, class_="grid")
        for stamp_ns, _ in axis.ticks()
    ]
    return "".join(tints + lines)


def _height_px(row: Row) -> float:
    keys = len(row.lines) + (row.band is not None)
    return max(row.height_px, keys * _KEY_PX)


def _heading(row: Row) -> str:
    unit = f" {row.unit}" if row.unit else ""
    note = text(row.note, x=LEFT_PX + PLOT_PX, y=14.0, class_="note end") if row.note else ""
    title = tag("tspan", row.title, class_="strong") + unit
    return tag("text", title, x=LEFT_PX, y=14.0, class_="heading") + note


def _plot(row: Row, axis: TimeAxis, height_px: float) -> str:
    low, high = row.limits or domain([each.values for each in row.lines], least_span=row.least_span)
    scale = Scale(low, high, height_px, 0.0)
    marks = ticks(low, high, most=max(2, int(height_px / 26)))
    grid = [line(0, scale.at(mark), PLOT_PX, scale.at(mark), class_="grid") for mark in marks]
    labels = [
        text(shown, x=LEFT_PX - 8, y=_HEADING_PX + scale.at(mark) + 3.5, class_="tick end")
        for mark, shown in zip(marks, tick_texts(marks), strict=True)
    ]
    plot = tag(
        "svg",
        time_grid(axis, height_px),
        "".join(grid),
        _band(row.band, axis, scale) if row.band else "",
        *(_series(each, axis, scale) for each in row.lines),
        class_="plot",
        x=LEFT_PX,
        y=_HEADING_PX,
        width=PLOT_PX,
        height=height_px,
        data_low=f"{low:.9g}",
        data_high=f"{high:.9g}",
        data_decimals=_decimals(high - low),
    )
    frame = line(
        LEFT_PX, _HEADING_PX + height_px, LEFT_PX + PLOT_PX, _HEADING_PX + height_px, class_="base"
    )
    return plot + frame + "".join(labels)


def _series(each: Line, axis: TimeAxis, scale: Scale) -> str:
    rows = thinned(each.values)
    drawn = path_data(axis.px(each.stamp_ns[rows]), scale.px(each.values[rows]))
    return tag("path", d=drawn, class_=f"series {each.style}", data_name=each.name)


def _band(band: Band, axis: TimeAxis, scale: Scale) -> str:
    """One closed outline for each stretch without a gap."""
    rows = thinned(band.half_width, _BAND_LIMIT)
    x_px, half = axis.px(band.stamp_ns[rows]), band.half_width[rows]
    finite = np.isfinite(half)
    edges = np.flatnonzero(np.diff(finite.astype(np.int8))) + 1
    outlines = [
        path_data(
            np.concatenate([x_px[part], x_px[part][::-1]]),
            scale.px(np.concatenate([half[part], -half[part][::-1]])),
        )
        for part in np.split(np.arange(len(rows)), edges)
        if part.size and finite[part[0]]
    ]
    return tag("path", d="".join(f"{outline}Z" for outline in outlines), class_="band")


def _legend(row: Row) -> str:
    keys = []
    for index, each in enumerate(row.lines):
        y = _HEADING_PX + 10.0 + index * _KEY_PX
        keys += [
            line(LEGEND_PX, y - 3.5, LEGEND_PX + 16, y - 3.5, class_=f"series {each.style}"),
            text(each.name, x=LEGEND_PX + 23, y=y, class_="key"),
            text("", x=WIDTH_PX, y=y, class_="value end"),
        ]
    if row.band:
        y = _HEADING_PX + 10.0 + len(row.lines) * _KEY_PX
        keys += [
            tag("rect", x=LEGEND_PX, y=y - 9, width=16, height=10, class_="band"),
            text(row.band.name, x=LEGEND_PX + 23, y=y, class_="key"),
        ]
    return "".join(keys)


def _decimals(span: float) -> int:
    return min(5, max(1, 2 - math.floor(math.log10(span))))
