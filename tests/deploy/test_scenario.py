"""Scenarios: read strictly, and what they say reaches the simulator."""

from pathlib import Path

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.core.rotations import yaw_of
from ghost.deploy import SimulatedFlight, find_shipped, load_scenario
from ghost.hal import GpsSample, GroundTruth
from ghost.hal.channels import GPS, GROUNDTRUTH_STATE
from ghost.simulation.adapter import Fault, FaultKind, Wind
from ghost.simulation.backend import Happening
from tests.deploy.rig import order, scenario_of

SHIPPED = ("calm", "gps_outage", "gusty", "weak_motor")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        scenario_of(folder, text)
    path = folder / "scenario.yaml"
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


# Reading.


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scenario_is_read(name: str) -> None:
    assert load_scenario(name).spec.name == name


def test_everything_in_a_file_has_its_meaning(tmp_path: Path) -> None:
    scenario = scenario_of(
        tmp_path,
        """
description: all there is
seed: 7
step_ms: 0.5
duration_s: 1.5
origin: {latitude_deg: -33.0, longitude_deg: 151.0, altitude_m: 20}
start: {position_enu_m: [1, 2, 3], heading_deg: 90, charge: 0.8}
wind: {mean_enu_mps: [1, 0, 0], gust_mps: 0.5, gust_s: 1.5}
events:
  - {at_s: 0.25, wind: {gust_mps: 3}}
  - {at_s: 1, fault: offset, target: gps, values: [1, -2]}
""",
    )
    spec = scenario.spec
    assert (spec.seed, spec.step_ns, spec.duration_ns) == (7, 500_000, 1_500_000_000)
    assert (spec.origin.latitude_deg, spec.origin.altitude_m) == (-33.0, 20.0)
    assert (scenario.start.position_enu_m, scenario.start.charge) == ((1.0, 2.0, 3.0), 0.8)
    assert yaw_of(np.array(scenario.start.attitude)) == pytest.approx(np.pi / 2)
    assert scenario.wind == Wind((1.0, 0.0, 0.0), 0.5, 1_500_000_000)
    assert scenario.happenings == (
        Happening(250_000_000, Wind(gust_mps=3.0)),
        Happening(1_000_000_000, Fault("gps", FaultKind.OFFSET, (1.0, -2.0))),
    )


@pytest.mark.parametrize("step_ms", [0.01, 0.07, 0.29, 1.0, 2.01, 4.1])
def test_a_step_is_whole_nanoseconds_however_it_is_rounded(tmp_path: Path, step_ms: float) -> None:
    scenario = scenario_of(tmp_path, f"duration_s: 1\nstep_ms: {step_ms}")
    assert scenario.spec.step_ns == round(step_ms * 1_000_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("duration: 9", "unknown key duration; did you mean duration_s?"),
        ("seed: 1", "duration_s is missing"),
        ("duration_s: 0", "duration_s is 0; expected 0.1 to 86400"),
        ("duration_s: 9\nseed: -1", "seed is -1; expected an integer, 0 to 18446744073709551615"),
        ("duration_s: 9\nseed: 1.0", "seed is 1.0; expected an integer, 0 to 18446744073709551615"),
        ("duration_s: 9\nstep_ms: 0.0123456", "step_ms is 0.0123456; expected whole nanoseconds"),
        (
            "duration_s: 9\nstart: {position_enu_m: [0, 0, -1]}",
            "start.position_enu_m[2] is -1, under the ground; expected 0 or more",
        ),
        ("duration_s: 9\nstart: {charge: 80}", "start.charge is 80; expected 0 to 1"),
        (
            "duration_s: 9\norigin: {latitude_deg: 91, longitude_deg: 0, altitude_m: 0}",
            "origin: latitude is 91.0 deg; expected -90 to 90",
        ),
        (
            "duration_s: 9\nwind: {mean_mps: [1, 0, 0]}",
            "unknown key wind.mean_mps; did you mean mean_enu_mps?",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1}]",
            "events[0] is {'at_s': 1}; expected either wind or fault",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, wind: {}, fault: silent}]",
            (
                "events[0] is {'at_s': 1, 'wind': {}, 'fault': 'silent'}; expected either wind or "
                "fault"
            ),
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, fault: silent}]",
            "events[0].target is missing; expected a sensor, motor/N or battery",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, fault: strength, target: motor/0}]",
            "events[0].values has 0 entries; expected 1",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, fault: strength, target: motor/0, values: [9]}]",
            "events[0].values[0] is 9; expected 0 to 1",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, fault: silent, target: gps, values: [1]}]",
            "events[0].values has 1 entries; expected 0",
        ),
        (
            "duration_s: 9\nevents: [{at_s: 1, fault: silent, target: gps, values: x}]",
            "events[0].values is 'x'; expected a list of 0",
        ),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text) == said


def test_a_seed_that_is_given_takes_the_place_of_the_file_s(tmp_path: Path) -> None:
    assert scenario_of(tmp_path, "duration_s: 9\nseed: 4").spec.seed == 4
    assert scenario_of(tmp_path, "duration_s: 9\nseed: 4", seed=0).spec.seed == 0
    assert scenario_of(tmp_path, "duration_s: 9").spec.seed == 0


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_bad_seed_is_not_blamed_on_the_file(seed: int) -> None:
    with pytest.raises(ConfigError, match=rf"^seed is {seed}; expected an integer, 0 to "):
        load_scenario("calm", seed)


def test_a_world_that_is_asked_for_is_not_blamed_on_the_scenario(tmp_path: Path) -> None:
    yard = tmp_path / "yard.yaml"
    yard.write_text("name: yard\ngravity: 3", encoding="utf-8")
    with pytest.raises(ConfigError) as asked:
        load_scenario("calm", world=str(yard))
    said = f"{yard}: unknown key gravity; expected name, description, ground, solids"
    assert str(asked.value) == said
    own = tmp_path / "own.yaml"
    own.write_text("name: own\nduration_s: 9\nworld: yard.yaml", encoding="utf-8")
    with pytest.raises(ConfigError) as named:
        load_scenario(str(own))
    assert str(named.value) == f"{own}: {said}", "that one is the scenario's"


def test_a_name_that_is_not_shipped_is_refused_with_the_nearest_and_how_to_give_a_file() -> None:
    with pytest.raises(ConfigError) as caught:
        find_shipped("scenarios", "gust")
    assert str(caught.value) == (
        "no shipped scenario named 'gust'; did you mean gusty? "
        "(a file of your own is given by its path, ending in .yaml)"
    )
    assert find_shipped("missions", "here/square") == Path("here/square")


# Reaching the simulator.


def flight_of(folder: Path, text: str) -> SimulatedFlight:
    return SimulatedFlight(order(folder / "run", scenario=scenario_of(folder, text)))


def test_the_start_reaches_the_vehicle(tmp_path: Path) -> None:
    flight = flight_of(
        tmp_path,
        "duration_s: 0.2\nstart: {position_enu_m: [4, -3, 0], heading_deg: 90, charge: 0.7}",
    )
    truth = flight.backend.ground_truth()
    assert truth.position_enu_m.tolist() == [4.0, -3.0, 0.2]
    assert yaw_of(truth.attitude) == pytest.approx(np.pi / 2)
    flight.run()
    assert flight.statistics.charge == pytest.approx(0.7, abs=0.001)


def test_wind_and_its_changes_reach_the_vehicle(tmp_path: Path) -> None:
    flight = flight_of(
        tmp_path,
        "duration_s: 0.2\nwind: {mean_enu_mps: [3, 1, 0]}\n"
        "events: [{at_s: 0.1, wind: {mean_enu_mps: [0, 0, -2]}}]",
    )
    winds: list[tuple[float, ...]] = []

    def note(truth: GroundTruth) -> None:
        winds.append(tuple(truth.wind_enu_mps.tolist()))

    flight.bus.subscribe(GROUNDTRUTH_STATE, note, name="test")
    flight.run()
    assert winds[1:5] == [(3.0, 1.0, 0.0)] * 4
    assert winds[-4:] == [(0.0, 0.0, -2.0)] * 4


def test_faults_come_when_they_are_due_and_go(tmp_path: Path) -> None:
    flight = flight_of(
        tmp_path,
        "duration_s: 3\nevents:\n  - {at_s: 1, fault: silent, target: gps}\n"
        "  - {at_s: 2, fault: healed, target: gps}",
    )
    stamps: list[int] = []

    def note(sample: GpsSample) -> None:
        stamps.append(sample.stamp_ns // 1_000_000)

    flight.bus.subscribe(GPS, note, name="test")
    flight.run()
    assert {stamp // 1000 for stamp in stamps} == {0, 2}


def test_a_fault_that_can_t_happen_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^fault target 'gpss'; expected one of imu, gps, "):
        flight_of(tmp_path, "duration_s: 9\nevents: [{at_s: 1, fault: silent, target: gpss}]")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("step_ms", "said"),
    [
        (3, "sensor imu has a period of 4000000 ns, which the scenario's step of 3000000 ns"),
        (8, "sensor imu has a period of 4000000 ns, which the scenario's step of 8000000 ns"),
    ],
)
def test_a_step_that_does_not_divide_the_sensors_is_refused_before_take_off(
    tmp_path: Path, step_ms: int, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        flight_of(tmp_path, f"duration_s: 9\nstep_ms: {step_ms}")
    assert str(caught.value) == f"{said} does not divide; choose a step that does"
    assert not (tmp_path / "run").exists()
