"""The report of a small made-up run, taken apart and held against what was recorded."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError
from ghost.events import Bus, Event, EventKind, Severity
from ghost.hal import EstimateHealth, Failsafe
from ghost.hal.channels import BATTERY, CONTROL, GROUNDTRUTH_STATE, STATUS, VEHICLE
from ghost.report import write_report
from ghost.report.timeline import MOST_EVENTS
from ghost.telemetry import RunRecorder, describe_run
from tests.report.rig import (
    ESTIMATE_OFFSET_M,
    STEP_NS,
    Plot,
    east_m,
    height_m,
    mission,
    plots,
    record,
    svgs,
)

SECTIONS = [
    *["track", "facts", "timeline", "height", "attitude", "rates", "estimate", "motors"],
    *["battery", "events"],
]
UNCLOSED = {"meta"}


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., str]:
    def write(**options: Any) -> str:
        folder = record(tmp_path / f"run-{len(list(tmp_path.iterdir()))}", **options)
        return write_report(folder).read_text(encoding="utf-8")

    return write


def test_every_part_is_there_in_order_and_well_formed(report: Callable[..., str]) -> None:
    page = report()
    assert re.findall(r'<section id="(\w+)"', page) == SECTIONS
    assert len(svgs(page)) == 8
    _Balance().feed(page)
    assert "Left out" not in page


def test_it_needs_nothing_but_itself(report: Callable[..., str]) -> None:
    page = report()
    assert not re.search(r"(?:src|href|srcset|action)=|url\(|@import|fetch\(|<link", page)
    assert "default-src 'none'" in page


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = record(tmp_path / "run")
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    assert write_report(record(tmp_path / "again")).read_bytes() == first


def test_lines_lie_where_the_values_are(report: Callable[..., str]) -> None:
    page = report(steps=200)
    (height,) = plots(page, "height")
    (drawn,) = height.runs("truth")
    assert len(drawn) == 200
    for step, (share, value) in enumerate(drawn):
        assert share == pytest.approx(step / 199, abs=1e-4)
        assert value == pytest.approx(height_m(step), abs=2e-4)
    (estimated,) = height.runs("estimate")
    assert estimated[-1][1] == pytest.approx(height_m(199) + ESTIMATE_OFFSET_M[2], abs=2e-4)


@pytest.mark.parametrize(
    ("section", "row", "name", "value"),
    [
        ("attitude", 0, "truth", math.degrees(0.1)),
        ("attitude", 1, "estimate", math.degrees(-0.05)),
        ("attitude", 2, "set-point", 90.0),
        ("rates", 2, "truth", 0.0),
        ("estimate", 0, "error", ESTIMATE_OFFSET_M[0]),
        ("estimate", 1, "error", ESTIMATE_OFFSET_M[1]),
        ("estimate", 2, "error", ESTIMATE_OFFSET_M[2]),
        ("motors", 0, "motor 3", 80.0),
        ("battery", 0, "voltage", 16.0),
        ("battery", 1, "charge", 100.0),
    ],
)
def test_each_chart_starts_at_its_value(
    report: Callable[..., str], section: str, row: int, name: str, value: float
) -> None:
    drawn = plots(report(), section)[row].runs(name)
    assert drawn[0][0][1] == pytest.approx(value, abs=0.02)


def test_the_band_is_three_sigma_to_either_side(report: Callable[..., str]) -> None:
    page = report()
    east = plots(page, "estimate")[0]
    (band,) = (path for path in east.element.iter("path") if path.attrib["class"] == "band")
    low, high = float(east.element.attrib["data-low"]), float(east.element.attrib["data-high"])
    y_px = [float(y) for y in re.findall(r",([-\d.]+)", band.attrib["d"])]
    values = {round(high - y / east.height_px * (high - low), 2) for y in y_px}
    assert values == {-0.3, 0.3}
    assert page.count("100.0 % of the time inside the band") == 2
    assert page.count("0.0 % of the time inside the band") == 3  # up is half a metre off


def test_the_track_has_one_scale_and_its_ends_are_the_flights(report: Callable[..., str]) -> None:
    (track,) = plots(report(), "track")
    east_low, east_high, north_low, north_high = (
        float(track.element.attrib[f"data-{end}"])
        for end in ("east-low", "east-high", "north-low", "north-high")
    )
    px_per_m = track.width_px / (east_high - east_low)
    assert track.height_px / (north_high - north_low) == pytest.approx(px_per_m)
    (truth,) = track.runs_px("truth")
    for (x, y), step in ((truth[0], 0), (truth[-1], 199)):
        assert east_low + x / px_per_m == pytest.approx(east_m(step), abs=0.01)
        assert north_high - y / px_per_m == pytest.approx(0.0, abs=0.01)
    marks = {circle.attrib["class"] for circle in track.element.iter("circle")}
    assert marks == {"waypoint", "home"}


def test_set_points_that_are_nan_make_a_gap(report: Callable[..., str]) -> None:
    def pause(channel: Channel[Any], step: int, message: Any) -> Any:
        if channel != CONTROL or not 50 <= step < 100:
            return message
        return replace(message, position_enu_m=np.full(3, np.nan), attitude=np.full(4, np.nan))

    page = report(change=pause)
    for plot in (*plots(page, "height"), *plots(page, "attitude")):
        before, after = plot.runs("set-point")
        assert before[-1][0] == pytest.approx(49 / 199, abs=1e-3)
        assert after[0][0] == pytest.approx(100 / 199, abs=1e-3)
        assert len(plot.runs("truth")) == 1
    (track,) = plots(page, "track")
    assert len(track.runs_px("setpoint")) == 2


def test_a_peak_of_one_sample_survives_a_long_flight(report: Callable[..., str]) -> None:
    def jolt(channel: Channel[Any], step: int, message: Any) -> Any:
        if channel != GROUNDTRUTH_STATE or step != 2345:
            return message
        return replace(message, rate_flu_rps=np.array([1.0, 0.0, 0.0]))

    page = report(steps=4000, change=jolt, without=(VEHICLE, CONTROL))
    (drawn,) = plots(page, "rates")[0].runs("truth")
    assert len(drawn) <= 1500
    assert max(value for _, value in drawn) == pytest.approx(math.degrees(1.0), abs=0.02)


def test_yaw_runs_on_through_south(report: Callable[..., str]) -> None:
    page = report(yaw_deg=lambda step: 170.0 + 0.1 * step)
    for name in ("truth", "estimate", "set-point"):
        (drawn,) = plots(page, "attitude")[2].runs(name)
        assert drawn[0][1] == pytest.approx(170.0, abs=0.1)
        assert drawn[-1][1] == pytest.approx(189.9, abs=0.1)


def test_wind_is_drawn_where_there_was_any(report: Callable[..., str]) -> None:
    (wind,) = plots(report(wind_mps=3.0), "wind")
    assert wind.runs("east")[0][0][1] == pytest.approx(3.0, abs=0.01)
    assert 'id="wind"' not in report()


def test_without_ground_truth_the_estimate_is_what_counts(report: Callable[..., str]) -> None:
    page = report(without=(GROUNDTRUTH_STATE,))
    assert "Left out: the log holds no ground truth." in page
    assert page.count("Left out") == 1
    assert page.count("by the estimate") == 5
    assert plots(page, "height")[0].names == ["estimate", "set-point"]
    assert plots(page, "track")[0].names == ["estimate", "setpoint"]


@pytest.mark.parametrize(
    ("lacking", "notes"),
    [
        ((VEHICLE,), ["estimate"]),
        ((CONTROL,), ["motors"]),
        ((BATTERY,), ["battery"]),
        ((STATUS,), []),
        (
            (VEHICLE, CONTROL, GROUNDTRUTH_STATE, BATTERY),
            ["track", "height", "attitude", "rates", "estimate", "motors", "battery"],
        ),
    ],
    ids=lambda value: "-".join(str(getattr(each, "name", each)) for each in value),
)
def test_what_a_log_lacks_is_left_out_with_a_note(
    report: Callable[..., str], lacking: tuple[Channel[Any], ...], notes: list[str]
) -> None:
    page = report(without=lacking)
    sections = re.findall(r'<section id="(\w+)".*?</section>', page, re.DOTALL)
    assert sections == SECTIONS
    missing = re.findall(
        r'<section id="(\w+)"[^>]*><div class="title"><h2>[^<]*</h2></div><p class="missing">', page
    )
    assert missing == notes
    _Balance().feed(page)


def test_the_title_is_robot_mission_and_scenario(report: Callable[..., str]) -> None:
    page = report()
    assert "<h1><span>quad · climb · " in page
    assert "<dt>Mission</dt><dd>climb</dd>" in page


def test_an_empty_log_has_a_report(tmp_path: Path) -> None:
    manifest = describe_run(
        robot="quad", scenario="none", seed=1, deterministic=True, reproduce="", config={}
    )
    RunRecorder(tmp_path / "run", Bus(SimClock()), manifest).close()
    page = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "the log holds no messages" in page
    assert "no mission" in page
    _Balance().feed(page)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no manifest\.yaml"):
        write_report(tmp_path)


def test_a_disk_without_room_for_it_gets_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(path: Path, text: bytes) -> None:
        path.write_text(text[:100].decode())
        raise OSError(28, "No space left on device")

    folder = record(tmp_path / "run")
    before = sorted(folder.iterdir())
    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(OSError, match="No space left"):
        write_report(folder)
    assert sorted(folder.iterdir()) == before


def test_texts_of_the_log_stay_texts(report: Callable[..., str]) -> None:
    text = "<script>alert('1')</script> & \"more\" \x00 \x1b[0m"
    page = report(events=(Event(0, Severity.ERROR, "<b>KIND</b>", "<i>", text, {"name": "<u>"}),))
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt; &amp; &quot;more&quot; \ufffd" in page
    assert "<b>" not in page
    assert "<i>" not in page
    svgs(page)
    _Balance().feed(page)


def test_events_stand_where_they_happened_and_say_what_happened(
    report: Callable[..., str],
) -> None:
    page = report()
    (line,) = plots(page, "timeline")
    dots = [dot for dot in line.element.iter("circle") if dot.attrib["class"] == "event info"]
    assert len(dots) == len(mission(200))
    for dot, event in zip(dots, mission(200), strict=True):
        at_px = event.stamp_ns / (199 * STEP_NS) * line.width_px
        assert float(dot.attrib["cx"]) == pytest.approx(at_px, abs=0.01)
        assert f"{event.kind}: {event.text}" in str(dot.findtext("title"))


def test_mission_steps_are_lanes_and_every_other_one_is_tinted(report: Callable[..., str]) -> None:
    page = report()
    (line,) = plots(page, "timeline")
    assert [title for title in _titles(line) if "to" in title.split()] == [
        "takeoff, 0.20 to 1.20 s",
        "goto, 1.20 to 3.60 s",
        "hold, 0.00 to 0.20 s",
        "offboard, 0.20 to 3.80 s",
        "hold, 3.80 to 3.98 s",
    ]
    (height,) = plots(page, "height")
    (tint,) = (rect for rect in height.element.iter("rect") if rect.attrib["class"] == "shade")
    assert float(tint.attrib["x"]) == pytest.approx(60 / 199 * height.width_px, abs=0.01)


def test_a_failsafe_and_a_doubtful_estimate_get_lanes_of_their_own(
    report: Callable[..., str],
) -> None:
    def trouble(channel: Channel[Any], step: int, message: Any) -> Any:
        if channel == STATUS and step >= 100:
            return replace(message, failsafe=Failsafe.LOW_BATTERY)
        if channel == VEHICLE and step >= 150:
            return replace(message, verdict=EstimateHealth.LOST)
        return message

    titles = _titles(plots(report(change=trouble), "timeline")[0])
    assert "low battery, 2.00 to 3.98 s" in titles
    assert "lost, 3.00 to 3.98 s" in titles


def test_a_flood_of_events_keeps_the_gravest(report: Callable[..., str]) -> None:
    flood = [Event(STEP_NS, Severity.INFO, "CHATTER", "test") for _ in range(3000)]
    page = report(events=(*flood, Event(STEP_NS, Severity.CRITICAL, "CRASH", "test")))
    assert page.count("<tr><td") == MOST_EVENTS
    assert "CRASH" in page
    assert "2601 others are in the log" in page


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (EventKind.MISSION_FINISHED, "completed"),
        (EventKind.MISSION_ABORTED, "aborted"),
        (EventKind.MISSION_FAILED, "failed"),
        (EventKind.MISSION_INTERRUPTED, "interrupted"),
        (EventKind.MISSION_STARTED, "unfinished"),
    ],
)
def test_the_last_word_of_the_mission_is_the_outcome(
    report: Callable[..., str], kind: EventKind, word: str
) -> None:
    page = report(events=(Event(0, Severity.INFO, kind, "mission", "", {"reason": "so it was"}),))
    assert f'<span class="outcome {word}">{word}</span>' in page
    assert "so it was" in page


def test_what_diverged_beyond_all_units_is_a_gap(report: Callable[..., str]) -> None:
    def diverge(channel: Channel[Any], step: int, message: Any) -> Any:
        if channel != GROUNDTRUTH_STATE or step < 150:
            return message
        return replace(message, position_enu_m=np.full(3, 1e200))

    (drawn,) = plots(report(change=diverge), "height")[0].runs("truth")
    assert drawn[-1][1] == pytest.approx(height_m(149), abs=0.01)


def test_a_log_that_is_not_the_manifests_is_marked(tmp_path: Path) -> None:
    folder, other = record(tmp_path / "run"), record(tmp_path / "other", steps=30, events=())
    (other / "log.mcap").replace(folder / "log.mcap")
    assert "not the manifest's" in write_report(folder).read_text(encoding="utf-8")


def _titles(plot: Plot) -> list[str]:
    return [str(title.text) for title in plot.element.iter("title")]


class _Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def feed(self, data: str) -> None:
        super().feed(data)
        self.close()
        assert not self.open
