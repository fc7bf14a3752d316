"""What happened when: mission steps, modes and events, over the same axis as the charts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ghost.events import Event, EventKind, Severity
from ghost.hal import EstimateHealth, Failsafe
from ghost.report.axis import TimeAxis
from ghost.report.chart import (
    LEFT_PX,
    LEGEND_PX,
    PLOT_PX,
    WIDTH_PX,
    time_grid,
    time_labels,
    time_svg,
)
from ghost.report.flight import Flight, IntArray
from ghost.report.svg import escape, tag, text

MOST_EVENTS = 400
_LANE_PX = 26.0
_DOT_PX = 9.0
_DOT_ROWS = 3
_LETTER_PX = 6.4
_STEP_ENDS = (
    EventKind.STEP_FINISHED,
    EventKind.STEP_TIMED_OUT,
    EventKind.MISSION_FINISHED,
    EventKind.MISSION_ABORTED,
    EventKind.MISSION_INTERRUPTED,
    EventKind.MISSION_FAILED,
)


@dataclass(frozen=True, slots=True)
class Span:
    start_ns: int
    end_ns: int
    name: str
    is_grave: bool = False


def mission_steps(flight: Flight) -> list[Span]:
    """From each start of a step to its end, or to the log's."""
    steps: list[Span] = []
    is_open = False
    for event in flight.events:
        if is_open and event.kind in {*_STEP_ENDS, EventKind.STEP_STARTED}:
            timed_out = event.kind == EventKind.STEP_TIMED_OUT
            steps[-1] = replace(steps[-1], end_ns=event.stamp_ns, is_grave=timed_out)
            is_open = False
        if event.kind == EventKind.STEP_STARTED:
            name = str(event.payload.get("name", event.text))
            steps.append(Span(event.stamp_ns, flight.end_ns, name))
            is_open = True
    return steps


def most_telling(events: Sequence[Event]) -> list[Event]:
    """All of them, or if they are too many to show, the gravest and then the first."""
    gravest = sorted(range(len(events)), key=lambda index: (-events[index].severity, index))
    return [events[index] for index in sorted(gravest[:MOST_EVENTS])]


def timeline(flight: Flight, axis: TimeAxis) -> str:
    lanes = [lane for lane in _lanes(flight) if lane[1]]
    events = most_telling(flight.events)
    height_px = len(lanes) * _LANE_PX + (_DOT_ROWS * _DOT_PX + 9.0 if events else 0.0)
    content = [
        tag(
            "svg",
            time_grid(axis, height_px),
            *(_lane(spans, axis, index * _LANE_PX) for index, (_, spans) in enumerate(lanes)),
            _dots(events, axis, len(lanes) * _LANE_PX),
            class_="plot lanes",
            x=LEFT_PX,
            y=0,
            width=PLOT_PX,
            height=height_px,
        )
    ]
    names = [name for name, _ in lanes] + (["events"] if events else [])
    for index, name in enumerate(names):
        content.append(text(name, x=LEFT_PX - 8, y=index * _LANE_PX + 17, class_="tick end"))
    content += [
        text("", x=WIDTH_PX, y=17, class_="cursor-time end"),
        _severities(events, len(lanes) * _LANE_PX),
        time_labels(axis, height_px),
    ]
    label = "Mission steps, flight modes and events over time"
    return time_svg(height_px + 26.0, "".join(content), label=label)


def _lanes(flight: Flight) -> list[tuple[str, list[Span]]]:
    """Failsafe and estimate appear only where there is something to say."""
    lanes = [("step", mission_steps(flight))]
    if flight.status:
        says = flight.status.messages
        modes = _spans(flight.status.stamp_ns, [each.mode.name for each in says], flight.end_ns)
        acts = _spans(flight.status.stamp_ns, [each.failsafe.name for each in says], flight.end_ns)
        lanes += [("mode", modes), ("failsafe", _grave(acts, Failsafe.NONE.name))]
    if flight.estimate:
        stamp_ns, verdicts = flight.estimate.motion.stamp_ns, flight.estimate.verdict
        spans = _spans(stamp_ns, verdicts, flight.end_ns)
        lanes.append(("estimate", _grave(spans, EstimateHealth.GOOD.name)))
    return lanes


def _spans(stamp_ns: IntArray, words: Sequence[str], end_ns: int) -> list[Span]:
    """Runs of the same word."""
    spans: list[Span] = []
    for stamp, word in zip(stamp_ns.tolist(), words, strict=True):
        if spans and spans[-1].name == word:
            continue
        if spans:
            spans[-1] = replace(spans[-1], end_ns=stamp)
        spans.append(Span(stamp, end_ns, word))
    return [replace(span, name=span.name.lower().replace("_", " ")) for span in spans]


def _grave(spans: list[Span], fine: str) -> list[Span]:
    return [replace(span, is_grave=True) for span in spans if span.name != fine.lower()]


def _lane(spans: Sequence[Span], axis: TimeAxis, top_px: float) -> str:
    boxes = []
    for span in spans:
        left_px, right_px = axis.at(span.start_ns), axis.at(span.end_ns)
        width_px = max(2.0, right_px - left_px - 2.0)
        fits = len(span.name) * _LETTER_PX + 10.0 <= width_px
        hover = f"{span.name}, {span.start_ns / 1e9:.2f} to {span.end_ns / 1e9:.2f} s"
        boxes.append(
            tag(
                "g",
                tag("title", escape(hover)),
                tag("rect", x=left_px + 1, y=top_px + 3, width=width_px, height=20, rx=3),
                text(span.name, x=left_px + 7, y=top_px + 17) if fits else "",
                class_="span grave" if span.is_grave else "span",
            )
        )
    return "".join(boxes)


def _dots(events: Sequence[Event], axis: TimeAxis, top_px: float) -> str:
    """Events that would hide each other go into the next row."""
    last_px = [-_DOT_PX] * _DOT_ROWS
    dots = []
    for event in events:
        x = min(max(axis.at(event.stamp_ns), 0.0), axis.width_px)
        row = next((row for row in range(_DOT_ROWS) if x - last_px[row] >= _DOT_PX), _DOT_ROWS - 1)
        last_px[row] = x
        y = top_px + 9.0 + row * _DOT_PX
        dots.append(
            tag(
                "circle",
                tag("title", escape(event_text(event))),
                cx=x,
                cy=y,
                r=3.6,
                class_=f"event {event.severity.name.lower()}",
            )
        )
    return "".join(dots)


def event_text(event: Event) -> str:
    said = f": {event.text}" if event.text else ""
    return f"{event.stamp_ns / 1e9:.2f} s  {event.severity.name}  {event.kind}{said}"


def _severities(events: Sequence[Event], top_px: float) -> str:
    """A legend of those that occur, three to a line."""
    occur = [each for each in Severity if any(event.severity is each for event in events)]
    keys = []
    for index, severity in enumerate(occur):
        name = severity.name.lower()
        x, y = LEGEND_PX + 50.0 * (index % 3), top_px + 15.0 + 15.0 * (index // 3)
        keys.append(tag("circle", cx=x + 4, cy=y - 4, r=3.6, class_=f"event {name}"))
        keys.append(text(name, x=x + 12, y=y, class_="key"))
    return "".join(keys)
