"""What the terminal says of a flight, at its end and while it goes on."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ghost.cli.progress import Progress, print_summary
from ghost.deploy import Flight, Summary
from ghost.events import Event, EventKind, Severity
from ghost.mission import Outcome, Result
from ghost.report.summary import LastSeen

DOWN = LastSeen("LAND", armed=False, on_ground=True, is_silent=False)
UP = LastSeen("HOLD", armed=True, on_ground=False, is_silent=False)
FLOWN = Summary(
    flown_ns=9_000_000_000,
    path_m=12.0,
    highest_m=5.0,
    fastest_mps=2.0,
    tracking_rms_m=0.076,
    tracking_max_m=0.2,
    tracked_by="estimate",
    estimate_rms_m=None,
    estimate_max_m=None,
    was_airborne=True,
    home_enu_m=(0.0, 0.0, 0.0),
    saw_start=True,
    landed_enu_m=(0.3, 0.0, 0.0),
    landing_error_m=0.3,
    last_seen=DOWN,
    warnings=0,
    events=6,
)
GROUNDED = replace(
    FLOWN,
    was_airborne=False,
    tracked_by="",
    tracking_rms_m=math.nan,
    tracking_max_m=math.nan,
    landed_enu_m=None,
    landing_error_m=None,
)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def of(summary: Summary, result: Result = Result.COMPLETED) -> list[str]:
        print_summary(Flight(Outcome(result), summary, Path("run"), 1, 1), "run/report.html")
        return capsys.readouterr().out.splitlines()

    return of


def test_a_flight_on_hardware_says_by_what_it_was_tracked(said: Any) -> None:
    assert said(FLOWN) == [
        "outcome    completed",
        "flown      12.0 m in 9.0 s, up to 5.0 m and 2.0 m/s",
        "tracking   0.076 m rms, 0.200 m at most, off the set-point, by the estimate",
        "landed     0.30 m from where it took off",
        "events     6, of them 0 warnings or worse",
        "log        run/log.mcap",
        "report     run/report.html",
    ]


def test_a_flight_that_did_not_happen_has_no_figures(said: Any) -> None:
    assert said(GROUNDED, Result.FAILED)[:3] == [
        "outcome    failed",
        "flown      not at all",
        "events     6, of them 0 warnings or worse",
    ]


def test_a_vehicle_left_in_the_air_has_the_last_word(said: Any) -> None:
    lines = said(
        replace(FLOWN, last_seen=UP, landed_enu_m=None, landing_error_m=None), Result.RUNNING
    )
    assert lines[0] == "outcome    unfinished"
    assert "landed     not seen: it was in the air, mode HOLD, armed" in lines
    assert lines[-1] == "STILL ARMED AND IN THE AIR, mode HOLD"


def test_a_mission_that_finished_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = (EventKind.STEP_FINISHED, EventKind.MISSION_FINISHED)
    news = [Event(0, Severity.INFO, kind, "mission", "hover") for kind in kinds]
    flight: Any = SimpleNamespace(
        statistics=SimpleNamespace(news=news), take_news=lambda: ["a step", "hover", "more"]
    )
    Progress("title").end(flight)
    assert capsys.readouterr().out.splitlines() == ["title", "a step", "hover completed", "more"]
