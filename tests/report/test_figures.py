"""The figures of a report are those that the deployment printed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ghost.core.channels import Channel
from ghost.deploy.robots import load_robot
from ghost.deploy.scenario import load_scenario
from ghost.deploy.session import Order, SimulatedFlight
from ghost.deploy.shipped import find_shipped
from ghost.hal import FlightMode
from ghost.hal.channels import CMD_ACK, CONTROL, GROUNDTRUTH_STATE, STATUS
from ghost.mission import load_mission
from ghost.report import write_report
from ghost.report.figures import summarize
from ghost.report.flight import read_flight
from tests.report.rig import record

FAR_OFF_M = (0.05, -0.32, 0.5)
"""Of the rig's estimate from its set-points."""


def test_figures_agree_with_those_of_the_deployment(tmp_path: Path) -> None:
    mission = load_mission(find_shipped("missions", "hover"))
    order = Order(load_robot("x500"), mission, load_scenario("gusty", 3), tmp_path / "run")
    flown = SimulatedFlight(order).run().summary
    figures = summarize(read_flight(tmp_path / "run"))
    assert figures.outcome == "completed"
    assert figures.summary == flown
    assert flown.tracked_by == "truth"
    assert flown.landing_error_m is not None


def tile(page: str, name: str) -> str:
    """The text of a tile, as it is read."""
    (start,) = (at for at in range(len(page)) if page.startswith(f"<dt>{name}</dt>", at))
    words = page[start : page.index("</div>", start)].replace("<", " <").split("<")
    return " ".join(" ".join(word.partition(">")[2] for word in words).split())


def test_on_hardware_tracking_is_by_the_estimate_and_says_so(tmp_path: Path) -> None:
    folder = record(tmp_path / "run", without=(GROUNDTRUTH_STATE, CONTROL))
    summary = read_flight(folder).summary
    off_m = sum(each * each for each in FAR_OFF_M) ** 0.5
    assert summary.tracked_by == "estimate"
    assert summary.tracking_rms_m == pytest.approx(off_m, abs=0.03)
    page = write_report(folder).read_text(encoding="utf-8")
    figures = f"{summary.tracking_rms_m:.2f} m at most {summary.tracking_max_m:.2f} m"
    assert tile(page, "Tracking RMS") == f"Tracking RMS {figures}, by the estimate"


def test_with_the_truth_tracking_needs_no_such_note(tmp_path: Path) -> None:
    page = write_report(record(tmp_path / "run")).read_text(encoding="utf-8")
    assert tile(page, "Tracking RMS") == "Tracking RMS 0.30 m at most 0.30 m"
    assert tile(page, "Landing error") == "Landing error 3.58 m from home"
    assert "STILL" not in page


def test_what_never_flew_has_no_figures(tmp_path: Path) -> None:
    def stay(channel: Channel[Any], _step: int, message: Any) -> Any:
        return replace(message, on_ground=True) if channel == STATUS else message

    page = write_report(record(tmp_path / "run", change=stay, without=(CMD_ACK,))).read_text()
    assert tile(page, "In the air") == "In the air 0.0 s"
    for name in ("Path flown", "Fastest", "Tracking RMS", "Landing error"):
        assert tile(page, name).removeprefix(name).strip() == "\N{EN DASH}"


def test_a_vehicle_that_was_left_in_the_air_is_told_of_at_the_top(tmp_path: Path) -> None:
    def hold(channel: Channel[Any], step: int, message: Any) -> Any:
        if channel != STATUS or step < 100:
            return message
        return replace(message, mode=FlightMode.HOLD, armed=True, on_ground=False)

    page = write_report(record(tmp_path / "run", change=hold)).read_text(encoding="utf-8")
    top = page[: page.index("</header>")]
    assert "<strong>STILL ARMED AND IN THE AIR, mode HOLD</strong>" in top
    assert tile(page, "Landing error").endswith("not seen: it was in the air, mode HOLD, armed")
