"""The page: header, figures, track, charts and events, in one file with its style and script."""

from collections.abc import Sequence
from importlib.resources import files

from ghost.report.axis import TimeAxis
from ghost.report.chart import PLOT_PX
from ghost.report.figures import Figures
from ghost.report.flight import Flight
from ghost.report.header import header
from ghost.report.panels import Panel, panels
from ghost.report.svg import escape, tag
from ghost.report.timeline import mission_steps, most_telling, timeline
from ghost.report.track import track
from ghost.telemetry import Manifest

# Whatever a log's texts say, the page loads nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(manifest: Manifest, flight: Flight, figures: Figures, log_sha256: str) -> str:
    steps = mission_steps(flight)
    axis = TimeAxis(
        flight.start_ns,
        flight.end_ns,
        PLOT_PX,
        tuple((step.start_ns, step.end_ns) for step in steps[1::2]),
    )
    has_time = flight.end_ns > flight.start_ns
    main = [
        header(manifest, flight, figures, log_sha256, _track(flight, figures, axis)),
        *(_time_charts(flight, axis) if has_time else [_empty(flight)]),
        _events(flight),
    ]
    return _document(f"{manifest.robot}, {manifest.scenario}, seed {manifest.seed}", main)


def _document(title: str, main: Sequence[str]) -> str:
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            tag("title", escape(title)),
            tag("style", _resource("style.css")),
            "</head>",
            "<body>",
            tag("main", *(f"\n{part}" for part in main if part)),
            tag("script", _resource("cursor.js")),
            "</body>",
            "</html>",
            "",
        ]
    )


def _track(flight: Flight, figures: Figures, axis: TimeAxis) -> str:
    drawn = track(flight, figures, axis)
    if not drawn:
        return _section(
            Panel(
                "track",
                "Track from above",
                "Left out: the log holds no positions.",
                is_missing=True,
            )
        )
    return _section(Panel("track", "Track from above", drawn))


def _time_charts(flight: Flight, axis: TimeAxis) -> list[str]:
    line = tag(
        "section",
        timeline(flight, axis),
        id="timeline",
        class_="timeline",
        data_start=f"{axis.start_ns / 1e9:.9g}",
        data_end=f"{axis.end_ns / 1e9:.9g}",
    )
    return [line, *(_section(panel) for panel in panels(flight, axis))]


def _section(panel: Panel) -> str:
    caption = tag("p", escape(panel.caption), class_="caption") if panel.caption else ""
    body = tag("p", escape(panel.body), class_="missing") if panel.is_missing else panel.body
    title = tag("div", tag("h2", escape(panel.title)), caption, class_="title")
    return tag("section", title, body, id=panel.name)


def _empty(flight: Flight) -> str:
    why = f"{flight.message_count} messages" if flight.message_count else "no messages"
    return _section(
        Panel(
            "charts", "Charts", f"Left out: the log holds {why} and spans no time.", is_missing=True
        )
    )


def _events(flight: Flight) -> str:
    if not flight.events:
        return _section(Panel("events", "Events", "There were none.", is_missing=True))
    shown = most_telling(flight.events)
    rows = [
        tag(
            "tr",
            tag("td", f"{event.stamp_ns / 1e9:.2f}", class_="number"),
            tag(
                "td", event.severity.name.lower(), class_=f"severity {event.severity.name.lower()}"
            ),
            tag("td", escape(event.kind)),
            tag("td", escape(event.source)),
            tag("td", escape(event.text)),
        )
        for event in shown
    ]
    columns = [
        tag("th", name, class_="number" if name == "s" else None)
        for name in ("s", "severity", "kind", "source", "text")
    ]
    table = tag("table", tag("thead", tag("tr", *columns)), tag("tbody", *rows))
    left_out = len(flight.events) - len(shown)
    caption = f"The gravest {len(shown)}; {left_out} others are in the log." if left_out else ""
    return _section(Panel("events", "Events", tag("div", table, class_="scroll"), caption=caption))


def _resource(name: str) -> str:
    return files("ghost.report").joinpath(name).read_text(encoding="utf-8")
