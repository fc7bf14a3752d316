"""build_hal: the one place where a backend is made."""

import inspect
import math
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, get_args

from ghost.autopilot import Autopilot
from ghost.core.earth import magnetic_field_enu_t
from ghost.core.errors import ConfigError, shown
from ghost.core.frames import Geodetic
from ghost.deploy.refusals import refuse_impossible, refuse_unseeable
from ghost.deploy.robot import RobotDescription
from ghost.estimation import Estimator, EstimatorConfig
from ghost.hal import ScenarioSpec, SimulationBackend
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import SimulatorAdapter, Start, VehicleSetup, Wind
from ghost.simulation.backend import AdapterBackend, Happening
from ghost.simulation.models.sensors import GpsModel, MagnetometerModel, SensorModel
from ghost.simulation.scenery import NOTHING, Scenery
from ghost.simulation.whole import WholeSimulator, load_simulator

Mode = Literal["sim", "real"]
_MARKS = {"sim": ("reset", "step", "shutdown"), "real": ("start", "stop")}
"""What a backend of each mode has, by the protocols, and one of the other mode hasn't."""


class MissingHalError(ConfigError):
    """The robot has no HAL for the mode that was asked for."""


def build_hal(description: RobotDescription, *, mode: Mode, **arguments: Any) -> Any:
    """The backend of a robot: a SimulationBackend for sim, a RuntimeBackend for real.

    arguments go to the backend, and one that it doesn't take is an error.
    """
    if mode not in get_args(Mode):
        raise ConfigError(f"mode is {shown(mode)}; expected sim or real")
    entrypoint = description.hal.sim if mode == "sim" else description.hal.real
    if entrypoint is not None:
        return _build(description, mode, entrypoint, arguments)
    if mode == "sim" and description.sim is not None:
        _refuse_misfits(derive_simulation, description, arguments, "the derived simulation backend")
        return derive_simulation(description, **arguments)
    raise MissingHalError(_way_out(description, mode))


def derive_simulation(
    description: RobotDescription,
    *,
    simulator: str | None = None,
    wind: Wind = Wind(),  # noqa: B008 - frozen
    happenings: tuple[Happening, ...] = (),
    start: Start = Start(),  # noqa: B008 - frozen
    scenery: Scenery = NOTHING,
    view: bool = False,
) -> SimulationBackend:
    """The generic backend: any simulator, with the embedded autopilot or with its own."""
    sim = description.sim
    if sim is None:
        raise MissingHalError(_way_out(description, "sim"))
    chosen = load_simulator(simulator or sim.simulator)
    vehicle = vehicle_setup(description, start)
    refuse_impossible(chosen, vehicle, wind, happenings)
    refuse_unseeable(chosen, description.sensors, scenery, view=view)
    if isinstance(chosen, WholeSimulator):
        return chosen.backend(vehicle, description.envelope)
    return AdapterBackend(
        chosen,
        vehicle,
        description.envelope,
        lambda scenario: make_autopilot(description, scenario),
        control_period_ns=description.autopilot.control_period_ns,
        wind=wind,
        happenings=happenings,
        scenery=scenery,
        view=view,
    )


def physics(simulator: str) -> SimulatorAdapter:
    """A simulator for vehicles that bring their own flight controllers."""
    chosen = load_simulator(simulator)
    if isinstance(chosen, WholeSimulator):
        raise ConfigError(
            f"simulator {simulator} flies its vehicle itself; in a swarm take one that is physics "
            "alone, such as lightweight"
        )
    return chosen


def vehicle_setup(description: RobotDescription, start: Start) -> VehicleSetup:
    """A robot as a simulator's vehicle."""
    airframe = description.airframe
    if airframe is None or description.sim is None:
        raise MissingHalError(_way_out(description, "sim"))
    return VehicleSetup(airframe, description.sensors, _standing(start, airframe))


def make_autopilot(description: RobotDescription, scenario: ScenarioSpec) -> Autopilot:
    """The embedded one of a robot, for one run."""
    airframe = description.airframe
    if airframe is None:
        raise MissingHalError(_way_out(description, "sim"))
    estimator = Estimator(estimator_config(description.sensors, scenario.origin))
    return Autopilot(airframe, description.envelope, estimator, description.autopilot)


def estimator_config(sensors: tuple[SensorModel, ...], origin: Geodetic) -> EstimatorConfig:
    """What the sensors' own figures say of errors that last."""
    config = EstimatorConfig(origin=origin)
    for model in sensors:
        if isinstance(model, GpsModel):
            config = replace(
                config,
                gps_offset_std_m=max(model.horizontal_std_m * model.wander, 0.01),
                gps_height_offset_std_m=max(model.vertical_std_m * model.wander, 0.01),
            )
        elif isinstance(model, MagnetometerModel):
            east_t, north_t, _ = magnetic_field_enu_t(origin)
            across_t = math.sqrt(east_t * east_t + north_t * north_t)
            config = replace(config, heading_offset_std_rad=max(model.bias_t / across_t, 0.001))
    return config


def _standing(start: Start, airframe: Airframe) -> Start:
    """Lower than it can stand is standing: a scenario doesn't know how long the legs are."""
    if start.position_enu_m is None:
        return start
    east_m, north_m, up_m = start.position_enu_m
    lowest_m = -min(leg[2] for leg in airframe.legs_flu_m)
    return replace(start, position_enu_m=(east_m, north_m, max(up_m, lowest_m)))


def _build(
    description: RobotDescription, mode: Mode, entrypoint: str, arguments: dict[str, Any]
) -> Any:
    module_name, _, class_name = entrypoint.partition(":")
    named = f"robot {description.name} names {entrypoint} in {description.path}, which"
    try:
        backend = getattr(import_module(module_name), class_name)
    except Exception as error:  # a driver may fail on import in any way
        raise ConfigError(f"{named} can't be loaded: {error}") from error
    for mark in _MARKS[mode]:
        if not hasattr(backend, mark):
            raise ConfigError(f"{named} is no HAL for {mode}: it has no {mark}()")
    _refuse_misfits(backend, description, arguments, entrypoint)
    return backend(description, **arguments)


def _refuse_misfits(
    backend: Any, description: RobotDescription, arguments: dict[str, Any], name: str
) -> None:
    signature = inspect.signature(backend)
    taken = signature.parameters
    is_open = any(entry.kind is inspect.Parameter.VAR_KEYWORD for entry in taken.values())
    for argument in arguments:
        if argument not in taken and not is_open:
            offered = ", ".join(list(taken)[1:]) or "none"
            raise ConfigError(f"{name} takes no argument {argument!r}; it takes: {offered}")
    try:
        signature.bind(description, **arguments)
    except TypeError as error:
        raise ConfigError(f"{name} can't be made from the robot alone: {error}") from None


def _way_out(description: RobotDescription, mode: Mode) -> str:
    kind = "simulation" if mode == "sim" else "real"
    other = "run" if mode == "sim" else "sim"
    has_other = description.hal.real if mode == "sim" else description.hal.sim or description.sim
    hint = (
        f"it can be used with `ghost deploy {other} {description.name}`, or " if has_other else ""
    )
    remedy = "hal.sim or a sim block" if mode == "sim" else "hal.real"
    return (
        f"robot {description.name} has no {kind} HAL; {hint}declare {remedy} in {description.path}"
    )
