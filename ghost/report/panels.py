"""Which charts a flight has, and why one is missing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ghost.report.attitude import degrees_zyx, on_the_same_turn
from ghost.report.axis import TimeAxis
from ghost.report.chart import NAMES, Band, Line, Row, chart
from ghost.report.flight import Flight, FloatArray, IntArray

_COMPONENTS_ENU = ("east", "north", "up")


@dataclass(frozen=True, slots=True)
class Panel:
    """A section of the report: a chart, or a note that says what the log lacks."""

    name: str
    title: str
    body: str
    is_missing: bool = False
    caption: str = ""


def panels(flight: Flight, axis: TimeAxis) -> list[Panel]:
    makers: list[Callable[[Flight, TimeAxis], Panel | None]] = [
        _height,
        _attitude,
        _rates,
        _estimate_error,
        _motors,
        _battery,
        _wind,
    ]
    return [panel for make in makers if (panel := make(flight, axis))]


def _height(flight: Flight, axis: TimeAxis) -> Panel:
    lines = _compared(flight, lambda source: source.position_enu_m[:, 2])
    row = Row("up", "m", lines, least_span=1.0, height_px=150.0)
    return _drawn("height", "Height", [row], axis, "Above the origin of the local frame.")


def _attitude(flight: Flight, axis: TimeAxis) -> Panel:
    sources = _sources(flight)
    angles = {style: degrees_zyx(source.attitude) for style, source in sources.items()}
    rows = []
    for column, (name, least_span) in enumerate((("roll", 4.0), ("pitch", 4.0), ("yaw", 10.0))):
        series = [
            (style, source.stamp_ns, angles[style][:, column]) for style, source in sources.items()
        ]
        if name == "yaw":
            series = on_the_same_turn(series)
        lines = [Line(NAMES[style], style, stamp_ns, values) for style, stamp_ns, values in series]
        rows.append(Row(name, "°", lines, least_span=least_span))
    return _drawn("attitude", "Attitude", rows, axis)


def _rates(flight: Flight, axis: TimeAxis) -> Panel:
    rows = []
    for column, name in enumerate(("about x, forward", "about y, left", "about z, up")):

        def rate_dps(source: _Source, column: int = column) -> FloatArray:
            return np.degrees(source.rate_flu_rps[:, column])

        rows.append(Row(name, "°/s", _compared(flight, rate_dps), least_span=8.0, height_px=96.0))
    return _drawn("rates", "Body rates", rows, axis)


def _estimate_error(flight: Flight, axis: TimeAxis) -> Panel:
    name, title = "estimate", "Estimate minus truth"
    if flight.truth is None or flight.estimate is None:
        lacking = "an estimate" if flight.truth else "ground truth"
        return _missing(name, title, f"the log holds no {lacking.removeprefix('an ')}")
    truth, estimate = flight.truth.motion, flight.estimate.motion
    rows = []
    for column, component in enumerate(_COMPONENTS_ENU):
        true_m = _interpolated(estimate.stamp_ns, truth.stamp_ns, truth.position_enu_m[:, column])
        error_m = estimate.position_enu_m[:, column] - true_m
        band_m = 3.0 * flight.estimate.position_sigma_m[:, column]
        limit_m = _error_limit(error_m, band_m)
        rows.append(
            Row(
                component,
                "m",
                [Line("error", "estimate", estimate.stamp_ns, error_m)],
                limits=(-limit_m, limit_m),
                band=Band("±3 \N{GREEK SMALL LETTER SIGMA}", estimate.stamp_ns, band_m),
                note=_inside(error_m, band_m),
            )
        )
    caption = "Position, with the band in which the estimator claims to be."
    return _drawn(name, title, rows, axis, caption)


def _motors(flight: Flight, axis: TimeAxis) -> Panel:
    name, title = "motors", "Motor outputs"
    if flight.control is None or not np.isfinite(flight.control.motors).any():
        return _missing(name, title, "the log holds no motor outputs")
    lines = [
        Line(f"motor {index}", f"c{index % 8}", flight.control.stamp_ns, 100.0 * values)
        for index, values in enumerate(flight.control.motors.T)
    ]
    row = Row("output", "%", lines, limits=(0.0, 105.0), height_px=150.0)
    return _drawn(name, title, [row], axis)


def _battery(flight: Flight, axis: TimeAxis) -> Panel:
    battery = flight.battery
    if battery is None:
        return _missing("battery", "Battery", "the log holds no battery samples")
    voltage = Line("voltage", "c0", battery.stamp_ns, battery.voltage_v)
    charge = Line("charge", "c2", battery.stamp_ns, 100.0 * battery.remaining)
    rows = [
        Row("voltage", "V", [voltage], least_span=0.5, height_px=88.0),
        Row("charge", "%", [charge], limits=(0.0, 105.0), height_px=88.0),
    ]
    return _drawn("battery", "Battery", rows, axis)


def _wind(flight: Flight, axis: TimeAxis) -> Panel | None:
    """Only where there was any; calm air needs no chart, and hardware doesn't know its wind."""
    if flight.truth is None or not np.nan_to_num(flight.truth.wind_enu_mps).any():
        return None
    lines = [
        Line(component, f"c{column}", flight.truth.motion.stamp_ns, values)
        for column, (component, values) in enumerate(
            zip(_COMPONENTS_ENU, flight.truth.wind_enu_mps.T, strict=True)
        )
    ]
    row = Row("towards", "m/s", lines, least_span=1.0)
    return _drawn("wind", "Wind", [row], axis)


@dataclass(frozen=True, slots=True)
class _Source:
    """Truth, estimate or set-points: what one colour shows."""

    stamp_ns: IntArray
    position_enu_m: FloatArray
    attitude: FloatArray
    rate_flu_rps: FloatArray


def _sources(flight: Flight) -> dict[str, _Source]:
    found = {
        "truth": flight.truth and flight.truth.motion,
        "estimate": flight.estimate and flight.estimate.motion,
        "setpoint": flight.control,
    }
    return {
        style: _Source(each.stamp_ns, each.position_enu_m, each.attitude, each.rate_flu_rps)
        for style, each in found.items()
        if each
    }


def _compared(flight: Flight, values_of: Callable[[_Source], FloatArray]) -> list[Line]:
    return [
        Line(NAMES[style], style, source.stamp_ns, values_of(source))
        for style, source in _sources(flight).items()
    ]


def _drawn(name: str, title: str, rows: list[Row], axis: TimeAxis, caption: str = "") -> Panel:
    """A note instead of the chart where no row has a line with anything to draw."""
    if not any(np.isfinite(each.values).any() for row in rows for each in row.lines):
        return _missing(name, title, "the log holds no truth, estimate or set-point of it")
    return Panel(name, title, chart(rows, axis, label=f"{title} over time"), caption=caption)


def _missing(name: str, title: str, why: str) -> Panel:
    return Panel(name, title, f"Left out: {why}.", is_missing=True)


def _interpolated(at_ns: IntArray, stamp_ns: IntArray, values: FloatArray) -> FloatArray:
    return np.interp(at_ns, stamp_ns, values, left=np.nan, right=np.nan)


def _error_limit(error_m: FloatArray, band_m: FloatArray) -> float:
    """The whole error, and of the band what isn't a settling filter's first seconds."""
    largest_m = np.nanmax(np.abs(error_m)) if np.isfinite(error_m).any() else 0.0
    usual_m = np.nanpercentile(band_m, 95) if np.isfinite(band_m).any() else 0.0
    return max(0.05, 1.1 * float(largest_m), 1.2 * float(usual_m))


def _inside(error_m: FloatArray, band_m: FloatArray) -> str:
    known = np.isfinite(error_m) & np.isfinite(band_m)
    if not known.any():
        return ""
    share = np.count_nonzero(np.abs(error_m[known]) <= band_m[known]) / np.count_nonzero(known)
    return f"{100.0 * share:.1f} % of the time inside the band"
