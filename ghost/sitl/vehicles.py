"""Who flies in a bridge: vehicles by their ids."""

from collections.abc import Iterator
from dataclasses import dataclass

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import VehicleSetup
from ghost.simulation.backend import Happening
from ghost.sitl.firmware import MakeFirmware

LOWEST_ID, HIGHEST_ID = 1, 254
"""A vehicle's id is its MAVLink system: 0 is everybody there, and 255 the ground station."""


@dataclass(frozen=True, slots=True)
class Vehicle:
    """One vehicle to fly: in which simulator, and by what."""

    vehicle_id: int
    setup: VehicleSetup
    adapter: str
    make_firmware: MakeFirmware
    happenings: tuple[Happening, ...] = ()
    """What befalls it. Wind befalls all who share its simulator."""


class VehicleManager:
    """Ids are unique, and free again once their vehicle is removed. An iteration is in their
    order.
    """

    def __init__(self) -> None:
        self._vehicles: dict[int, Vehicle] = {}

    def add(self, vehicle: Vehicle) -> None:
        number = check_id(vehicle.vehicle_id)
        if number in self._vehicles:
            raise ConfigError(
                f"vehicle {number} is there already; the next free id is {self.free_id()}"
            )
        if not vehicle.adapter:
            raise ConfigError(f"vehicle {number} has no simulator; name one that is registered")
        self._vehicles = dict(sorted([*self._vehicles.items(), (number, vehicle)]))

    def remove(self, vehicle_id: int) -> Vehicle:
        if vehicle_id not in self._vehicles:
            listed = ", ".join(map(str, self._vehicles)) or "none"
            raise ConfigError(f"no vehicle {vehicle_id}; there are: {listed}")
        return self._vehicles.pop(vehicle_id)

    def free_id(self) -> int:
        """The lowest that nobody has."""
        for number in range(LOWEST_ID, HIGHEST_ID + 1):
            if number not in self._vehicles:
                return number
        raise ConfigError(f"all {HIGHEST_ID} vehicle ids are taken; remove a vehicle first")

    def __iter__(self) -> Iterator[Vehicle]:
        return iter(tuple(self._vehicles.values()))

    def __contains__(self, vehicle_id: object) -> bool:
        return vehicle_id in self._vehicles

    def __len__(self) -> int:
        return len(self._vehicles)


def check_id(number: int) -> int:
    if type(number) is not int or not LOWEST_ID <= number <= HIGHEST_ID:
        raise ConfigError(
            f"vehicle id {number!r}; expected {LOWEST_ID} to {HIGHEST_ID}: it is the vehicle's "
            "MAVLink system, of which 0 means everybody and 255 is a ground station's"
        )
    return number
