"""The MAVLink ports of simulated vehicles."""

from collections.abc import Iterable
from dataclasses import dataclass

from ghost.core.errors import ConfigError

OFFBOARD_PORT, GROUND_STATION_PORT = 14540, 14550
OWN_PORTS_ABOVE = 4000
"""Where a vehicle's own end of a link is; so two that want to be the same one are found out."""


@dataclass(frozen=True, slots=True)
class PortPlan:
    """Vehicle N speaks to offboard + N - 1 and ground_station + N - 1 of a host, as PX4 does."""

    offboard: int = OFFBOARD_PORT
    ground_station: int = GROUND_STATION_PORT
    host: str = "127.0.0.1"

    def links(self, vehicle_id: int) -> tuple[str, str]:
        index = vehicle_id - 1
        return self._link(self.offboard + index), self._link(self.ground_station + index)

    def check(self, vehicle_ids: Iterable[int]) -> None:
        """Raise ConfigError where two vehicles would have the same port."""
        holders: dict[int, str] = {}
        for number in vehicle_ids:
            for use, base in (
                ("offboard", self.offboard),
                ("ground station", self.ground_station),
                ("own end of the offboard link", self.offboard + OWN_PORTS_ABOVE),
                ("own end of the ground station's link", self.ground_station + OWN_PORTS_ABOVE),
            ):
                port, holder = base + number - 1, f"vehicle {number}'s {use}"
                if not 1 <= port <= 65535:
                    raise ConfigError(f"{holder} would be port {port}; choose a lower first port")
                if port in holders:
                    raise ConfigError(
                        f"port {port} is {holders[port]} and {holder} at once; "
                        "choose first ports further apart, as with --offboard-port 15000"
                    )
                holders[port] = holder

    def _link(self, port: int) -> str:
        return f"udpout://{self.host}:{port}?local={port + OWN_PORTS_ABOVE}"
