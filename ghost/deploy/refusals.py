"""Whether a simulator can give what is asked of it, asked before take-off."""

from collections.abc import Collection

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import Fault, FaultKind, VehicleSetup, Wind
from ghost.simulation.backend import Happening
from ghost.simulation.models.sensors import SensorModel
from ghost.simulation.models.suite import CAMERAS, LOOKING
from ghost.simulation.scenery import Scenery
from ghost.simulation.whole import Simulator

_OF_A_MOTOR: tuple[FaultKind, ...] = (FaultKind.STRENGTH, FaultKind.HEALED)
_OF_AN_EYE: tuple[FaultKind, ...] = tuple(
    kind for kind in FaultKind if kind not in {FaultKind.STRENGTH, FaultKind.CHARGE}
)
_OF_A_SENSOR = tuple(kind for kind in _OF_AN_EYE if kind is not FaultKind.BLINDED)
_PAD_M = 0.5  # what a vehicle that stands may have under its legs


def refuse_impossible(
    adapter: Simulator,
    vehicle: VehicleSetup,
    wind: Wind,
    happenings: Collection[Happening],
) -> None:
    """Raise ConfigError for the first that can't happen: in the air it would just not happen."""
    if not adapter.capabilities.any_start and not _stands(vehicle):
        raise ConfigError(
            f"simulator {adapter.adapter_type} has its vehicles where they stand; leave the "
            "scenario's start out, or give a place on the ground and no motion"
        )
    targets = _targets(vehicle)
    for what in (wind, *(happening.what for happening in happenings)):
        if isinstance(what, Fault):
            _refuse_fault(what, targets, adapter)
        elif what != Wind() and not adapter.capabilities.wind:
            raise ConfigError(f"simulator {adapter.adapter_type} has no wind; leave it out")


def refuse_unseeable(
    adapter: Simulator, sensors: Collection[SensorModel], scenery: Scenery, *, view: bool
) -> None:
    """Raise ConfigError where the simulator has no room for the world, or no eyes for it."""
    known, name = adapter.capabilities, adapter.adapter_type
    able = "choose one that has, such as --simulator pybullet"
    if scenery.solids and not known.scenery:
        raise ConfigError(
            f"world {scenery.name} has {len(scenery.solids)} solid things, and simulator {name} "
            f"has nothing but flat ground; {able}"
        )
    for model in sensors:
        if model.kind in CAMERAS and not known.cameras:
            raise ConfigError(
                f"sensor {model.name} is a camera, and simulator {name} has no pictures; {able}"
            )
    if view and not known.view:
        raise ConfigError(f"simulator {name} has no window for --view; {able}")


def _stands(vehicle: VehicleSetup) -> bool:
    start = vehicle.start
    if any(start.velocity_enu_mps) or any(start.rate_flu_rps):
        return False
    lowest_m = -min(leg[2] for leg in vehicle.airframe.legs_flu_m)
    return start.position_enu_m is None or start.position_enu_m[2] < lowest_m + _PAD_M


def _refuse_fault(
    fault: Fault, targets: dict[str, tuple[FaultKind, ...]], adapter: Simulator
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
    targets = {
        model.name: _OF_AN_EYE if model.kind in LOOKING else _OF_A_SENSOR
        for model in vehicle.sensors
    }
    targets |= {f"motor/{index}": _OF_A_MOTOR for index in range(len(vehicle.airframe.rotors))}
    return targets | {"battery": (*targets.get("battery", ()), FaultKind.CHARGE)}
