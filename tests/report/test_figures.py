"""The figures of a report are those that the deployment printed."""

from pathlib import Path

import pytest

from ghost.deploy.robots import load_robot
from ghost.deploy.scenario import load_scenario
from ghost.deploy.session import Order, SimulatedFlight
from ghost.deploy.shipped import find_shipped
from ghost.mission import load_mission
from ghost.report.figures import summarize
from ghost.report.flight import read_flight


def test_figures_agree_with_those_of_the_deployment(tmp_path: Path) -> None:
    mission = load_mission(find_shipped("missions", "hover"))
    order = Order(load_robot("x500"), mission, load_scenario("gusty", 3), tmp_path / "run")
    flown = SimulatedFlight(order).run().summary
    figures = summarize(read_flight(tmp_path / "run"))
    assert figures.outcome == "completed"
    assert figures.tracking is not None
    assert figures.estimate_error is not None
    assert (
        figures.airborne_ns,
        figures.path_m,
        figures.highest_m,
        figures.fastest_mps,
        figures.tracking.rms_m,
        figures.tracking.max_m,
        figures.estimate_error.rms_m,
        figures.estimate_error.max_m,
        figures.landing_error_m,
        figures.warnings,
    ) == pytest.approx(
        (
            flown.flown_ns,
            flown.path_m,
            flown.highest_m,
            flown.fastest_mps,
            flown.tracking_rms_m,
            flown.tracking_max_m,
            flown.estimate_rms_m,
            flown.estimate_max_m,
            flown.landing_error_m,
            flown.warnings,
        )
    )
