"""Robots, scenarios and missions written to files, and flights of them."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ghost.deploy import (
    Flight,
    Order,
    RobotDescription,
    Scenario,
    SimulatedFlight,
    find_robots,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
    read_robot,
)

ROBOT_NAMES = (
    "crazyflie",
    "f450",
    "ground_station",
    "hexa",
    "iris",
    "pixhawk_bench",
    "x500",
    "x500_depth",
    "x500_lidar",
)
X500: dict[str, Any] = yaml.safe_load(find_robots()["x500"].read_text(encoding="utf-8"))
LEAVE_OUT = object()


def changed(plain: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with the values at dotted paths replaced, added, or left out."""
    made = copy.deepcopy(plain)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place: Any = made
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if value is LEAVE_OUT:
            del place[last]
        elif isinstance(place, list):
            place[int(last)] = value
        else:
            place[last] = value
    return made


def write_robot(robots: Path, plain: Any, *, name: str = "") -> Path:
    """A folder of robots with this one in it; the path of its file."""
    folder = robots / (name or plain["name"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robot.yaml"
    text = plain if isinstance(plain, str) else yaml.safe_dump(plain, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path


def x500_with(folder: Path, **changes: Any) -> RobotDescription:
    """The x500, otherwise; two underscores stand for a dot."""
    dotted = {path.replace("__", "."): value for path, value in changes.items()}
    return read_robot(write_robot(folder, changed(X500, dotted)))


def scenario_of(folder: Path, text: str, seed: int | None = None) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(f"name: test\n{text}", encoding="utf-8")
    return load_scenario(str(path), seed)


def order(
    out: Path,
    *,
    robot: str | RobotDescription = "x500",
    mission: str = "hover",
    scenario: str | Scenario = "calm",
    seed: int | None = None,
) -> Order:
    """What to fly; the mission is the name of a shipped one, or YAML."""
    is_yaml = "\n" in mission
    return Order(
        load_robot(robot) if isinstance(robot, str) else robot,
        load_mission(mission if is_yaml else find_shipped("missions", mission)),
        load_scenario(scenario, seed) if isinstance(scenario, str) else scenario,
        out,
    )


def fly(
    flown: Order, on_cycle: Callable[[SimulatedFlight], None] = lambda _: None
) -> tuple[SimulatedFlight, Flight]:
    flight = SimulatedFlight(flown)
    return flight, flight.run(on_cycle)
