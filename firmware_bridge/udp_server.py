"""UDP clients: any number that come by themselves, or one that is spoken to first."""

import socket
from collections.abc import Collection

from firmware_bridge.clients import Client, ClientNews
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.frame import Framer
from firmware_bridge.servers import READ_BYTES, Address, Heard, bind, open_socket, shown, take
from firmware_bridge.targets import NAMES

SILENCE_NS = 30_000_000_000
MOST_CLIENTS = 32

_DATAGRAMS_A_TURN = 8


class UdpServer:
    """Whoever sends a sound frame is a client until it falls silent."""

    def __init__(self, endpoint: Endpoint, on_news: ClientNews) -> None:
        self.endpoint = endpoint
        self.refused = 0
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
                    client = self._admit(data, address)
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
                del self._clients[address]
                self._on_news(client.name, False, client.failure)

    def close(self) -> None:
        self._clients.clear()
        self._socket.close()

    def _admit(self, data: bytes, address: Address) -> Client | None:
        if not any(frame.message_id in NAMES for frame in Framer().feed(data)):
            return None
        if len(self._clients) >= MOST_CLIENTS:
            self.refused += 1
            return None
        client = Client(
            f"udp {shown(address)}",
            lambda raw: _send_to(self._socket, raw, address),
            is_stream=False,
        )
        self._clients[address] = client
        self._on_news(client.name, True, "")
        return client


class UdpPeer:
    """One client, which is spoken to whether it answers or not, and heard from its address only."""

    def __init__(self, endpoint: Endpoint, on_news: ClientNews) -> None:
        self.endpoint = endpoint
        self.refused = 0
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
                    self.refused += 1
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
