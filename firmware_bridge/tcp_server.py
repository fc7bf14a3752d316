"""TCP clients, any number."""

import socket
from collections.abc import Collection

from firmware_bridge.clients import Client, ClientNews
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.servers import (
    READ_BYTES,
    Heard,
    RefusalNews,
    Refusals,
    bind,
    open_socket,
    shown,
    take,
)

MOST_CLIENTS = 16

_SEND_BUFFER_BYTES = 65_536
"""What the system keeps for a client that doesn't read is old when it is read."""


class TcpServer:
    """Whoever connects is a client until it hangs up or takes nothing any more."""

    def __init__(
        self, endpoint: Endpoint, on_news: ClientNews, on_refusal: RefusalNews = lambda *_: None
    ) -> None:
        self.endpoint = endpoint
        self.refusals = Refusals(on_refusal)
        self._on_news = on_news
        self._socket, address = open_socket(endpoint, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._clients: dict[int, tuple[Client, socket.socket]] = {}
        bind(self._socket, address, endpoint)
        self._socket.listen()

    @property
    def port(self) -> int:
        number: int = self._socket.getsockname()[1]
        return number

    @property
    def clients(self) -> list[Client]:
        return [client for client, _ in self._clients.values()]

    def numbers(self) -> tuple[list[int], list[int]]:
        writing = [number for number, (client, _) in self._clients.items() if client.has_waiting]
        return [self._socket.fileno(), *self._clients], writing

    def receive(self, ready: Collection[int], now_ns: int) -> Heard:
        heard: Heard = []
        for number, (client, stream) in list(self._clients.items()):
            if number not in ready:
                continue
            try:
                data = stream.recv(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                client.failure = error.strerror or str(error)
                continue
            if data:
                heard.append((client, take(client, data, now_ns)))
            else:
                client.failure = "hung up"
        if self._socket.fileno() in ready:
            self._accept(now_ns)
        self.upkeep(now_ns)
        return heard

    def flush(self, ready: Collection[int]) -> None:
        for number, (client, _) in self._clients.items():
            if number in ready:
                client.flush()

    def upkeep(self, now_ns: int) -> None:
        for number, (client, stream) in list(self._clients.items()):
            client.give_up_if_stuck(now_ns)
            if client.failure:
                del self._clients[number]
                stream.close()
                self._on_news(client.name, False, client.failure)

    def close(self) -> None:
        for _, stream in self._clients.values():
            stream.close()
        self._clients.clear()
        self._socket.close()

    def _accept(self, now_ns: int) -> None:
        try:
            stream, address = self._socket.accept()
        except OSError:  # gone again before it was taken
            return
        name = f"tcp {shown(address)}"
        if len(self._clients) >= MOST_CLIENTS:
            self.refusals.add(name, f"{MOST_CLIENTS} clients are here already", now_ns)
            stream.close()
            return
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        client = Client(name, lambda raw: _send(stream, raw), is_stream=True)
        client.came_ns = client.heard_ns = now_ns
        self._clients[stream.fileno()] = client, stream
        self._on_news(client.name, True, "")


def _send(stream: socket.socket, raw: bytes) -> int:
    try:
        return stream.send(raw)
    except BlockingIOError:
        return 0
