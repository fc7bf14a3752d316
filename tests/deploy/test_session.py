"""A flight from take-off to the closed log, and every way in which it can end."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError, GhostError, LogError
from ghost.deploy import Flight, Order, Result, SimulatedFlight
from ghost.events import Event, EventKind
from ghost.hal import FlightMode
from ghost.telemetry import LogReader, file_sha256, read_manifest
from tests.deploy.rig import fly, order, scenario_of, x500_with

HOP = "name: hop\nframe: home\nsteps: [takeoff: {altitude_m: 1}, land: {}]"
HASTY = "name: hasty\nsteps: [takeoff: {altitude_m: 5, timeout_s: 1.5}, land: {}]"
FAR = "name: far\nsteps: [takeoff: {altitude_m: 5}, goto: {position_enu_m: [90, 0, 5]}, land: {}]"
FENCE = [[-50, -50], [50, -50], [50, 50], [-50, 50]]


def events(folder: Path) -> list[Event]:
    return [record.message for record in LogReader(folder).messages(["/events"])]


def at(time_s: float, deed: Callable[[SimulatedFlight], None]) -> Callable[[SimulatedFlight], None]:
    """Do it in the first cycle at or after a time, once."""
    done = False

    def on_cycle(flight: SimulatedFlight) -> None:
        nonlocal done
        if not done and flight.clock.now_ns() >= time_s * 1e9:
            done = True
            deed(flight)

    return on_cycle


def is_down(flight: SimulatedFlight) -> bool:
    status, truth = flight.statistics.status, flight.statistics.truth
    assert status is not None
    assert truth is not None
    return not status.armed and float(truth.position_enu_m[2]) < 0.25


# How it ends.


def test_a_completed_flight_leaves_a_whole_log_and_a_manifest(tmp_path: Path) -> None:
    flight, flown = fly(replace(order(tmp_path / "run", mission=HOP), reproduce="ghost x"))
    assert (flown.outcome.result, flown.outcome.reason) == (Result.COMPLETED, "")
    assert flown.succeeded
    assert is_down(flight)
    manifest = read_manifest(tmp_path / "run")
    assert (manifest.robot, manifest.scenario, manifest.seed) == ("x500", "calm", 0)
    assert (manifest.deterministic, manifest.reproduce) == (True, "ghost x")
    assert manifest.config["robot"]["airframe"]["mass_kg"] == 2.0
    assert manifest.config["simulator"] == "lightweight"
    assert manifest.log.status == "complete"
    assert manifest.log.sha256 == file_sha256(tmp_path / "run" / "log.mcap")
    assert events(tmp_path / "run")[-1].kind == EventKind.MISSION_FINISHED
    assert flown.simulated_ns == pytest.approx(manifest.log.end_ns, abs=20_000_000)
    assert flown.wall_ns > 0
    with pytest.raises(GhostError, match="call reset first"):
        flight.backend.ground_truth()


def test_the_manifest_holds_the_mission_and_an_edited_one_is_another_run(tmp_path: Path) -> None:
    """With values that YAML could write in another way than it reads them."""
    odd = "name: '1e3: no'\nsteps: [takeoff: {altitude_m: 1.0e+0}, land: {timeout_s: 1_0}]"
    manifests = []
    for name, text in {"a": odd, "b": odd, "c": odd.replace("1_0", "10.5")}.items():
        flight = SimulatedFlight(order(tmp_path / name, mission=text))
        flight.request_landing()
        flight.request_landing()
        flight.run()
        manifests.append(read_manifest(tmp_path / name))
    first, again, edited = manifests
    steps = [{"takeoff": {"altitude_m": 1.0}}, {"land": {"timeout_s": 10}}]
    assert first.config["mission"] == {"name": "1e3: no", "steps": steps}
    assert first.run_id == again.run_id != edited.run_id
    assert first.config_sha256 == again.config_sha256 != edited.config_sha256


def test_a_mission_that_gives_up_is_aborted_and_the_vehicle_lands(tmp_path: Path) -> None:
    flight, flown = fly(order(tmp_path / "run", mission=HASTY))
    assert flown.outcome.result is Result.ABORTED
    assert flown.outcome.reason == "step 0 (takeoff) took over 1.5 s"
    assert flown.summary.highest_m > 0.3
    assert is_down(flight)


def test_a_failsafe_interrupts_and_the_autopilot_brings_it_down(tmp_path: Path) -> None:
    low = scenario_of(
        tmp_path,
        "duration_s: 90\nevents: [{at_s: 6, fault: charge, target: battery, values: [0.05]}]",
    )
    flight, flown = fly(order(tmp_path / "run", scenario=low))
    assert flown.outcome.result is Result.INTERRUPTED
    assert "CRITICAL_BATTERY" in flown.outcome.reason
    assert is_down(flight)


def test_a_vehicle_that_may_not_be_armed_fails_on_the_ground(tmp_path: Path) -> None:
    empty = scenario_of(tmp_path, "duration_s: 90\nstart: {charge: 0.1}")
    flight, flown = fly(order(tmp_path / "run", scenario=empty))
    assert flown.outcome.result is Result.FAILED
    assert flown.outcome.reason.startswith("not ready after 30 s: ")
    assert flown.summary.landing_error_m is None
    assert is_down(flight)


def test_a_scenario_that_is_over_in_flight_fails_the_mission(tmp_path: Path) -> None:
    short = scenario_of(tmp_path, "duration_s: 5")
    flown = fly(order(tmp_path / "run", scenario=short))[1]
    reason = "still under way, and the scenario's duration_s of 5 is over"
    assert (flown.outcome.result, flown.outcome.reason) == (Result.FAILED, reason)
    assert flown.simulated_ns == 5_000_000_000
    last = events(tmp_path / "run")[-1]
    assert (last.kind, last.text) == (EventKind.MISSION_FAILED, reason)


def test_a_mission_that_is_done_just_in_time_is_not_failed_for_the_rest(tmp_path: Path) -> None:
    done_ns = fly(order(tmp_path / "long", mission=HOP))[1].simulated_ns
    just = scenario_of(tmp_path, f"duration_s: {done_ns / 1e9 - 0.3}")
    assert fly(order(tmp_path / "run", mission=HOP, scenario=just))[1].succeeded


def test_a_vehicle_still_armed_when_the_scenario_is_over_is_told_with_what_came_before(
    tmp_path: Path,
) -> None:
    low = scenario_of(
        tmp_path,
        "duration_s: 7\nevents: [{at_s: 6, fault: charge, target: battery, values: [0.05]}]",
    )
    flown = fly(order(tmp_path / "run", scenario=low))[1]
    assert flown.outcome.result is Result.FAILED
    assert flown.outcome.reason.startswith(
        "still armed, and the scenario's duration_s of 7 is over; failsafe CRITICAL_BATTERY"
    )


# Asked to land.


@pytest.mark.parametrize("time_s", [0.0, 2.0, 8.0])
def test_asked_to_land_it_lands_and_closes_the_log(tmp_path: Path, time_s: float) -> None:
    """Before arming, while climbing, while hovering."""
    run = order(tmp_path / "run")
    flight, flown = fly(run, at(time_s, SimulatedFlight.request_landing))
    assert flight.was_asked_to_land
    assert flown.outcome.result is Result.ABORTED
    assert flown.outcome.reason == "aborted: the operator asked to land"
    assert is_down(flight)
    assert read_manifest(run.out).log.status == "complete"
    kinds = [event.kind for event in events(run.out)]
    assert kinds[-2:] == [EventKind.MISSION_ABORT_REQUESTED, EventKind.MISSION_ABORTED]


def test_asked_again_it_closes_the_log_at_once(tmp_path: Path) -> None:
    def twice(flight: SimulatedFlight) -> None:
        flight.request_landing()
        flight.request_landing()

    run = order(tmp_path / "run")
    flight, flown = fly(run, at(8.0, twice))
    assert not is_down(flight)
    assert flown.simulated_ns == 8_000_000_000
    assert flown.outcome.result is Result.ABORTED
    assert flown.outcome.reason == "the operator broke it off in flight"
    assert read_manifest(run.out).log.status == "complete"
    assert events(run.out)[-1].kind == EventKind.MISSION_ABORTED
    assert LogReader(run.out).end_ns == 8_000_000_000


def test_asked_after_an_interruption_the_autopilot_goes_on_landing(tmp_path: Path) -> None:
    low = scenario_of(
        tmp_path,
        "duration_s: 90\nevents: [{at_s: 6, fault: charge, target: battery, values: [0.05]}]",
    )
    flight, flown = fly(
        order(tmp_path / "run", scenario=low), at(6.5, SimulatedFlight.request_landing)
    )
    assert flown.outcome.result is Result.INTERRUPTED
    assert is_down(flight)


def test_an_error_in_flight_closes_the_log_all_the_same(tmp_path: Path) -> None:
    def fail(_: SimulatedFlight) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        fly(order(tmp_path / "run"), at(3.0, fail))
    assert read_manifest(tmp_path / "run").log.status == "complete"


def test_the_pace_is_held(tmp_path: Path) -> None:
    run = replace(order(tmp_path / "run", mission=HOP), speed=20.0)
    started_ns = time.monotonic_ns()
    flown = fly(run)[1]
    wall_ns = time.monotonic_ns() - started_ns
    assert flown.simulated_ns / 20 <= wall_ns < flown.simulated_ns / 4


def test_progress_is_told_line_by_line(tmp_path: Path) -> None:
    lines: list[str] = []
    modes: set[FlightMode] = set()

    def look(flight: SimulatedFlight) -> None:
        lines.extend(flight.take_news())
        if flight.statistics.status:
            modes.add(flight.statistics.status.mode)

    fly(order(tmp_path / "run", mission=HOP), look)
    assert lines[0] == "    0.10 s  hop, 2 steps"
    assert lines[-1].endswith(" s  hop")
    assert modes == {FlightMode.HOLD, FlightMode.TAKEOFF, FlightMode.LAND}


# Refused before take-off.


def refused(run: Order, error: type[GhostError], match: str) -> None:
    with pytest.raises(error, match=match):
        SimulatedFlight(run)


def test_a_folder_that_can_t_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    match = r"^cannot record into .*file/run: .*Not a directory"
    refused(order(tmp_path / "file" / "run"), LogError, match)


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    try:
        (closed / "probe").touch()
    except PermissionError:
        refused(order(closed / "run"), LogError, r"^cannot record into .*: .*Permission denied")
    else:
        pytest.skip("this user may write everywhere")


def test_a_run_that_is_there_already_is_not_flown_over(tmp_path: Path) -> None:
    fly(order(tmp_path / "run", mission=HOP))
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    match = r"log\.mcap exists already; give each run a folder of its own$"
    refused(order(tmp_path / "run", mission=HOP), LogError, match)
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_mission_outside_the_fence_is_refused(tmp_path: Path) -> None:
    fenced = x500_with(tmp_path, envelope__geofence_enu_m=FENCE)
    run = order(tmp_path / "run", robot=fenced, mission=FAR)
    match = r"^step 1 \(goto\): waypoint 0, at \(90\.0, 0\.0, 5\.0\), is 40\.0 m outside the fence"
    refused(run, ConfigError, match)
    assert not (tmp_path / "run").exists()


def test_a_mission_from_home_is_judged_from_where_the_vehicle_starts(tmp_path: Path) -> None:
    fenced = x500_with(tmp_path, envelope__geofence_enu_m=FENCE)
    moved = scenario_of(tmp_path, "duration_s: 90\nstart: {position_enu_m: [40, 0, 0]}")
    run = order(tmp_path / "run", robot=fenced, mission="square", scenario=moved)
    refused(
        run, ConfigError, r"^step 1 \(goto\): waypoint 0, at \(60\.0, 0\.0, 5\.0\), is 10\.0 m "
    )


def test_what_is_refused_leaves_the_simulator_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut: list[bool] = []
    backend = "ghost.simulation.backend.AdapterBackend.shutdown"
    monkeypatch.setattr(backend, lambda _: shut.append(True))
    (tmp_path / "file").write_text("")
    refused(order(tmp_path / "file" / "run"), LogError, "Not a directory")
    assert shut[-1:] == [True]


# The same again.


def test_the_same_order_gives_the_same_bytes_and_another_seed_doesn_t(tmp_path: Path) -> None:
    def sha256(name: str, seed: int) -> str:
        flown: Flight = fly(order(tmp_path / name, mission=HOP, scenario="gusty", seed=seed))[1]
        return file_sha256(flown.folder / "log.mcap")

    assert sha256("a", 1) == sha256("b", 1) != sha256("c", 2)
