"""A router, put together from what was asked for."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.clients import PortCounts
from firmware_bridge.endpoint import Endpoint, Scheme, parse_endpoint
from firmware_bridge.guard import Guard
from firmware_bridge.link import Link
from firmware_bridge.router import Router
from firmware_bridge.tcp_server import TcpServer
from firmware_bridge.udp_server import UdpPeer, UdpServer
from ghost.core.errors import ConfigError

__all__ = ["LinkNews", "PortCounts", "Router", "RouterOrder", "open_router"]


@dataclass(frozen=True, slots=True)
class RouterOrder:
    """URLs, and names of what the network may or may not say."""

    link: str
    listen: tuple[str, ...] = ()
    tcp: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class LinkNews:
    """Of the link to the flight controller, told once for each change."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told = ""

    def on_news(self, link: Link, is_up: bool, why: str) -> None:
        self._told = why
        self._tell(f"{link.endpoint} is here" if is_up else f"{link.endpoint} is gone: {why}")

    def look_at(self, link: Link) -> None:
        """There is no news of what can't even be opened."""
        if link.numbers or link.problem == self._told:
            return
        self._told = link.problem
        self._tell(f"{link.endpoint} is down: {link.problem}")


def open_router(
    order: RouterOrder, tell: Callable[[str], None], news: LinkNews | None = None
) -> Router:
    """Ready to spin; tell is given a line for whatever comes, goes, is refused or denied.
    Nothing is left open where something can't be opened.
    """
    guard = Guard(allow=order.allow, deny=order.deny)
    link = parse_endpoint(order.link)
    listen = _endpoints("--listen", order.listen, Scheme.UDP_IN)
    tcp = _endpoints("--tcp", order.tcp, Scheme.TCP_IN)
    to = _endpoints("--to", order.to, Scheme.UDP_OUT)
    if not (listen or tcp or to):
        raise ConfigError("nobody to share it with; give at least one --listen, --tcp or --to")

    def on_news(name: str, is_up: bool, why: str) -> None:
        tell(f"{name} is here" if is_up else f"{name} is gone: {why}")

    def on_refusal(name: str, why: str) -> None:
        tell(f"{name} was refused: {why}")

    servers: list[UdpServer | UdpPeer | TcpServer] = []
    try:
        servers += [UdpServer(endpoint, on_news, on_refusal) for endpoint in listen]
        servers += [TcpServer(endpoint, on_news, on_refusal) for endpoint in tcp]
        servers += [UdpPeer(endpoint, on_news, on_refusal) for endpoint in to]
    except BaseException:
        for server in servers:
            server.close()
        raise
    return Router(
        Link(link, on_news=(news or LinkNews(tell)).on_news),
        servers,
        time.monotonic_ns,
        guard=guard,
        on_denial=lambda client, name: tell(f"{client} was denied {name}"),
    )


def _endpoints(option: str, urls: tuple[str, ...], scheme: Scheme) -> list[Endpoint]:
    endpoints = [parse_endpoint(url) for url in urls]
    for endpoint in endpoints:
        if endpoint.scheme is not scheme:
            raise ConfigError(f"{option} is {endpoint}; expected {scheme}://...")
    return endpoints
