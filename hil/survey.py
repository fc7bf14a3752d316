"""Who the flight controller is, and how it is set: read before anything is done to it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from firmware_bridge.parameter_values import Parameter, Value, diff, write_parameters
from firmware_bridge.parameters import Parameters
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError
from ghost.deploy.fc import connect

BEFORE, AFTER = "parameters-before.params", "parameters-after.params"
OF_ITS_OWN = ("COM_FLIGHT_UUID", "LND_FLIGHT_T_*", "MAV_HASH_CHECK", "STAT_*", "_HASH_CHECK")
"""Parameters that a flight controller changes by itself: a count of flights goes on."""


@dataclass(frozen=True, slots=True)
class Survey:
    """identity is what is stamped on everything; settings are parameters by name."""

    identity: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Value] = field(default_factory=dict)

    @property
    def line(self) -> str:
        one = self.identity
        return (
            f"{one['autopilot']} {one['firmware']} ({one['git_hash'] or 'no hash'}), "
            f"{one['kind']}, system {one['system']}, board {one['board']}, uid {one['uid']}"
        )

    @property
    def plain(self) -> dict[str, Any]:
        return {"identity": dict(self.identity), "settings": dict(self.settings)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Survey":
        return cls(plain["identity"], plain["settings"])


def survey(link: str, folder: Path, wanted: Sequence[str] = ()) -> Survey:
    """Read it there, identity first; all of its parameters are kept in folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with connect(link) as vehicle:
        identity = asdict(vehicle.identify())
        (folder / "identity.json").write_text(json.dumps(identity, indent=2), encoding="utf-8")
        _refuse_armed(vehicle)
        before = _save(vehicle, folder / BEFORE)
    settings = {name: before[name].value for name in wanted if name in before}
    return Survey(identity, settings)


def put_back(link: str, folder: Path, before: Mapping[str, Parameter]) -> list[str]:
    """What differs from before is set as it was: a line each. Nothing is set while it is armed."""
    with connect(link) as vehicle:
        _refuse_armed(vehicle)
        after = _save(vehicle, folder / AFTER)
        parameters = Parameters(vehicle)
        told: list[str] = []
        for one in diff(after, before):
            if any(fnmatchcase(one.name, pattern) for pattern in OF_ITS_OWN):
                continue
            if one.name not in after or one.name not in before:
                told.append(f"{one.name} is there only {'before' if one.name in before else 'now'}")
                continue
            try:
                parameters.set(one.name, before[one.name].value)
            except (ConfigError, RefusedError) as error:
                told.append(f"{one.name} was not put back: {error}")
            else:
                was, wanted = after[one.name].value, before[one.name].value
                told.append(f"{one.name} was {was}, put back to {wanted}")
    return told


def _save(vehicle: Vehicle, path: Path) -> dict[str, Parameter]:
    parameters = Parameters(vehicle)
    try:
        every = parameters.read_all()
    finally:
        parameters.close()
    write_parameters(path, every.values(), system=vehicle.system or 0)
    return every


def _refuse_armed(vehicle: Vehicle) -> None:
    if vehicle.is_armed:
        raise ConfigError("the flight controller is armed; disarm it before it is tested")
