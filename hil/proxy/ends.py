"""The two ends of a proxy: sockets, serial ports and ptys, opened again whenever they fail."""

import errno
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from firmware_bridge.endpoint import Address, Endpoint, Lookup, Scheme, parse_endpoint
from firmware_bridge.ports import PortKind, taken
from firmware_bridge.transport import TcpListener, Transport, open_transport
from ghost.core.errors import LinkError
from hil.proxy.pty_port import BAUD, PtyPort

PTY = "pty"
PEER_NS = 3_000_000_000
"""Whoever spoke to a udpin end so recently is answered."""
RETRY_NS = 50_000_000
"""How often a port that failed is tried again, and a pty that nobody holds is looked at."""
LOOK_NS = 5_000_000
MOST_WAITING_BYTES = 16_384
"""For one that doesn't read, beside what the system keeps for it."""
READ_BYTES = 65_536

_OPPOSITE = {
    Scheme.UDP_IN: Scheme.UDP_OUT,
    Scheme.UDP_OUT: Scheme.UDP_IN,
    Scheme.TCP_IN: Scheme.TCP_OUT,
    Scheme.TCP_OUT: Scheme.TCP_IN,
}


class End(Protocol):
    is_stream: bool
    url: str
    """What the other side opens; empty where there is nothing to open, as of a real serial port."""
    opened: int
    """How often; whoever keeps half a frame of before drops it."""

    @property
    def is_up(self) -> bool:
        """Whether somebody seems to be at the other end."""
        ...

    @property
    def read_numbers(self) -> tuple[int, ...]: ...

    @property
    def write_numbers(self) -> tuple[int, ...]:
        """Where something waits to be written."""
        ...

    @property
    def due_ns(self) -> int | None:
        """When it wants upkeep, whatever comes."""
        ...

    def read(self, now_ns: int) -> bytes:
        """What came; empty where nothing did. Of datagrams one."""
        ...

    def write(self, raw: bytes, now_ns: int) -> bool:
        """Whether it was taken."""
        ...

    def upkeep(self, now_ns: int) -> None: ...

    def unplug(self) -> None: ...

    def plug(self, now_ns: int) -> None: ...

    def close(self) -> None: ...


def open_end(spec: str, folder: Path, name: str) -> End:
    """Made from "pty", or the URL of the end itself."""
    if spec == PTY:
        link = folder / f"tty-{name}"
        return StreamEnd(lambda: PtyPort(link), f"serial://{link}:{BAUD}")
    endpoint = parse_endpoint(spec)
    if endpoint.scheme in (Scheme.UDP_IN, Scheme.UDP_OUT):
        return UdpEnd(endpoint)
    if endpoint.scheme is Scheme.TCP_IN:
        return _listening(endpoint)
    lookup = Lookup(endpoint)
    return StreamEnd(lambda: open_transport(endpoint, lookup, _nobody), opposite(endpoint))


def opposite(endpoint: Endpoint) -> str:
    scheme = _OPPOSITE.get(endpoint.scheme)
    if scheme is None:
        return ""
    place = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(endpoint.place, endpoint.place)  # noqa: S104 - a reading of it, no bind
    return str(Endpoint(scheme, place, endpoint.number))


class UdpEnd:
    is_stream = False
    due_ns: int | None = None

    def __init__(self, endpoint: Endpoint) -> None:
        self.opened = 0
        self._endpoint = endpoint
        self._family, self._address = _looked_up(endpoint)
        self._peers: dict[Address, int] = {}
        self._last: Address | None = None
        if endpoint.scheme is Scheme.UDP_OUT:
            self._last = self._address
        opened = self._open()
        self._socket: socket.socket | None = opened
        if endpoint.scheme is Scheme.UDP_IN:
            port: int = opened.getsockname()[1]
            self._endpoint = replace(endpoint, number=port)
            self._address = (self._address[0], port, *self._address[2:])
        self.url = opposite(self._endpoint)

    @property
    def is_up(self) -> bool:
        return self._socket is not None and self._last is not None

    @property
    def read_numbers(self) -> tuple[int, ...]:
        return () if self._socket is None else (self._socket.fileno(),)

    write_numbers: tuple[int, ...] = ()

    def read(self, now_ns: int) -> bytes:
        if self._socket is None:
            return b""
        try:
            data, speaker = self._socket.recvfrom(READ_BYTES)
        except (BlockingIOError, ConnectionRefusedError):  # refused: nobody listens there now
            return b""
        if self._endpoint.scheme is Scheme.UDP_IN:
            self._peers[speaker] = now_ns
            self._last = speaker
        return data

    def write(self, raw: bytes, now_ns: int) -> bool:
        if self._socket is None or self._last is None:
            return False
        living = [peer for peer, heard_ns in self._peers.items() if now_ns - heard_ns < PEER_NS]
        is_taken = False
        for peer in living or [self._last]:
            try:
                self._socket.sendto(raw, peer)
                is_taken = True
            except OSError:  # refused or no room: lost, as datagrams are
                continue
        return is_taken

    def upkeep(self, now_ns: int) -> None:
        for peer, heard_ns in list(self._peers.items()):
            if now_ns - heard_ns >= PEER_NS:
                del self._peers[peer]

    def unplug(self) -> None:
        self.close()

    def plug(self, now_ns: int) -> None:
        del now_ns
        self._socket = self._open()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        opened = socket.socket(self._family, socket.SOCK_DGRAM)
        opened.setblocking(False)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        is_listener = self._endpoint.scheme is Scheme.UDP_IN
        try:
            if is_listener:
                opened.bind(self._address)
            elif self._endpoint.local:
                opened.bind(("", self._endpoint.local))
        except OSError as error:
            opened.close()
            port = self._endpoint.number if is_listener else self._endpoint.local
            raise _refusal(error, port, PortKind.UDP) from None
        self.opened += 1
        return opened


class StreamEnd:
    is_stream = True

    def __init__(self, make: Callable[[], Transport], url: str) -> None:
        self.url = url
        self.opened = 0
        self.due_ns: int | None = 0
        self._make = make
        self._transport: Transport | None = None
        self._is_plugged = True
        self._was_up = False
        self._waiting = bytearray()
        self._try_to_open()

    @property
    def is_up(self) -> bool:
        return self._transport is not None and self._transport.is_ready

    @property
    def read_numbers(self) -> tuple[int, ...]:
        return () if self._transport is None else self._transport.numbers

    @property
    def write_numbers(self) -> tuple[int, ...]:
        return self.read_numbers[-1:] if self._waiting and self.is_up else ()

    def read(self, now_ns: int) -> bytes:
        if self._transport is None:
            return b""
        try:
            data = self._transport.read()
        except OSError:
            self._fail(now_ns)
            return b""
        self._notice()
        return data

    def write(self, raw: bytes, now_ns: int) -> bool:
        if not self.is_up or len(self._waiting) + len(raw) > MOST_WAITING_BYTES:
            return False
        self._waiting += raw
        self._flush(now_ns)
        return True

    def upkeep(self, now_ns: int) -> None:
        if not self._is_plugged:
            return
        if self._transport is None:
            if self.due_ns is not None and now_ns >= self.due_ns:
                self._try_to_open()
                self.due_ns = now_ns + RETRY_NS
            return
        try:
            self._transport.settle()
        except OSError:
            self._fail(now_ns)
            return
        self._notice()
        self._flush(now_ns)
        # A port that nobody has open, or a connection on its way, gives no sign when it is ready.
        self.due_ns = None if self.is_up else now_ns + LOOK_NS

    def unplug(self) -> None:
        self._is_plugged = False
        self.due_ns = None
        self.close()

    def plug(self, now_ns: int) -> None:
        self._is_plugged = True
        self.due_ns = now_ns
        self.upkeep(now_ns)

    def close(self) -> None:
        self._waiting.clear()
        self._was_up = False
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _try_to_open(self) -> None:
        try:
            self._transport = self._make()
        except OSError:
            self._transport = None
        else:
            self._notice()

    def _notice(self) -> None:
        if self.is_up and not self._was_up:
            self.opened += 1
            self._waiting.clear()
        self._was_up = self.is_up

    def _flush(self, now_ns: int) -> None:
        if not self._waiting or self._transport is None:
            return
        try:
            del self._waiting[: self._transport.write(bytes(self._waiting))]
        except OSError:
            self._fail(now_ns)

    def _fail(self, now_ns: int) -> None:
        self.close()
        self.due_ns = now_ns + RETRY_NS


def _listening(endpoint: Endpoint) -> StreamEnd:
    """Its port is found at once, and kept when it is opened again."""
    family, address = _looked_up(endpoint)
    try:
        first = TcpListener(family, address, _nobody)
    except OSError as error:
        raise _refusal(error, endpoint.number, PortKind.TCP) from None
    port = first.port
    waiting: list[Transport] = [first]
    address = (address[0], port, *address[2:])

    def make() -> Transport:
        return waiting.pop() if waiting else TcpListener(family, address, _nobody)

    return StreamEnd(make, opposite(replace(endpoint, number=port)))


def _looked_up(endpoint: Endpoint) -> tuple[int, Address]:
    try:
        return Lookup(endpoint)()
    except (OSError, ValueError) as error:
        raise LinkError(f"{endpoint} has a host that nobody knows: {error}") from None


def _refusal(error: OSError, port: int, kind: PortKind) -> LinkError:
    if error.errno == errno.EADDRINUSE:
        return taken(port, kind, "the proxy")
    return LinkError(f"the proxy can't have {kind.upper()} port {port}: {error.strerror}")


def _nobody() -> None:
    """A stranger is turned away by the transport, and that is that."""
