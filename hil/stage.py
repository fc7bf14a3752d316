"""What a case plays on: a vehicle, who watches it, who flies it, and what stands in between."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hil.need import Need
from hil.referee import Referee
from hil.station import Station
from hil.target import Setting, Target, Vehicle
from hil.unit import HOVER, Unit


class Stage:
    """Everything that is put on it is taken off at the end, in reverse, whatever happens."""

    def __init__(
        self, target: Target, folder: Path, *, seed: int = 0, allow_arming: bool = True
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.target = target
        self.folder = folder
        self.seed = seed
        self._allow_arming = allow_arming
        self.units: list[Unit] = []
        self._stack = ExitStack()

    def has(self, need: Need) -> bool:
        return need in self.target.offers

    def vehicle(self, setting: Setting | None = None) -> Vehicle:
        vehicle = self.target.start(self.folder, setting or Setting(seed=self.seed))
        self._stack.callback(vehicle.close)
        return vehicle

    def referee(self, vehicle: Vehicle) -> Referee:
        referee = Referee(vehicle.links.referee, self.folder)
        self._stack.callback(referee.close)
        return referee

    def station(self, vehicle: Vehicle, *, own_system: int = 255) -> Station:
        station = Station(vehicle.links.station, vehicle.system, own_system=own_system)
        self._stack.callback(station.close)
        return station

    def unit(
        self,
        link: str,
        *,
        mission: str = HOVER.format(altitude_m=2.0, seconds=30.0),
        options: Sequence[str] = ("--hil", "--allow-arming"),
        env: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> Unit:
        if not self._allow_arming:
            options = [one for one in options if one != "--allow-arming"]
        desk = self.folder / f"unit-{len(self.units) + 1}"
        unit = Unit(desk, link, mission=mission, options=options, env=env, **settings)
        self.units.append(unit)
        self._stack.callback(unit.close)
        return unit

    def flying(self, vehicle: Vehicle, **settings: Any) -> Unit:
        """A unit that hovers."""
        unit = self.unit(vehicle.links.unit, **settings)
        unit.until_hovering()
        return unit

    def keep(self, resource: Any) -> Any:
        """Close it at the end, too."""
        self._stack.callback(resource.close)
        return resource

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()
