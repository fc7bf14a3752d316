"""Swarm missions from YAML. What isn't understood is refused, with the path to it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError, shown
from ghost.core.fields import (
    Reader,
    choice,
    integer,
    items,
    joined,
    nanoseconds,
    nearest,
    number,
    radians,
    section,
    text,
)
from ghost.mission.steps import Frame, OnTimeout
from ghost.mission.swarm.mission import SwarmMission
from ghost.mission.swarm.steps import (
    KINDS,
    Defaults,
    Form,
    GoTo,
    Heading,
    Hold,
    Land,
    Move,
    OnLoss,
    Places,
    Return,
    Step,
    Takeoff,
    Terms,
)
from ghost.planning.formation import Shape
from ghost.telemetry.document import parse_document, read_document

MOST_VEHICLES = 254
_MOST_STEPS, _MOST_WAYPOINTS = 1000, 10_000


def load_swarm_mission(source: Path | str) -> SwarmMission:
    """From a file, given as a Path, or from YAML text, given as a str."""
    if isinstance(source, Path):
        name, plain = str(source), read_document(source)
    else:
        name, plain = "swarm mission", parse_document(source, "swarm mission")
    if isinstance(plain, str) and "\n" not in plain.strip():
        raise ConfigError(f"{shown(plain)} is no mission; give a file as pathlib.Path")
    try:
        return replace(_mission(plain), plain=plain)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _mission(plain: Any) -> SwarmMission:
    head = section(
        {
            "name": text,
            "description": text,
            "vehicles": integer(1, MOST_VEHICLES),
            "frame": choice(*Frame),
            "separation": _switch,
            "on_loss": choice(*OnLoss),
            "defaults": section(_DEFAULTS),
            "steps": items(lambda step, _: step, least=2, most=_MOST_STEPS),
        },
        required=("name", "steps"),
    )(plain, "")
    defaults = Defaults(**head.get("defaults", {}))
    steps = tuple(
        _step(step, f"steps[{index}]", defaults) for index, step in enumerate(head["steps"])
    )
    _require_order(steps)
    return SwarmMission(
        head["name"],
        steps,
        defaults,
        Frame(head.get("frame", Frame.HOME)),
        head.get("vehicles"),
        head.get("separation", True),
        OnLoss(head.get("on_loss", OnLoss.CONTINUE)),
    )


def _step(plain: Any, path: str, defaults: Defaults) -> Step:
    if not isinstance(plain, dict) or len(plain) != 1:
        raise ConfigError(f"{path} is {shown(plain)}; expected one step, such as land: {{}}")
    ((kind, values),) = plain.items()
    if kind not in KINDS:
        raise ConfigError(f"unknown step {joined(path, kind)}{nearest(kind, KINDS)}")
    return _STEPS[kind](values, f"{path}.{kind}", defaults)


def _takeoff(plain: Any, path: str, _: Defaults) -> Step:
    readers = {"altitude_m": number(0.5, 10_000.0), **_TERMS}
    found = section(readers, required=("altitude_m",))(plain, path)
    return Takeoff(found["altitude_m"], _terms(found))


def _form(plain: Any, path: str, defaults: Defaults) -> Step:
    readers = {
        "shape": choice(*Shape),
        "spacing_m": number(0.1, 1000.0),
        "offsets_flu_m": items(_VECTOR, least=1, most=MOST_VEHICLES),
        "centre_enu_m": _VECTOR,
        "heading_deg": radians(-360.0, 360.0),
        "speed_mps": _SPEED,
        **_TERMS,
    }
    found = section(readers)(plain, path)
    if ("shape" in found) == ("offsets_flu_m" in found):
        raise ConfigError(f"{path} has both or neither of shape and offsets_flu_m; give one")
    if ("shape" in found) != ("spacing_m" in found):
        raise ConfigError(f"{path}: spacing_m is for a shape, and a shape needs it")
    return Form(
        Shape(found["shape"]) if "shape" in found else None,
        found.get("spacing_m", 0.0),
        found.get("offsets_flu_m", ()),
        found.get("centre_enu_m"),
        found.get("heading_deg"),
        found.get("speed_mps", defaults.speed_mps),
        _terms(found),
    )


def _move(plain: Any, path: str, defaults: Defaults) -> Step:
    readers = {
        "waypoints": items(_waypoint, least=1, most=_MOST_WAYPOINTS),
        "speed_mps": _SPEED,
        "heading": _heading,
        **_TERMS,
    }
    found = section(readers, required=("waypoints",))(plain, path)
    return Move(
        found["waypoints"],
        found.get("speed_mps", defaults.speed_mps),
        found.get("heading", Heading.PATH),
        _terms(found),
    )


def _goto(plain: Any, path: str, defaults: Defaults) -> Step:
    readers = {"targets": _targets, "speed_mps": _SPEED, **_TERMS}
    found = section(readers, required=("targets",))(plain, path)
    return GoTo(found["targets"], found.get("speed_mps", defaults.speed_mps), _terms(found))


def _hold(plain: Any, path: str, _: Defaults) -> Step:
    readers = {"seconds": nanoseconds(0.0, 86_400.0), **_TERMS}
    found = section(readers, required=("seconds",))(plain, path)
    return Hold(found["seconds"], _terms(found))


def _return(plain: Any, path: str, defaults: Defaults) -> Step:
    """Only to be ended by a landing, or a mission that ends with it would leave them in the air."""
    readers = {
        "places": choice(*Places),
        "speed_mps": _SPEED,
        "timeout_s": _TERMS["timeout_s"],
        "on_timeout": choice(OnTimeout.LAND),
    }
    found = section(readers)(plain, path)
    places = Places(found.get("places", Places.ANY))
    return Return(places, found.get("speed_mps", defaults.speed_mps), _terms(found))


def _land(plain: Any, path: str, _: Defaults) -> Step:
    return Land(_terms(section({"timeout_s": _TERMS["timeout_s"]})(plain, path)))


def _terms(found: dict[str, Any]) -> Terms:
    return Terms(found.get("timeout_s"), OnTimeout(found.get("on_timeout", OnTimeout.LAND)))


def _waypoint(plain: Any, path: str) -> tuple[float, float, float]:
    names = ("east_m", "north_m", "altitude_m")
    found = section(dict.fromkeys(names, _METRES), required=names)(plain, path)
    return (found["east_m"], found["north_m"], found["altitude_m"])


def _targets(plain: Any, path: str) -> dict[int, tuple[float, float, float]] | None:
    if plain == "opposite":
        return None
    if not isinstance(plain, dict) or not plain:
        raise ConfigError(
            f"{path} is {shown(plain)}; expected opposite, or vehicles with a place each, such as "
            "{1: [10.0, 0.0, 5.0]}"
        )
    read_id = integer(1, MOST_VEHICLES)
    return {
        read_id(vehicle, f"{path}: vehicle"): _VECTOR(place, f"{path}[{shown(vehicle)}]")
        for vehicle, place in plain.items()
    }


def _heading(plain: Any, path: str) -> Heading | float:
    if isinstance(plain, str):
        return Heading(choice(*Heading)(plain, path))
    found: float = radians(-360.0, 360.0)(plain, path)
    return found


def _switch(plain: Any, path: str) -> bool:
    """YAML reads a bare off as false."""
    if plain == "keep":
        return True
    if plain == "off" or plain is False:
        return False
    raise ConfigError(f"{path} is {shown(plain)}; expected keep or off")


def _require_order(steps: tuple[Step, ...]) -> None:
    """One take-off, at the beginning, and one landing, at the end."""
    for index, step in enumerate(steps):
        is_first, is_last = index == 0, index + 1 == len(steps)
        if isinstance(step, Takeoff) != is_first:
            raise ConfigError(
                f"steps[{index}] {'is no takeoff' if is_first else 'takes off again'}; "
                "a swarm's mission has one, and it is the first step"
            )
        if isinstance(step, Land) and not is_last:
            raise ConfigError(f"steps[{index}] lands, and a step follows; make it the last")
        if isinstance(step, Return) and not (
            is_last or (index + 2 == len(steps) and isinstance(steps[-1], Land))
        ):
            raise ConfigError(f"steps[{index}] returns; after it nothing but land may follow")
    if not isinstance(steps[-1], Land | Return):
        raise ConfigError(f"steps[{len(steps) - 1}] leaves the swarm in the air; end with land")


_METRES = number(-100_000.0, 100_000.0)
_VECTOR = items(_METRES, least=3, most=3)
_SPEED = number(0.1, 50.0)
_DEFAULTS: dict[str, Reader] = {
    "separation_m": number(0.1, 1000.0),
    "margin_m": number(0.0, 100.0),
    "speed_mps": _SPEED,
    "climb_mps": number(0.1, 20.0),
    "acceleration_mps2": number(0.1, 20.0),
    "yaw_rate_dps": number(1.0, 360.0),
    "acceptance_m": number(0.05, 100.0),
}
_TERMS: dict[str, Reader] = {
    "timeout_s": nanoseconds(0.1, 86_400.0),
    "on_timeout": choice(OnTimeout.CONTINUE, OnTimeout.RETURN, OnTimeout.LAND),
}
_STEPS: dict[str, Callable[[Any, str, Defaults], Step]] = {
    "takeoff": _takeoff,
    "form": _form,
    "move": _move,
    "goto": _goto,
    "hold": _hold,
    "return": _return,
    "land": _land,
}
