"""Where a link goes, as a URL in MAVSDK's form."""

import re
from dataclasses import dataclass
from enum import StrEnum

from ghost.core.errors import ConfigError

FORMS = (
    "serial:///dev/ttyACM0:921600",
    "udpin://0.0.0.0:14540",
    "udpout://192.168.1.5:14550",
    "tcpin://0.0.0.0:5760",
    "tcpout://192.168.1.5:5760",
)
_HOST = re.compile(r"[\w.-]+|\[[0-9A-Fa-f:.]+(%[\w.-]+)?\]")
_SLOWEST_BAUD, _FASTEST_BAUD = 1200, 12_500_000


class Scheme(StrEnum):
    SERIAL = "serial"
    UDP_IN = "udpin"
    UDP_OUT = "udpout"
    TCP_IN = "tcpin"
    TCP_OUT = "tcpout"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """place is a device for a serial link and a host for the others; number is baud or port."""

    scheme: Scheme
    place: str
    number: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}:{self.number}"


def parse_endpoint(url: str) -> Endpoint:
    scheme, separator, rest = url.partition("://")
    place, colon, number = rest.rpartition(":")
    if not (separator and colon and place) or scheme not in tuple(Scheme):
        raise ConfigError(f"link {url!r}; expected a form like {' or '.join(FORMS)}")
    known = Scheme(scheme)
    if not (number.isascii() and number.isdigit()):
        what = "baud rate" if known is Scheme.SERIAL else "port"
        raise ConfigError(f"link {url!r} has a {what} of {number!r}; expected a number")
    value = int(number.lstrip("0")[:12] or "0")
    if known is Scheme.SERIAL:
        if not place.startswith("/"):
            raise ConfigError(f"link {url!r}; a device begins with a slash: serial:///dev/ttyACM0")
        if not _SLOWEST_BAUD <= value <= _FASTEST_BAUD:
            raise ConfigError(
                f"link {url!r} has a baud rate of {value}; "
                f"expected {_SLOWEST_BAUD} to {_FASTEST_BAUD}"
            )
    elif not _HOST.fullmatch(place):
        raise ConfigError(
            f"link {url!r} has a host of {place!r}; expected a name, 192.168.1.5 or [fe80::1]"
        )
    elif not (0 if known in (Scheme.UDP_IN, Scheme.TCP_IN) else 1) <= value <= 65535:
        raise ConfigError(f"link {url!r} has a port of {value}; expected 1 to 65535")
    return Endpoint(known, place, value)
