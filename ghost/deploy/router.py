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

__all__ = ["PortCounts", "Router", "RouterOrder", "open_router"]


@dataclass(frozen=True, slots=True)
class RouterOrder:
    """URLs, and names of what the network may or may not say."""

    link: str
    listen: tuple[str, ...] = ()
    tcp: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def open_router(order: RouterOrder, tell: Callable[[str], None]) -> Router:
    """Ready to spin; tell is given a line for whatever comes, goes or is denied. Nothing is left
    open where something can't be opened.
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

    servers: list[UdpServer | UdpPeer | TcpServer] = []
    try:
        servers += [UdpServer(endpoint, on_news) for endpoint in listen]
        servers += [TcpServer(endpoint, on_news) for endpoint in tcp]
        servers += [UdpPeer(endpoint, on_news) for endpoint in to]
    except BaseException:
        for server in servers:
            server.close()
        raise
    return Router(
        Link(link, on_news=lambda one, is_up, why: on_news(str(one.endpoint), is_up, why)),
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
