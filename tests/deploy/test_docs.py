"""docs/robots.md and docs/scenarios.md: examples that work, tables that are whole and true."""

import re
from collections.abc import Iterator
from dataclasses import fields
from math import degrees
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghost.autopilot import AutopilotConfig
from ghost.core.errors import ConfigError
from ghost.deploy import build_hal, load_robot, load_scenario, read_robot
from ghost.hal import SafetyEnvelope
from ghost.hal.airframe import Airframe, Battery, Rotor
from ghost.simulation.adapter import FaultKind
from ghost.simulation.models.sensors import SensorModel
from ghost.simulation.models.suite import MODELS
from tests.deploy.rig import ROBOT_NAMES, changed, fly, order, write_robot

DOCS = Path(__file__).parents[2] / "docs"
ROBOTS = (DOCS / "robots.md").read_text(encoding="utf-8")
SCENARIOS = (DOCS / "scenarios.md").read_text(encoding="utf-8")
RACER, SCOUT = re.findall(r"```yaml\n(.*?)```", ROBOTS, re.DOTALL)
(AFTERNOON,) = re.findall(r"```yaml\n(.*?)```", SCENARIOS, re.DOTALL)
AS_IT_IS = ("arm_below_tilt_rad", "correlation_ns", "gyro_bias_rps", "noise_rps", "max_speed_rps")
UNITS = {"_rad": "_deg", "_rps": "_dps", "_ns": "_ms"}


def names_in(page: str) -> set[str]:
    """What stands in the second column of the tables, between backticks."""
    cells = re.findall(r"^\|[^|]*\|([^|]*)\|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z0-9_/]+)`", cell)}


def defaults_in(where: str) -> dict[str, float]:
    """The defaults in the rows of a part of a robot.yaml, by key."""
    found: dict[str, float] = {}
    part = ""
    cells = r"^\|([^|]*)\|([^|]*)\|[^|]*\|([^|]*)\|$"
    for row in re.findall(cells, ROBOTS, re.MULTILINE):
        first, names, default = (cell.strip() for cell in row)
        part = first or part
        if part == where:
            keys = re.findall(r"`([a-z0-9_]+)`", names)
            values = default.split(", ")
            found |= {k: float(v) for k, v in zip(keys, values, strict=False) if _is_number(v)}
    return found


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[\d.]+(e-\d+)?", word) is not None


# Robots.


def test_the_robot_of_the_example_can_be_flown(tmp_path: Path) -> None:
    robot = read_robot(write_robot(tmp_path, RACER, name="racer"))
    assert fly(order(tmp_path / "run", robot=robot, mission="square"))[1].succeeded


def test_the_robot_that_extends_another_can_be_flown(tmp_path: Path) -> None:
    robot = read_robot(write_robot(tmp_path, SCOUT, name="scout"))
    assert robot.sensors[-1].spec.mount.position_flu_m == (0.1, 0.0, 0.08)
    assert fly(order(tmp_path / "run", robot=robot, mission="hover"))[1].succeeded


def test_the_listing_is_what_ghost_robots_list_prints() -> None:
    listing = re.findall(r"^(\w+) +(sim|real|sim\+real|neither) +(.*)$", ROBOTS, re.MULTILINE)
    assert {name: words for name, _, words in listing} == {
        name: load_robot(name).description for name in ROBOT_NAMES
    }


def robot_keys() -> Iterator[str]:
    yield from ("name", "description", "hal", "sim", "airframe", "sensors", "envelope", "autopilot")
    yield from ("extends", "roll_deg", "pitch_deg", "yaw_deg")
    yield from ("real", "simulator", "kind", "rate_hz", "latency_ms", "dropout", "turns", "rotor")
    for kind in (Airframe, SafetyEnvelope, AutopilotConfig, *MODELS.values()):
        yield from (_written(entry.name) for entry in fields(kind))
    yield from ("position_flu_m", "axis_flu")


def _written(name: str) -> str:
    """As a robot.yaml has it."""
    if name in AS_IT_IS:
        return name
    for unit, other in UNITS.items():
        if name.endswith(unit):
            return name.removesuffix(unit) + other
    return name


@pytest.mark.parametrize("key", sorted(set(robot_keys()) - {"period_ms", "control_period_ms"}))
def test_every_key_of_a_robot_is_in_the_table(key: str) -> None:
    assert key in names_in(ROBOTS)


@pytest.mark.parametrize("kind", [Rotor, Battery])
def test_every_key_of_rotors_and_battery_is_named(kind: Any) -> None:
    for entry in fields(kind):
        if entry.name != "direction":
            assert f"`{_written(entry.name)}`" in ROBOTS


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.__name__)
def test_the_defaults_of_a_sensor_are_as_written(model: type[SensorModel]) -> None:
    told = defaults_in(model.kind.name.lower())
    common = {entry.name for entry in fields(SensorModel)}
    assert told == {
        entry.name: entry.default
        for entry in fields(model)
        if entry.name not in common and isinstance(entry.default, int | float)
    }


def test_the_defaults_of_the_envelope_and_the_autopilot_are_as_written() -> None:
    envelope, told = SafetyEnvelope(), defaults_in("envelope")
    assert told.pop("max_tilt_deg") == pytest.approx(degrees(envelope.max_tilt_rad), abs=0.05)
    assert told.pop("max_rate_dps") == pytest.approx(degrees(envelope.max_rate_rps), abs=0.5)
    for name in ("max_command_age", "command_timeout", "lookahead"):
        assert told.pop(f"{name}_ms") * 1_000_000 == getattr(envelope, f"{name}_ns")
    assert told == {name: getattr(envelope, name) for name in told}
    assert len(told) == 4
    autopilot = {entry.name: entry.default for entry in fields(AutopilotConfig)}
    del autopilot["control_period_ns"]
    assert defaults_in("autopilot") == autopilot


@pytest.mark.parametrize(
    "changes",
    [
        {"airframe.mass_g": 600},
        {"airframe.rotor.torque_per_thrust_m": 0.0},
        {"airframe.mass_kg": 3.0},
    ],
)
def test_the_refusals_are_as_written(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write_robot(tmp_path, changed(yaml.safe_load(RACER), changes))
    with pytest.raises(ConfigError) as caught:
        read_robot(path)
    assert str(caught.value).replace(str(path), "my-robots/racer/robot.yaml") in ROBOTS


# Scenarios.


def test_the_scenario_of_the_example_can_be_flown(tmp_path: Path) -> None:
    path = tmp_path / "bad-afternoon.yaml"
    path.write_text(AFTERNOON, encoding="utf-8")
    scenario = load_scenario(str(path), seed=8)
    flown = fly(order(tmp_path / "run", mission="square", scenario=scenario))[1]
    assert flown.succeeded, flown.outcome


def test_every_shipped_scenario_is_in_the_table() -> None:
    told = set(re.findall(r"^\| `(\w+)` \| [^|]* \|$", SCENARIOS, re.MULTILINE))
    assert told == {"calm", "gusty", "gps_outage", "weak_motor"}


KEYS = "name description duration_s seed step_ms origin start wind events position_enu_m"
KEYS += " heading_deg charge mean_enu_mps gust_mps gust_s at_s fault target values"


@pytest.mark.parametrize("key", KEYS.split())
def test_every_key_of_a_scenario_is_in_the_table(key: str) -> None:
    assert key in names_in(SCENARIOS)


@pytest.mark.parametrize("kind", FaultKind)
def test_every_fault_is_in_the_table(kind: FaultKind) -> None:
    assert re.search(rf"^\| `{kind}` \|", SCENARIOS, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("target: motor/1", "taget: motor/1"),
        ("target: gps", "target: gpss"),
        ("seed: 7", "step_ms: 3"),
    ],
)
def test_the_refusals_of_a_scenario_are_as_written(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "bad-afternoon.yaml"
    path.write_text(AFTERNOON.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        _fly_a_step(path)
    assert f"ghost: {caught.value}".replace(f"{tmp_path}/", "") in SCENARIOS


def _fly_a_step(path: Path) -> None:
    scenario = load_scenario(str(path))
    backend = build_hal(load_robot("x500"), mode="sim", happenings=scenario.happenings)
    backend.reset(scenario.spec, 0)
