"""Parameters that a robot demands of its flight controller: compared, and set where asked to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from firmware_bridge.parameter_values import Parameter, Value, shortest
from firmware_bridge.parameters import Parameters
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError

SETTLE_NS = 500_000_000
_ARMED = "it is armed, and parameters are set only while disarmed"


@dataclass(frozen=True, slots=True)
class Demand:
    """was is set where it has just been changed; problem where it can't be met at all."""

    name: str
    wanted: Value
    found: Value | None
    problem: str = ""
    was: Value | None = None

    @property
    def is_met(self) -> bool:
        return not self.problem and self.found == self.wanted

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        found = "nothing" if self.found is None else shortest(self.found)
        if not self.is_met:
            return f"{found}; expected {shortest(self.wanted)}: set it, or give --apply-params"
        return found if self.was is None else f"{found}, was {shortest(self.was)}"


def examine_demands(
    vehicle: Vehicle, wanted: Mapping[str, Value], *, apply: bool
) -> tuple[Demand, ...]:
    """How each is met. With apply those that aren't are set first, which wants it disarmed; and
    none is where one of them can't be met at all.
    """
    if not wanted:
        return ()
    parameters = Parameters(vehicle)
    try:
        demands = [_examine(parameters, name, value) for name, value in wanted.items()]
        if apply and not any(one.problem for one in demands):
            demands = [_applied(vehicle, parameters, one) for one in demands]
        changed = [
            Parameter(one.name, one.wanted, parameters.known[one.name].kind)
            for one in demands
            if one.was is not None
        ]
        undone = undone_since(vehicle, parameters, changed)
        return tuple(_as_it_lasts(one, parameters, undone) for one in demands)
    finally:
        parameters.close()


def undone_since(
    vehicle: Vehicle, parameters: Parameters, taken: Sequence[Parameter]
) -> dict[str, str]:
    """What became of those that didn't last, by name. PX4 v1.18 takes what it is told, and a
    moment later a module may limit it.
    """
    if taken:
        vehicle.hub.spin(vehicle.hub.now_ns() + SETTLE_NS)
    return {
        one.name: f"parameter {one.name} was set to {shortest(one.value)}, and the flight "
        f"controller then made it {shortest(kept.value)}"
        for one in taken
        if (kept := Parameter(one.name, parameters.get(one.name), one.kind)) != one
    }


def _examine(parameters: Parameters, name: str, value: Value) -> Demand:
    try:
        found = parameters.get(name)
        wanted = Parameter(name, value, parameters.known[name].kind).value
    except (ConfigError, RefusedError) as error:
        return Demand(name, value, None, str(error))
    return Demand(name, wanted, found)


def _applied(vehicle: Vehicle, parameters: Parameters, demand: Demand) -> Demand:
    if demand.is_met:
        return demand
    if vehicle.is_armed:
        return replace(demand, problem=_ARMED)
    try:
        parameters.set(demand.name, demand.wanted)
    except RefusedError as error:
        return replace(demand, problem=str(error))
    return replace(demand, found=demand.wanted, was=demand.found)


def _as_it_lasts(demand: Demand, parameters: Parameters, undone: Mapping[str, str]) -> Demand:
    if demand.name not in undone:
        return demand
    found = parameters.known[demand.name].value
    return replace(demand, found=found, problem=undone[demand.name])
