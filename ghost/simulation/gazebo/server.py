"""Where a Gazebo server is, and how its plugin was set up: what no protocol tells."""

from dataclasses import dataclass
from typing import Any

from ghost.core.errors import ConfigError
from ghost.simulation.gazebo.protocol import MAGIC

PORT_STEP = 10
"""Each vehicle's plugin has a port of its own, so far from the one before."""

_FORM = (
    "expected HOST:PORT, as in gazebo@127.0.0.1:9002, and perhaps settings after commas: "
    "channels=16 or 32, pwm=1100-1900, timeout_ms=5000"
)


@dataclass(frozen=True, slots=True)
class Server:
    """The defaults are those of the plugin and of its iris. timeout_ns is of the wall clock."""

    host: str = "127.0.0.1"
    port: int = 9002
    channels: int = 16
    lowest_us: int = 1100
    highest_us: int = 1900
    timeout_ns: int = 5_000_000_000

    def __post_init__(self) -> None:
        if not self.host:
            raise ConfigError(f"the server has no host; {_FORM}")
        if not 0 < self.port < 65536:
            raise ConfigError(f"port is {self.port}; expected 1 to 65535")
        if self.channels not in MAGIC:
            raise ConfigError(f"channels is {self.channels}; expected 16 or 32")
        if not 0 < self.lowest_us < self.highest_us < 65536:
            raise ConfigError(
                f"pwm is {self.lowest_us}-{self.highest_us}; expected the pulse widths of no "
                "thrust and of full thrust in us, as in 1100-1900"
            )
        if self.timeout_ns <= 0:
            raise ConfigError(f"timeout_ms is {self.timeout_ns / 1e6:g}; expected above 0")

    def port_of(self, vehicle: int) -> int:
        port = self.port + PORT_STEP * vehicle
        if port > 65535:
            raise ConfigError(f"vehicle {vehicle} would be on port {port}; there are 65535")
        return port


def read_server(address: str) -> Server:
    """Of HOST:PORT,KEY=VALUE,...; what is left out is as it usually is."""
    place, *settings = address.split(",")
    found: dict[str, Any] = {}
    if place:
        host, colon, port = place.rpartition(":")
        found = {"host": host, "port": _integer("port", port)} if colon else {"host": place}
    for setting in settings:
        key, _, value = setting.partition("=")
        match key:
            case "channels":
                found["channels"] = _integer(key, value)
            case "pwm":
                lowest, _, highest = value.partition("-")
                found["lowest_us"] = _integer(key, lowest)
                found["highest_us"] = _integer(key, highest)
            case "timeout_ms":
                found["timeout_ns"] = _integer(key, value) * 1_000_000
            case _:
                raise ConfigError(f"{setting!r} is no setting of a Gazebo server; {_FORM}")
    return Server(**found)


def _integer(key: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ConfigError(f"{key} is {value!r}; {_FORM}")
    return int(value)
