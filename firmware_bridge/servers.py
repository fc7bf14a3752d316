"""Sockets with any number of clients, read and written without waiting."""

import socket
from collections.abc import Callable, Collection
from typing import Protocol

from firmware_bridge.clients import Client
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.frame import Frame
from ghost.core.errors import LinkError

READ_BYTES = 4096
"""A turn and a client: one that floods the router keeps the others waiting for that long."""

REFUSALS_NS = 10_000_000_000
"""How often a server tells of one: senders that are forged come in thousands."""

Address = tuple[object, ...]
Heard = list[tuple[Client, list[Frame]]]
RefusalNews = Callable[[str, str], None]
"""Told by name who is refused, and why."""


class Server(Protocol):
    endpoint: Endpoint
    refusals: "Refusals"

    @property
    def clients(self) -> list[Client]: ...

    def numbers(self) -> tuple[list[int], list[int]]:
        """The file descriptors to read from, and those with something waiting to be written."""
        ...

    def receive(self, ready: Collection[int], now_ns: int) -> Heard: ...

    def flush(self, ready: Collection[int]) -> None: ...

    def upkeep(self, now_ns: int) -> None:
        """Let go of who is silent, stuck or gone."""
        ...

    def close(self) -> None: ...


class Refusals:
    """All are counted. The first is told, and then one in a while."""

    def __init__(self, tell: RefusalNews) -> None:
        self.count = 0
        self._tell = tell
        self._told_ns: int | None = None

    def add(self, name: str, why: str, now_ns: int) -> None:
        self.count += 1
        if self._told_ns is None or now_ns - self._told_ns >= REFUSALS_NS:
            self._told_ns = now_ns
            self._tell(name, why)


def take(client: Client, data: bytes, now_ns: int) -> list[Frame]:
    frames = client.framer.feed(data)
    if frames:  # noise is no sign of life
        client.heard_ns = now_ns
    client.counts.received += len(frames)
    client.counts.received_bytes += len(data)
    return frames


def open_socket(endpoint: Endpoint, kind: int) -> tuple[socket.socket, Address]:
    place = endpoint.place.strip("[]")
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(place, endpoint.number, type=kind)
        opened = socket.socket(family, kind)
    except OSError as error:
        raise LinkError(f"{endpoint}: {error.strerror}") from None
    opened.setblocking(False)
    return opened, address


def bind(opened: socket.socket, address: Address, endpoint: Endpoint) -> None:
    try:
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise LinkError(f"can't listen on {endpoint}: {error.strerror}") from None


def shown(address: Address) -> str:
    host, port, *_ = address
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
