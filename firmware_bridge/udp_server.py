"""UDP clients: any number that come by themselves, or one that is spoken to first."""

import socket
from collections.abc import Collection

from firmware_bridge.clients import Client, ClientNews
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.frame import Framer
from firmware_bridge.servers import (
    READ_BYTES,
    Address,
    Heard,
    RefusalNews,
    Refusals,
    bind,
    open_socket,
    shown,
    take,
)
from firmware_bridge.targets import NAMES

SILENCE_NS = 30_000_000_000
MOST_CLIENTS = 32
QUIET_NS = 3_000_000_000
"""A station has a heartbeat each second; who is quiet for so long makes room for another."""

_DATAGRAMS_A_TURN = 8


class UdpServer:
    """Whoever sends a sound frame is a client until it falls silent."""

    def __init__(
        self, endpoint: Endpoint, on_news: ClientNews, on_refusal: RefusalNews = lambda *_: None
    ) -> None:
        self.endpoint = endpoint
        self.refusals = Refusals(on_refusal)
        self._on_news = on_news
        self._socket, address = open_socket(endpoint, socket.SOCK_DGRAM)
        self._clients: dict[Address, Client] = {}
        bind(self._socket, address, endpoint)

    @property
    def port(self) -> int:
        number: int = self._socket.getsockname()[1]
        return number

    @property
    def clients(self) -> list[Client]:
        return list(self._clients.values())

    def numbers(self) -> tuple[list[int], list[int]]:
        own = [self._socket.fileno()]
        waits = any(client.has_waiting for client in self._clients.values())
        return own, own if waits else []

    def receive(self, ready: Collection[int], now_ns: int) -> Heard:
        heard: Heard = []
        if self._socket.fileno() in ready:
            for _ in range(_DATAGRAMS_A_TURN):
                try:
                    data, address = self._socket.recvfrom(READ_BYTES)
                except OSError:  # nothing more, or a complaint about a datagram of before
                    break
                client = self._clients.get(address)
                if client is None:
                    client = self._admit(data, address, now_ns)
                if client is not None:
                    heard.append((client, take(client, data, now_ns)))
        return heard

    def flush(self, ready: Collection[int]) -> None:
        if self._socket.fileno() in ready:
            for client in self._clients.values():
                client.flush()

    def upkeep(self, now_ns: int) -> None:
        for address, client in list(self._clients.items()):
            client.give_up_if_stuck(now_ns)
            if now_ns - client.heard_ns >= SILENCE_NS:
                client.failure = f"silent for {SILENCE_NS / 1e9:g} s"
            if client.failure:
                self._let_go(address, client.failure)

    def close(self) -> None:
        self._clients.clear()
        self._socket.close()

    def _admit(self, data: bytes, address: Address, now_ns: int) -> Client | None:
        if not any(frame.message_id in NAMES for frame in Framer().feed(data)):
            return None
        name = f"udp {shown(address)}"
        if len(self._clients) >= MOST_CLIENTS and not self._makes_room(now_ns):
            self.refusals.add(name, f"{MOST_CLIENTS} clients are here already", now_ns)
            return None
        client = Client(name, lambda raw: _send_to(self._socket, raw, address), is_stream=False)
        client.came_ns = now_ns
        self._clients[address] = client
        self._on_news(client.name, True, "")
        return client

    def _makes_room(self, now_ns: int) -> bool:
        quiet = {
            address: client
            for address, client in self._clients.items()
            if now_ns - client.heard_ns >= QUIET_NS
        }
        if not quiet:
            return False
        address = min(quiet, key=lambda one: (quiet[one].has_stayed, quiet[one].heard_ns))
        self._let_go(address, f"silent for {QUIET_NS / 1e9:g} s, and another needs the room")
        return True

    def _let_go(self, address: Address, why: str) -> None:
        client = self._clients.pop(address)
        self._on_news(client.name, False, why)


class UdpPeer:
    """One client, which is spoken to whether it answers or not, and heard from its address only."""

    def __init__(
        self, endpoint: Endpoint, on_news: ClientNews, on_refusal: RefusalNews = lambda *_: None
    ) -> None:
        self.endpoint = endpoint
        self.refusals = Refusals(on_refusal)
        self._socket, self._address = open_socket(endpoint, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self._client = Client(
            str(endpoint),
            lambda raw: _send_to(self._socket, raw, self._address),
            is_stream=False,
        )
        on_news(self._client.name, True, "")

    @property
    def clients(self) -> list[Client]:
        return [self._client]

    def numbers(self) -> tuple[list[int], list[int]]:
        own = [self._socket.fileno()]
        return own, own if self._client.has_waiting else []

    def receive(self, ready: Collection[int], now_ns: int) -> Heard:
        heard: Heard = []
        if self._socket.fileno() in ready:
            for _ in range(_DATAGRAMS_A_TURN):
                try:
                    data, address = self._socket.recvfrom(READ_BYTES)
                except OSError:
                    break
                if address == self._address:
                    heard.append((self._client, take(self._client, data, now_ns)))
                else:
                    why = f"only {self.endpoint} is heard here"
                    self.refusals.add(f"udp {shown(address)}", why, now_ns)
        return heard

    def flush(self, ready: Collection[int]) -> None:
        if self._socket.fileno() in ready:
            self._client.flush()

    def upkeep(self, now_ns: int) -> None:
        """It stays, whatever it does."""

    def close(self) -> None:
        self._socket.close()


def _send_to(datagrams: socket.socket, raw: bytes, address: Address) -> int:
    try:
        return datagrams.sendto(raw, address)
    except BlockingIOError:
        return 0
