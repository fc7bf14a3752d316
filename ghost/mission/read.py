"""Missions from YAML. What isn't understood is refused, with the path to it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError, shown
from ghost.core.fields import (
    Reader,
    choice,
    flag,
    items,
    joined,
    nanoseconds,
    nearest,
    number,
    radians,
    section,
    text,
)
from ghost.mission.mission import Mission
from ghost.mission.steps import (
    KINDS,
    Defaults,
    Frame,
    GoTo,
    Hold,
    Land,
    OnTimeout,
    Return,
    Step,
    Survey,
    Takeoff,
    Terms,
    Until,
)
from ghost.planning.polygon import checked_polygon
from ghost.telemetry.document import parse_document, read_document

_MAX_STEPS, _MAX_WAYPOINTS, _MAX_CORNERS = 1000, 10_000, 100


def load_mission(source: Path | str) -> Mission:
    """From a file, given as a Path, or from YAML text, given as a str."""
    if isinstance(source, Path):
        name, plain = str(source), read_document(source)
    else:
        name, plain = "mission", parse_document(source, "mission")
    if isinstance(plain, str) and "\n" not in plain.strip():
        raise ConfigError(f"{shown(plain)} is no mission; give a file as pathlib.Path")
    try:
        return replace(_mission(plain), plain=plain)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _mission(plain: Any) -> Mission:
    head = section(
        {
            "name": text,
            "frame": choice(*Frame),
            "defaults": section(_DEFAULTS),
            "steps": items(lambda step, _: step, least=1, most=_MAX_STEPS),
        },
        required=("name", "steps"),
    )(plain, "")
    defaults = Defaults(**head.get("defaults", {}))
    steps = tuple(
        _step(step, f"steps[{index}]", defaults) for index, step in enumerate(head["steps"])
    )
    _require_order(steps)
    return Mission(head["name"], steps, defaults, Frame(head.get("frame", Frame.WORLD)))


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


def _goto(plain: Any, path: str, defaults: Defaults) -> Step:
    readers = {
        "position_enu_m": items(_METRES, least=3, most=3),
        "waypoints": items(_waypoint, least=1, most=_MAX_WAYPOINTS),
        "speed_mps": _SPEED,
        "yaw": _yaw,
        "stop": flag,
        "stop_before_obstacle_m": _CLEARANCE,
        **_TERMS,
    }
    found = section(readers)(plain, path)
    way = _one_of(found, path, "position_enu_m", "waypoints")
    waypoints = found[way] if way == "waypoints" else (found[way],)
    return GoTo(
        waypoints,
        found.get("speed_mps", defaults.speed_mps),
        found.get("yaw"),
        found.get("stop", False),
        found.get("stop_before_obstacle_m"),
        _terms(found),
    )


def _hold(plain: Any, path: str, _: Defaults) -> Step:
    found = section({"seconds": nanoseconds(0.0, 86_400.0), **_TERMS}, required=("seconds",))(
        plain, path
    )
    return Hold(found["seconds"], _terms(found))


def _survey(plain: Any, path: str, defaults: Defaults) -> Step:
    readers = {
        "polygon": items(_PAIR, least=3, most=_MAX_CORNERS),
        "rectangle": items(_PAIR, least=2, most=2),
        "spacing_m": number(0.1, 1000.0),
        "altitude_m": number(-1000.0, 10_000.0),
        "speed_mps": _SPEED,
        "heading_deg": radians(-360.0, 360.0),
        "yaw": _yaw,
        "stop": flag,
        "stop_before_obstacle_m": _CLEARANCE,
        **_TERMS,
    }
    found = section(readers, required=("spacing_m", "altitude_m"))(plain, path)
    area = _one_of(found, path, "polygon", "rectangle")
    corners = found[area]
    if area == "rectangle":
        (west, south), (east, north) = corners
        corners = ((west, south), (east, south), (east, north), (west, north))
    step = Survey(
        corners,
        found["spacing_m"],
        found["altitude_m"],
        found.get("speed_mps", defaults.speed_mps),
        found.get("heading_deg", 0.0),
        found.get("yaw"),
        found.get("stop", False),
        found.get("stop_before_obstacle_m"),
        _terms(found),
    )
    try:
        checked_polygon(corners)
        _ = step.waypoints_enu_m  # refuses too many lines
    except ConfigError as error:
        raise ConfigError(f"{path}.{area}: {error}") from None
    return step


def _return(plain: Any, path: str, _: Defaults) -> Step:
    """Nothing may end it in the air, or a mission that ends with it would leave it there."""
    readers = {
        "timeout_s": _TERMS["timeout_s"],
        "on_timeout": choice(OnTimeout.LAND, OnTimeout.ABORT),
    }
    return Return(_terms(section(readers)(plain, path)))


def _land(plain: Any, path: str, _: Defaults) -> Step:
    return Land(_terms(section({"timeout_s": _TERMS["timeout_s"]})(plain, path)))


def _terms(found: dict[str, Any]) -> Terms:
    return Terms(
        found.get("timeout_s"),
        OnTimeout(found.get("on_timeout", OnTimeout.LAND)),
        found.get("until", Until()),
    )


def _until(plain: Any, path: str) -> Until:
    found = section(
        {
            "battery_below": number(0.0, 1.0),
            "altitude_above_m": number(-1000.0, 10_000.0),
            "elapsed_s": nanoseconds(0.0, 86_400.0),
            "event": text,
        }
    )(plain, path)
    if not found:
        raise ConfigError(f"{path} is empty; give it a condition, or leave it out")
    elapsed_ns = found.pop("elapsed_s", None)
    return Until(elapsed_ns=elapsed_ns, **found)


def _waypoint(plain: Any, path: str) -> tuple[float, float, float]:
    names = ("east_m", "north_m", "altitude_m")
    found = section(dict.fromkeys(names, _METRES), required=names)(plain, path)
    return (found["east_m"], found["north_m"], found["altitude_m"])


def _yaw(plain: Any, path: str) -> float | None:
    if plain == "path":
        return None
    if isinstance(plain, str):
        raise ConfigError(f"{path} is {shown(plain)}; expected path, or degrees from east")
    found: float = radians(-360.0, 360.0)(plain, path)
    return found


def _one_of(found: dict[str, Any], path: str, *names: str) -> str:
    given = [name for name in names if name in found]
    if len(given) != 1:
        words = f"both {' and '.join(names)}" if given else f"neither {' nor '.join(names)}"
        raise ConfigError(f"{path} has {words}; give one of them")
    return given[0]


def _require_order(steps: tuple[Step, ...]) -> None:
    """On the ground only a take-off makes sense, in the air everything else."""
    flying = False
    for index, step in enumerate(steps):
        path = f"steps[{index}]"
        if isinstance(step, Takeoff) == flying:
            raise ConfigError(
                f"{path} takes off, but the vehicle is in the air; put a land before it"
                if flying
                else f"{path} needs a vehicle in the air; put a takeoff before it"
            )
        lands_next = index + 1 < len(steps) and isinstance(steps[index + 1], Land)
        flying = not (isinstance(step, Land) or (isinstance(step, Return) and not lands_next))
    if flying:
        raise ConfigError(f"steps[{len(steps) - 1}] leaves the vehicle in the air; end with land")


_METRES = number(-100_000.0, 100_000.0)
_PAIR = items(_METRES, least=2, most=2)
_SPEED = number(0.1, 50.0)
_CLEARANCE = number(0.3, 100.0)
_DEFAULTS: dict[str, Reader] = {
    "speed_mps": _SPEED,
    "climb_mps": number(0.1, 20.0),
    "acceleration_mps2": number(0.1, 20.0),
    "yaw_rate_dps": number(1.0, 360.0),
    "acceptance_m": number(0.05, 100.0),
}
_TERMS: dict[str, Reader] = {
    "timeout_s": nanoseconds(0.1, 86_400.0),
    "on_timeout": choice(*OnTimeout),
    "until": _until,
}
_STEPS = {
    "takeoff": _takeoff,
    "goto": _goto,
    "hold": _hold,
    "survey": _survey,
    "return": _return,
    "land": _land,
}
