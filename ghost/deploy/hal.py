"""build_hal: the one place where a backend is made."""

import inspect
import math
from importlib import import_module
from typing import Any, Literal

from ghost.autopilot import Autopilot
from ghost.core.earth import magnetic_field_enu_t
from ghost.core.errors import ConfigError
from ghost.core.frames import Geodetic
from ghost.deploy.robot import RobotDescription
from ghost.estimation import Estimator, EstimatorConfig
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import Start, VehicleSetup, Wind, load_adapter
from ghost.simulation.backend import AdapterBackend, Happening
from ghost.simulation.models.sensors import GpsModel, MagnetometerModel, SensorModel

Mode = Literal["sim", "real"]


class MissingHalError(ConfigError):
    """The robot has no HAL for the mode that was asked for."""


def build_hal(description: RobotDescription, *, mode: Mode, **arguments: Any) -> Any:
    """The backend of a robot: a SimulationBackend for sim, a RuntimeBackend for real.

    arguments go to the backend, and one that it doesn't take is an error.
    """
    if mode == "sim":
        if description.hal.sim is not None:
            return _build(description, description.hal.sim, arguments)
        if description.sim is not None:
            _refuse_unknown(derive_simulation, arguments, "the derived simulation backend")
            return derive_simulation(description, **arguments)
    elif description.hal.real is not None:
        return _build(description, description.hal.real, arguments)
    raise MissingHalError(_way_out(description, mode))


def derive_simulation(
    description: RobotDescription,
    *,
    simulator: str | None = None,
    wind: Wind = Wind(),  # noqa: B008 - frozen
    happenings: tuple[Happening, ...] = (),
    start: Start = Start(),  # noqa: B008 - frozen
) -> AdapterBackend:
    """The generic backend: any simulator, with the embedded autopilot."""
    airframe, sim = description.airframe, description.sim
    if airframe is None or sim is None:
        raise MissingHalError(_way_out(description, "sim"))
    config = description.autopilot

    def make_autopilot(scenario: ScenarioSpec) -> Autopilot:
        estimator = Estimator(estimator_config(description.sensors, scenario.origin))
        return Autopilot(airframe, description.envelope, estimator, config)

    return AdapterBackend(
        load_adapter(simulator or sim.simulator),
        VehicleSetup(airframe, description.sensors, start),
        description.envelope,
        make_autopilot,
        control_period_ns=config.control_period_ns,
        wind=wind,
        happenings=happenings,
    )


def estimator_config(sensors: tuple[SensorModel, ...], origin: Geodetic) -> EstimatorConfig:
    """What the sensors' own figures say of errors that last."""
    lasting: dict[str, float] = {}
    for model in sensors:
        if isinstance(model, GpsModel):
            lasting["gps_offset_std_m"] = max(model.horizontal_std_m * model.wander, 0.01)
        elif isinstance(model, MagnetometerModel):
            east_t, north_t, _ = magnetic_field_enu_t(origin)
            across_t = math.sqrt(east_t * east_t + north_t * north_t)
            lasting["heading_offset_std_rad"] = max(model.bias_t / across_t, 0.001)
    return EstimatorConfig(origin=origin, **lasting)


def _build(description: RobotDescription, entrypoint: str, arguments: dict[str, Any]) -> Any:
    module_name, _, class_name = entrypoint.partition(":")
    try:
        backend = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"robot {description.name} names {entrypoint} in {description.path}, "
            f"which can't be loaded: {error}"
        ) from error
    _refuse_unknown(backend, arguments, entrypoint)
    return backend(description, **arguments)


def _refuse_unknown(backend: Any, arguments: dict[str, Any], name: str) -> None:
    taken = inspect.signature(backend).parameters
    if any(entry.kind is inspect.Parameter.VAR_KEYWORD for entry in taken.values()):
        return
    for argument in arguments:
        if argument not in taken:
            offered = ", ".join(list(taken)[1:]) or "none"
            raise ConfigError(f"{name} takes no argument {argument!r}; it takes: {offered}")


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
