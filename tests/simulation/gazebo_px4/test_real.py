"""On a real PX4, with SIH under it: a mission from the command line, and the whole suite."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from ghost.cli import main
from ghost.conformance import CHECKS, Check, Factory, Verdict, judge
from ghost.core.errors import ConfigError, LinkError
from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot, load_scenario
from ghost.deploy.shipped import find_shipped
from ghost.hal import EstimateHealth, GroundTruth, VehicleState
from ghost.hal.channels import GROUNDTRUTH_STATE, VEHICLE
from ghost.telemetry import LogReader, read_manifest
from tests.sitl.px4.test_process import is_running, until

SIMULATOR = "gazebo_px4@physics=sih,speed=3"
ASIDE = """
name: aside
duration_s: 120
start: {position_enu_m: [20.0, -10.0, 0.0], heading_deg: 60}
"""

TRIED = [check for check in CHECKS if check.on_bench or check.in_flight]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_px4")]


def test_a_mission_is_flown_end_to_end_from_where_the_scenario_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "aside.yaml").write_text(ASIDE)
    out = tmp_path / "run"
    words = ["deploy", "sim", "x500", "--simulator", SIMULATOR, "--mission", "hover"]
    code = main([*words, "--scenario", str(tmp_path / "aside.yaml"), "--out", str(out)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "PX4 with SIH, model quadx" in said
    assert "hover completed" in said
    manifest = read_manifest(out)
    assert manifest.log.status == "complete"
    assert not manifest.deterministic
    truths: list[GroundTruth] = _messages(out, GROUNDTRUTH_STATE.name)
    # SIH keeps its place in single precision: about 0.4 m.
    assert truths[0].position_enu_m == pytest.approx((20.0, -10.0, 0.0), abs=0.5)
    assert max(truth.position_enu_m[2] for truth in truths) > 2.0
    assert truths[-1].position_enu_m == pytest.approx((20.0, -10.0, 0.0), abs=1.0)
    states: list[VehicleState] = _messages(out, VEHICLE.name)
    known = {truth.stamp_ns // 20_000_000: truth for truth in truths}
    off_m = [
        float(np.linalg.norm(state.position_enu_m - known[moment].position_enu_m))
        for state in states
        if (moment := state.stamp_ns // 20_000_000) in known
        and state.verdict is EstimateHealth.GOOD
    ]
    assert len(off_m) > 100
    assert max(off_m) < 1.0


@pytest.fixture(scope="module")
def factory() -> Factory:
    return Factory(load_robot("x500"), SIMULATOR)


def test_it_says_what_it_is_and_what_cannot_be_tried(factory: Factory) -> None:
    capabilities = factory.capabilities
    factory.close()
    assert (capabilities.synchronous_step, capabilities.deterministic) == (False, False)
    assert capabilities.ground_truth
    tried = [check for check in CHECKS if not check.missing(capabilities, is_real=False)]
    assert tried == TRIED


@pytest.mark.parametrize("check", TRIED, ids=lambda check: check.name)
def test_it_keeps_its_promises(factory: Factory, check: Check) -> None:
    try:
        outcome = judge(check, factory)
    finally:
        factory.close()
    assert outcome.verdict is Verdict.PASS, outcome.figure


def test_a_px4_that_dies_in_flight_is_told_and_the_log_is_whole(tmp_path: Path) -> None:
    flight = SimulatedFlight(_order(tmp_path))
    backend = flight.backend
    pid = backend._play._process.pid  # type: ignore[attr-defined]
    cycles = 0

    def kill_soon(_: SimulatedFlight) -> None:
        nonlocal cycles
        cycles += 1
        if cycles == 10:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(LinkError, match=r"PX4 instance \d .* ended: .* SIGKILL"):
        flight.run(kill_soon)
    assert read_manifest(tmp_path / "run").log.status == "complete"


def test_a_run_leaves_no_process(tmp_path: Path) -> None:
    flight = SimulatedFlight(_order(tmp_path))
    process = flight.backend._play._process  # type: ignore[attr-defined]
    assert is_running(process.pid)
    flight.request_landing()
    flight.request_landing()
    flight.run()
    until(lambda: not is_running(process.pid), "PX4's end")
    assert not process.folder.exists()


def test_a_pace_from_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--realtime can't pace it"):
        SimulatedFlight(_order(tmp_path, speed=2.0))


def _order(folder: Path, speed: float | None = None) -> Order:
    mission = load_mission(find_shipped("missions", "hover"))
    scenario = load_scenario("calm")
    return Order(load_robot("x500"), mission, scenario, folder / "run", SIMULATOR, speed)


def _messages(folder: Path, channel: str) -> list:  # type: ignore[type-arg]
    return [record.message for record in LogReader(folder).messages([channel])]
