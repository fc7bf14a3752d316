"""Whether what a scenario holds in store can befall this vehicle, asked before take-off."""

from collections.abc import Collection

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import Fault, FaultKind, SimulatorAdapter, VehicleSetup, Wind
from ghost.simulation.backend import Happening

_OF_A_MOTOR: tuple[FaultKind, ...] = (FaultKind.STRENGTH, FaultKind.HEALED)
_OF_A_SENSOR: tuple[FaultKind, ...] = tuple(
    kind for kind in FaultKind if kind not in {FaultKind.STRENGTH, FaultKind.CHARGE}
)


def refuse_impossible(
    adapter: SimulatorAdapter,
    vehicle: VehicleSetup,
    wind: Wind,
    happenings: Collection[Happening],
) -> None:
    """Raise ConfigError for the first that can't happen: in the air it would just not happen."""
    targets = _targets(vehicle)
    for what in (wind, *(happening.what for happening in happenings)):
        if isinstance(what, Fault):
            _refuse_fault(what, targets, adapter)
        elif what != Wind() and not adapter.capabilities.wind:
            raise ConfigError(f"simulator {adapter.adapter_type} has no wind; leave it out")


def _refuse_fault(
    fault: Fault, targets: dict[str, tuple[FaultKind, ...]], adapter: SimulatorAdapter
) -> None:
    if fault.target not in targets:
        raise ConfigError(f"fault target {fault.target!r}; expected one of {', '.join(targets)}")
    kinds = targets[fault.target]
    if fault.kind not in kinds:
        raise ConfigError(
            f"fault {fault.kind} can't befall {fault.target}; expected {' or '.join(kinds)}"
        )
    if fault.kind not in adapter.capabilities.faults:
        raise ConfigError(
            f"simulator {adapter.adapter_type} has no fault {fault.kind}; leave it out"
        )


def _targets(vehicle: VehicleSetup) -> dict[str, tuple[FaultKind, ...]]:
    targets = {model.name: _OF_A_SENSOR for model in vehicle.sensors}
    targets |= {f"motor/{index}": _OF_A_MOTOR for index in range(len(vehicle.airframe.rotors))}
    return targets | {"battery": (*targets.get("battery", ()), FaultKind.CHARGE)}
