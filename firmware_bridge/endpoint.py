"""Where a link goes, as a URL in MAVSDK's form, and the address that its host has."""

import re
import socket
import threading
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
    """place is a device for a serial link and a host for the others; number is baud or port.
    local is the port that a udpout link speaks from, where it matters; 0 is any.
    """

    scheme: Scheme
    place: str
    number: int
    local: int = 0

    def __str__(self) -> str:
        local = f"?local={self.local}" if self.local else ""
        return f"{self.scheme}://{self.place}:{self.number}{local}"


def parse_endpoint(url: str) -> Endpoint:
    scheme, separator, rest = url.partition("://")
    place, colon, number = rest.rpartition(":")
    if not (separator and colon and place) or scheme not in tuple(Scheme):
        raise ConfigError(f"link {url!r}; expected a form like {' or '.join(FORMS)}")
    known = Scheme(scheme)
    number, local = _parted(url, known, number)
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
    return Endpoint(known, place, value, local)


def _parted(url: str, scheme: Scheme, number: str) -> tuple[str, int]:
    """The port there, and that of our own end in `udpout://host:14540?local=14580`."""
    number, mark, option = number.partition("?")
    if not mark:
        return number, 0
    key, _, value = option.partition("=")
    is_port = value.isascii() and value.isdigit() and len(value) < 6 and 1 <= int(value) <= 65535
    if scheme is not Scheme.UDP_OUT or key != "local" or not is_port:
        raise ConfigError(
            f"link {url!r} has an option {option!r}; expected none, or the port that a udpout link "
            "speaks from: udpout://127.0.0.1:14540?local=14580"
        )
    return number, int(value)


Address = tuple[object, ...]


class Lookup:
    """The address of an endpoint's host, found once and kept. It is asked for at once the first
    time, before a flight. A name that was not known then is asked for again beside the loop: a
    resolver without a network takes seconds to say no.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._found: tuple[int, Address] | None = None
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def __call__(self) -> tuple[int, Address]:
        """Family and address; raises what the resolver said last where there is none yet."""
        if self._found is None:
            if self._error is None:
                self._ask()
            elif self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._ask, daemon=True)
                self._thread.start()
        if self._found is None:
            raise self._error or AssertionError
        return self._found

    def _ask(self) -> None:
        place = self._endpoint.place.strip("[]")
        is_udp = self._endpoint.scheme in (Scheme.UDP_IN, Scheme.UDP_OUT)
        kind = socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM
        try:
            (family, _, _, _, address), *_ = socket.getaddrinfo(
                place, self._endpoint.number, type=kind
            )
        except (OSError, ValueError) as error:
            self._error = error
        else:
            self._found = family, address
