"""robot.yaml: what a robot is, strictly read. A robot is data; adding one needs no code."""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import ghost
from ghost.autopilot import AutopilotConfig
from ghost.control import allocate
from ghost.core.channels import Channel
from ghost.core.errors import ConfigError, shown
from ghost.core.fields import (
    Reader,
    choice,
    integer,
    items,
    joined,
    nullable,
    number,
    radians,
    section,
    text,
)
from ghost.core.rotations import from_euler_zyx
from ghost.hal import Mount, SafetyEnvelope, SensorKind
from ghost.hal import channels as hal_channels
from ghost.hal.airframe import Airframe, Battery, Rotor
from ghost.simulation.adapter import CONTACT
from ghost.simulation.models.sensors import SensorModel
from ghost.simulation.models.suite import MODELS
from ghost.telemetry.document import read_document

ROBOT_FILE = "robot.yaml"


@dataclass(frozen=True, slots=True)
class HalEntrypoints:
    """Each a "module:Class", or None where the robot has no such HAL."""

    sim: str | None
    real: str | None


@dataclass(frozen=True, slots=True)
class SimBlock:
    """That a robot can be simulated with the generic backend, and by which simulator at first."""

    simulator: str


@dataclass(frozen=True, slots=True)
class FlightControllerBlock:
    """What must hold of a real robot's flight controller, and how it is handed over."""

    parameters: Mapping[str, int | float] = field(default_factory=dict)
    on_stop: Literal["land", "return"] = "land"


@dataclass(frozen=True, slots=True)
class RobotDescription:
    name: str
    description: str
    path: Path
    hal: HalEntrypoints
    sim: SimBlock | None
    airframe: Airframe | None
    sensors: tuple[SensorModel, ...]
    envelope: SafetyEnvelope
    autopilot: AutopilotConfig
    flight_controller: FlightControllerBlock
    plain: Mapping[str, Any]
    """The file as it stands, for a run's manifest."""


def read_robot(path: Path) -> RobotDescription:
    """From a robot.yaml; every key checked, errors with the path to theirs."""
    plain = read_document(path)
    try:
        return _robot(_extended(plain, path, ()), path)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def described(plain: Any, path: Path) -> RobotDescription:
    """The robot that a run's manifest holds; path says where that is."""
    try:
        return _robot(plain, path / plain["name"] / ROBOT_FILE)
    except (ConfigError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: the manifest's robot can't be read: {error}") from None


def _extended(plain: Any, path: Path, above: tuple[str, ...]) -> Any:
    """A robot that extends another is that one, but for what it says itself."""
    if not isinstance(plain, dict) or "extends" not in plain:
        return plain
    base = text(plain["extends"], "extends")
    if base in (*above, path.parent.name):
        raise ConfigError(f"extends is {base!r}, which extends this robot; expected another one")
    places = [folder / base / ROBOT_FILE for folder in (path.parent.parent, shipped_robots())]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise ConfigError(f"extends is {base!r}; expected a robot beside this one or of Ghost's")
    under = _extended(read_document(found), found, (*above, path.parent.name))
    own = {key: value for key, value in plain.items() if key != "extends"}
    return _merged(under, own)


def _merged(under: Any, over: Any) -> Any:
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    both = {key: _merged(under[key], value) for key, value in over.items() if key in under}
    return under | over | both


def shipped_robots() -> Path:
    """In a wheel they lie inside the package, in a checkout beside it."""
    package = Path(ghost.__file__).parent
    inside = package / "robots"
    return inside if inside.is_dir() else package.parent / "robots"


def _robot(plain: Any, path: Path) -> RobotDescription:
    found = section(
        {
            "name": text,
            "description": text,
            "hal": section(
                {"sim": nullable(_entrypoint), "real": nullable(_entrypoint)},
                required=("sim", "real"),
            ),
            "sim": section({"simulator": text}, required=("simulator",)),
            "airframe": _airframe,
            "sensors": _sensors,
            "envelope": _envelope,
            "autopilot": _autopilot,
            "flight_controller": section(
                {"parameters": _parameters, "on_stop": choice("land", "return")}
            ),
        },
        required=("name", "description", "hal"),
    )(plain, "")
    if found["name"] != path.parent.name:
        raise ConfigError(f"name is {found['name']!r}, but its folder is {path.parent.name!r}")
    sim = found.get("sim")
    if sim is not None and "airframe" not in found:
        raise ConfigError("sim needs an airframe to simulate; add one, or remove sim")
    if sim is not None and not any(
        model.kind is SensorKind.IMU for model in found.get("sensors", ())
    ):
        raise ConfigError("sim needs a sensor of kind imu; without one nothing can fly")
    return RobotDescription(
        name=found["name"],
        description=found["description"],
        path=path,
        hal=HalEntrypoints(**found["hal"]),
        sim=SimBlock(**sim) if sim else None,
        airframe=found.get("airframe"),
        sensors=found.get("sensors", ()),
        envelope=found.get("envelope", SafetyEnvelope()),
        autopilot=found.get("autopilot", AutopilotConfig()),
        flight_controller=FlightControllerBlock(**found.get("flight_controller", {})),
        plain=plain,
    )


def _entrypoint(plain: Any, path: str) -> str:
    module, _, name = text(plain, path).partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ConfigError(f"{path} is {shown(plain)}; expected module:Class, or null")
    return f"{module}:{name}"


def _airframe(plain: Any, path: str) -> Airframe:
    rotor_readers: dict[str, Reader] = {
        "max_thrust_n": number(1e-6, 1e6),
        "torque_per_thrust_m": number(0.0, 10.0),
        "max_speed_rps": number(0.1, 1e5),
        "max_power_w": number(1e-6, 1e6),
        "time_constant_ms": number(1.0, 10_000.0),
    }
    found = section(
        {
            "mass_kg": number(1e-3, 1e4),
            "inertia_kgm2": _VECTOR,
            "thrust_curve": number(0.0, 1.0),
            "drag_linear": _VECTOR,
            "drag_quadratic": _VECTOR,
            "drag_angular": _VECTOR,
            "rotor": section(rotor_readers, required=tuple(rotor_readers)),
            "rotors": items(
                section(
                    {
                        "position_flu_m": _VECTOR,
                        "turns": choice("ccw", "cw"),
                        "axis_flu": _VECTOR,
                        **rotor_readers,
                    },
                    required=("position_flu_m", "turns"),
                ),
                least=3,
                most=16,
            ),
            "legs_flu_m": items(_VECTOR, least=1, most=16),
            "battery": section(
                {name: number(0.0, 1e6) for name in _names(Battery)}, required=_required(Battery)
            ),
        },
        required=("mass_kg", "inertia_kgm2", "rotor", "rotors", "legs_flu_m", "battery"),
    )(plain, path)
    common = found.pop("rotor")
    try:
        rotors = tuple(_rotor(common | rotor) for rotor in found.pop("rotors"))
        airframe = Airframe(rotors=rotors, battery=Battery(**found.pop("battery")), **found)
        allocate(airframe)  # refuses rotors that can't turn the vehicle about every axis
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return airframe


def _rotor(plain: dict[str, Any]) -> Rotor:
    values = dict(plain)
    direction = 1 if values.pop("turns") == "ccw" else -1
    time_constant_ns = round(values.pop("time_constant_ms") * 1e6)
    return Rotor(direction=direction, time_constant_ns=time_constant_ns, **values)


def _sensors(plain: Any, path: str) -> tuple[SensorModel, ...]:
    if not isinstance(plain, dict):
        raise ConfigError(f"{path} is {shown(plain)}; expected a name and its settings for each")
    return tuple(
        _sensor(text(name, f"a name in {path}"), settings, joined(path, name))
        for name, settings in plain.items()
    )


def _sensor(name: str, plain: Any, path: str) -> SensorModel:
    kinds = {kind.name.lower(): model for kind, model in MODELS.items()}
    if not isinstance(plain, dict) or "kind" not in plain:
        raise ConfigError(f"{path}.kind is missing; expected one of {', '.join(kinds)}")
    model = kinds[choice(*kinds)(plain["kind"], f"{path}.kind")]
    readers: dict[str, Reader] = {
        "kind": text,
        "rate_hz": number(0.01, 10_000.0),
        "latency_ms": number(0.0, 10_000.0),
        "dropout": number(0.0, 0.999),
    }
    for entry in fields(model):
        if entry.name == "mount":
            readers["mount"] = _mount
        elif entry.name not in {"name", "period_ns", "latency_ns", "dropout"}:
            readers[entry.name] = integer(0, 2**62) if entry.type is int else number(0.0, 1e9)
    found = section(readers, required=("kind", "rate_hz"))(plain, path)
    del found["kind"]
    period = 1e9 / found.pop("rate_hz")
    if abs(period - round(period)) > 1e-6:
        raise ConfigError(
            f"{path}.rate_hz gives a period of {period:.3f} ns; expected whole ns, as of 25 or 50"
        )
    latency_ns = round(found.pop("latency_ms", 0.0) * 1e6)
    try:
        sensor = model(name=name, period_ns=round(period), latency_ns=latency_ns, **found)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    _refuse_taken(sensor, path)
    return sensor


def _mount(plain: Any, path: str) -> Mount:
    angles = ("roll_deg", "pitch_deg", "yaw_deg")
    found = section({"position_flu_m": _VECTOR, **dict.fromkeys(angles, radians(-360.0, 360.0))})(
        plain, path
    )
    attitude = from_euler_zyx(*(found.pop(angle, 0.0) for angle in angles))
    w, x, y, z = attitude.tolist()
    return Mount(attitude=(w, x, y, z), **found)


def _refuse_taken(sensor: SensorModel, path: str) -> None:
    """A name is a channel; those that Ghost knows have their type, and the vehicle has its own."""
    if sensor.name in {"vehicle", "control", "status", CONTACT}:
        raise ConfigError(f"{path} has the name of what the vehicle says of itself; choose another")
    channel = sensor.spec.channel
    kind = _CHANNEL_TYPES.get(channel.name, channel.message_type)
    if kind is not channel.message_type:
        raise ConfigError(
            f"{path} is of kind {sensor.kind.name.lower()}, and {channel.name} carries "
            f"{kind.__name__}; choose another name"
        )


def _envelope(plain: Any, path: str) -> SafetyEnvelope:
    found = section(
        {
            "geofence_enu_m": items(items(_METRES, least=2, most=2), least=3, most=1000),
            "min_altitude_m": _METRES,
            "max_altitude_m": _METRES,
            "max_speed_mps": number(0.01, 1e3),
            "max_climb_mps": number(0.01, 1e3),
            "max_tilt_deg": number(0.1, 90.0),
            "max_rate_dps": number(0.1, 1e4),
            "max_command_age_ms": number(1.0, 1e5),
            "command_timeout_ms": number(1.0, 1e5),
            "lookahead_ms": number(0.0, 1e5),
        }
    )(plain, path)
    for name in ("max_tilt", "max_rate"):
        unit, old = ("rad", "deg") if name == "max_tilt" else ("rps", "dps")
        if f"{name}_{old}" in found:
            found[f"{name}_{unit}"] = found.pop(f"{name}_{old}") * math.pi / 180.0
    for name in ("max_command_age", "command_timeout", "lookahead"):
        if f"{name}_ms" in found:
            found[f"{name}_ns"] = round(found.pop(f"{name}_ms") * 1e6)
    try:
        return SafetyEnvelope(**found)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _autopilot(plain: Any, path: str) -> AutopilotConfig:
    readers: dict[str, Reader] = {
        name: number(0.0, 1e6) for name in _names(AutopilotConfig) if not name.endswith("_ns")
    }
    try:
        return AutopilotConfig(**section(readers)(plain, path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _parameters(plain: Any, path: str) -> Mapping[str, int | float]:
    """Names as PX4 writes them; whether it has them is seen when it is there."""
    if not isinstance(plain, dict):
        raise ConfigError(f"{path} is {shown(plain)}; expected a value for each parameter")
    for name, value in plain.items():
        if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,15}", text(name, f"a name in {path}")):
            raise ConfigError(f"{path} has {shown(name)}; expected a name such as COM_OF_LOSS_T")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise ConfigError(f"{joined(path, name)} is {shown(value)}; expected a number")
    return plain


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind))


def _required(kind: Any) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind) if entry.default is MISSING)


_CHANNEL_TYPES = {
    channel.name: channel.message_type
    for channel in vars(hal_channels).values()
    if isinstance(channel, Channel)
}
_METRES = number(-1e5, 1e5)
_VECTOR = items(_METRES, least=3, most=3)
