"""Scenarios: the start, the weather and what goes wrong, as YAML."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ghost.core.errors import ConfigError, FrameError, shown
from ghost.core.fields import (
    Reader,
    choice,
    integer,
    items,
    nanoseconds,
    number,
    section,
    text,
)
from ghost.core.frames import Geodetic
from ghost.core.rotations import from_yaw
from ghost.deploy.shipped import find_shipped
from ghost.deploy.solids import read_solids
from ghost.deploy.world import load_world
from ghost.hal import ScenarioSpec
from ghost.hal.scenario import ZURICH
from ghost.simulation.adapter import Fault, FaultKind, Start, Wind
from ghost.simulation.backend import Happening
from ghost.simulation.scenery import NOTHING, Scenery, Solid
from ghost.telemetry.document import read_document

Surroundings: TypeAlias = tuple[Scenery, Any] | None


@dataclass(frozen=True, slots=True)
class Scenario:
    spec: ScenarioSpec
    start: Start
    wind: Wind
    happenings: tuple[Happening, ...]
    scenery: Scenery
    plain: Mapping[str, Any]
    """The file as it stands, and the world's in the place of its name."""


def load_scenario(source: str, seed: int | None = None, world: str | None = None) -> Scenario:
    """By the name of a shipped one, or by the path of a file; seed and world take the place of its
    own.
    """
    path = find_shipped("scenarios", source)
    if seed is not None:
        _SEED(seed, "seed")
    plain = read_document(path)
    asked = _surroundings(world) if world else None  # what is wrong in it is not the scenario's
    try:
        return _scenario(plain, seed, asked, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _scenario(plain: Any, seed: int | None, asked: Surroundings, folder: Path) -> Scenario:
    found = section(
        {
            "name": text,
            "description": text,
            "seed": _SEED,
            "step_ms": number(0.01, 100.0),
            "duration_s": nanoseconds(0.1, 86_400.0),
            "origin": _origin,
            "start": _start,
            "wind": _wind,
            "world": text,
            "obstacles": lambda listed, path: read_solids(listed, path, folder),
            "events": items(_happening, least=0, most=1000),
        },
        required=("name", "duration_s"),
    )(plain, "")
    step = found.get("step_ms", 1.0) * 1e6
    if abs(step - round(step)) > 1e-6:  # 2.01 * 1e6 is not quite whole
        raise ConfigError(f"step_ms is {found['step_ms']}; expected whole nanoseconds")
    spec = ScenarioSpec(
        name=found["name"],
        seed=found.get("seed", 0) if seed is None else seed,
        step_ns=round(step),
        duration_ns=found["duration_s"],
        origin=found.get("origin", ZURICH),
    )
    own = _beside(found.get("world"), folder)
    scenery, world = asked or (_surroundings(own) if own else None) or (NOTHING, None)
    plain = plain | {"world": world} if world else plain
    return Scenario(
        spec,
        found.get("start", Start()),
        found.get("wind", Wind()),
        found.get("events", ()),
        _with_obstacles(scenery, found.get("obstacles", ())),
        plain,
    )


def _surroundings(world: str) -> tuple[Scenery, Any]:
    """And the file as it stands."""
    return load_world(world), read_document(find_shipped("worlds", world))


def _beside(world: str | None, folder: Path) -> str | None:
    """A path in a scenario begins where the scenario lies."""
    is_path = world is not None and ("/" in world or world.endswith((".yaml", ".yml")))
    return str(folder / world) if world is not None and is_path else world


def _with_obstacles(scenery: Scenery, obstacles: tuple[Solid, ...]) -> Scenery:
    taken = {solid.name for solid in scenery.solids}
    for solid in obstacles:
        if solid.name in taken:
            raise ConfigError(
                f"obstacles: {solid.name!r} is in world {scenery.name} too; give it another name"
            )
    return replace(scenery, solids=(*scenery.solids, *obstacles))


def _origin(plain: Any, path: str) -> Geodetic:
    names = ("latitude_deg", "longitude_deg", "altitude_m")
    found = section(dict.fromkeys(names, number(-1e5, 1e5)), required=names)(plain, path)
    try:
        return Geodetic(**found)
    except FrameError as error:
        raise ConfigError(f"{path}: {error}") from None


def _start(plain: Any, path: str) -> Start:
    found = section(
        {
            "position_enu_m": _VECTOR,
            "heading_deg": number(-360.0, 360.0),
            "charge": number(0.0, 1.0),
        }
    )(plain, path)
    if "position_enu_m" in found and found["position_enu_m"][2] < 0.0:
        raise ConfigError(
            f"{path}.position_enu_m[2] is {found['position_enu_m'][2]:g}, under the ground; "
            "expected 0 or more"
        )
    w, x, y, z = from_yaw(found.pop("heading_deg", 0.0) * math.pi / 180.0).tolist()
    return Start(attitude=(w, x, y, z), **found)


def _wind(plain: Any, path: str) -> Wind:
    found = section(
        {
            "mean_enu_mps": _VECTOR,
            "gust_mps": number(0.0, 50.0),
            "gust_s": nanoseconds(0.02, 600.0),
        }
    )(plain, path)
    if "gust_s" in found:
        found["gust_ns"] = found.pop("gust_s")
    return Wind(**found)


def _happening(plain: Any, path: str) -> Happening:
    found = section(
        {
            "at_s": nanoseconds(0.0, 86_400.0),
            "wind": _wind,
            "fault": choice(*FaultKind),
            "target": text,
            "values": lambda listed, _: listed,  # read below, by kind
        },
        required=("at_s",),
    )(plain, path)
    if ("wind" in found) == ("fault" in found):
        raise ConfigError(f"{path} is {shown(plain)}; expected either wind or fault")
    if "wind" in found:
        return Happening(found["at_s"], found["wind"])
    if "target" not in found:
        raise ConfigError(f"{path}.target is missing; expected a sensor, motor/N or battery")
    kind = FaultKind(found["fault"])
    values = _VALUES.get(kind, _NO_VALUES)(found.get("values", []), f"{path}.values")
    return Happening(found["at_s"], Fault(found["target"], kind, values))


_NO_VALUES = items(text, least=0, most=0)
_VALUES: dict[FaultKind, Reader] = {
    FaultKind.OFFSET: items(number(-1e9, 1e9), least=1, most=6),
    FaultKind.NOISE: items(number(0.0, 1e6), least=1, most=1),
    FaultKind.STRENGTH: items(number(0.0, 1.0), least=1, most=1),
    FaultKind.CHARGE: items(number(0.0, 1.0), least=1, most=1),
}
_SEED = integer(0, 2**64 - 1)
_VECTOR = items(number(-1e5, 1e5), least=3, most=3)
