"""UDP and TCP links over real sockets: peers that restart, hang up, come late or read nothing."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.link import MOST_WAITING_BYTES, Link
from firmware_bridge.transport import TcpListener, UdpTransport
from tests.firmware_bridge.link_rig import (
    MS,
    S,
    Station,
    frame_bytes,
    free_port,
    heartbeat,
    stations,
    together,
)

HUNG_UP = (False, "the other side hung up")


@pytest.fixture
def pair() -> Iterator[tuple[Station, Station]]:
    with stations((255, 190), (1, 1)) as (one, other):
        yield one, other


def port_of(link: Link) -> int:
    assert isinstance(link._transport, UdpTransport | TcpListener)
    return link._transport.port


# UDP


def test_udp_carries_both_ways_and_answers_who_spoke_last(pair: tuple[Station, Station]) -> None:
    ground, vehicle = pair
    link = ground.add("udpin://127.0.0.1:0")
    ground.hub.send(heartbeat())
    assert (link.counts.sent, link.counts.unsent) == (0, 1)  # nobody has spoken yet
    for restart in range(3):  # each time from another port
        there = vehicle.add(f"udpout://127.0.0.1:{port_of(link)}")
        vehicle.hub.send(heartbeat())
        together(ground, vehicle, lambda n=restart: len(ground.heard) == n + 1)  # type: ignore[misc]  # mypy has no type for a lambda's defaults
        ground.hub.send(heartbeat())
        together(ground, vehicle, lambda n=restart: len(vehicle.heard) == n + 1)  # type: ignore[misc]  # same
        vehicle.hub.remove(there)
    assert (link.counts.sent, link.counts.opened) == (3, 1)
    assert ground.news == [(True, "")]


def test_udp_to_nobody_is_no_failure_and_works_when_somebody_comes(
    pair: tuple[Station, Station],
) -> None:
    ground, vehicle = pair
    port = free_port()
    link = vehicle.add(f"udpout://127.0.0.1:{port}")
    for _ in range(5):
        vehicle.hub.send(heartbeat())
        vehicle.spin(2 * MS)
    assert link.is_up
    ground.add(f"udpin://127.0.0.1:{port}")
    vehicle.hub.send(heartbeat())
    together(ground, vehicle, lambda: bool(ground.heard))


def test_udp_over_ipv6(pair: tuple[Station, Station]) -> None:
    ground, vehicle = pair
    link = ground.add("udpin://[::1]:0")
    if not link.is_up:
        pytest.skip("no IPv6 here")
    vehicle.add(f"udpout://[::1]:{port_of(link)}")
    vehicle.hub.send(heartbeat())
    together(ground, vehicle, lambda: bool(ground.heard))


@pytest.mark.parametrize(
    ("scheme", "kind"), [("udpin", socket.SOCK_DGRAM), ("tcpin", socket.SOCK_STREAM)]
)
def test_a_port_that_is_taken_is_named_and_used_when_it_is_free(
    pair: tuple[Station, Station], scheme: str, kind: int
) -> None:
    station, _ = pair
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            holder.listen()
        link = station.add(f"{scheme}://127.0.0.1:{holder.getsockname()[1]}")
        station.spin(200 * MS)
        assert (link.is_up, link.problem) == (False, "Address already in use")
    if kind == socket.SOCK_DGRAM:
        station.until(lambda: link.is_up)
    else:
        station.until(lambda: link.problem == "nobody is connected yet")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70])
def test_a_host_that_is_none_is_a_problem_and_no_exception(
    pair: tuple[Station, Station], host: str
) -> None:
    link = pair[0].add(f"udpout://{host}:14550")
    assert (link.is_up, bool(link.problem)) == (False, True)


# TCP


def test_tcp_client_waits_for_its_server_and_comes_back_after_each_hang_up(
    pair: tuple[Station, Station],
) -> None:
    client, server = pair
    port = free_port(socket.SOCK_STREAM)
    link = client.add(f"tcpout://127.0.0.1:{port}")
    client.spin(300 * MS)
    assert (link.is_up, link.problem) == (False, "Connection refused")
    for _ in range(2):
        there = server.add(f"tcpin://127.0.0.1:{port}")
        together(client, server, lambda: link.is_up and there.is_up)  # noqa: B023 - used at once
        client.heard.clear()
        server.heard.clear()
        client.hub.send(heartbeat())
        server.hub.send(heartbeat())
        together(client, server, lambda: bool(client.heard and server.heard))
        server.hub.remove(there)
        client.until(lambda: not link.is_up)
    assert client.news == [(True, ""), HUNG_UP] * 2


def test_what_a_peer_says_first_is_not_lost(pair: tuple[Station, Station]) -> None:
    """A connection is noticed in one go with the first bytes; both count."""
    station, _ = pair
    listener = station.add("tcpin://127.0.0.1:0")
    for turn in range(5):
        with socket.create_connection(("127.0.0.1", port_of(listener))) as peer:
            peer.sendall(frame_bytes(turn))
            time.sleep(0.06)  # so that upkeep meets both at once
            station.until(lambda n=turn: len(station.heard) == n + 1)  # type: ignore[misc]  # mypy has no type for a lambda's defaults
            assert listener.is_up
        station.until(lambda: not listener.is_up)
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
        with peer:
            peer.sendall(frame_bytes(9))
            time.sleep(0.06)
            station.until(lambda: frame_bytes(9) in station.heard)
            assert client.is_up


def test_a_handler_can_answer_the_first_message_of_a_new_peer(
    pair: tuple[Station, Station],
) -> None:
    client, server = pair
    link = server.add("tcpin://127.0.0.1:0")
    server.hub.on("HEARTBEAT", lambda received: server.hub.send(heartbeat(), received.link))
    with socket.create_connection(("127.0.0.1", port_of(link))) as peer:
        peer.sendall(frame_bytes(system=255))
        server.until(lambda: bool(server.heard))
        peer.settimeout(5.0)
        assert peer.recv(100) == frame_bytes()
    assert client.news == []


def test_a_new_tcp_peer_takes_the_place_of_an_old_one_and_gets_nothing_of_it(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    link = station.add("tcpin://127.0.0.1:0")
    address = ("127.0.0.1", port_of(link))
    with socket.create_connection(address) as old:
        old.sendall(frame_bytes(0)[:9])  # half a frame
        station.until(lambda: link.is_up)
        for _ in range(400_000):
            if link.has_waiting:
                break
            link.send(frame_bytes(), 0)
        assert link._waiting_bytes > 0
        with socket.create_connection(address) as new:
            station.until(lambda: len(station.news) == 3)
            assert station.news == [(True, ""), (False, "another took its place"), (True, "")]
            assert link._waiting_bytes == len(link._waiting) == 0
            new.sendall(frame_bytes(1))
            station.until(lambda: bool(station.heard))
            assert station.heard == [frame_bytes(1)]
            station.hub.send(heartbeat())
            new.settimeout(5.0)
            assert new.recv(100) == frame_bytes(0, system=255, component=190)


def test_a_slow_tcp_reader_fills_a_queue_of_bounded_size_and_delays_nobody(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
        station.until(lambda: link.is_up)
        sent, raw = 0, frame_bytes() * 50
        while link.counts.unsent < 100:
            link.send(raw, 0)
            sent += 1
            assert sent < 1_000_000
        assert link._waiting_bytes == sum(map(len, link._waiting))
        assert MOST_WAITING_BYTES - len(raw) < link._waiting_bytes <= MOST_WAITING_BYTES
        took_ns = []
        for _ in range(8):
            began_ns = time.monotonic_ns()
            station.spin(10 * MS)
            took_ns.append(time.monotonic_ns() - began_ns)
        assert min(took_ns) < 20 * MS, took_ns
        assert max(took_ns) < S, took_ns
        assert link.counts.sent + link.counts.unsent + len(link._waiting) == sent
        # Once it reads, everything that was taken arrives, whole and in order.
        peer.settimeout(5.0)
        data, expected = b"", (sent - link.counts.unsent) * len(raw)
        size = 0
        while size < expected:
            data = peer.recv(1 << 20)
            assert data
            size += len(data)
            station.spin(0)
        assert size == expected
        assert link.counts.sent == sent - link.counts.unsent
        assert link.counts.sent_bytes == expected
        peer.close()


def test_a_server_that_hangs_up_at_once_is_tried_ever_more_seldom(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    connections = 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        end_ns = time.monotonic_ns() + 1500 * MS
        while time.monotonic_ns() < end_ns:
            station.spin(5 * MS)
            with suppress(BlockingIOError):
                server.accept()[0].close()
                connections += 1
    assert 2 <= connections <= 5  # after 0.1, 0.3, 0.7 and 1.5 s
    assert station.news.count(HUNG_UP) >= 1


def test_tcp_that_nobody_answers_is_given_up_and_tried_again(
    pair: tuple[Station, Station],
) -> None:
    """A backlog that is full leaves a connection on its way for ever."""
    station, _ = pair
    with socket.socket() as server, ExitStack() as fillers:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        for _ in range(4):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        time.sleep(0.05)
        link = Link(
            parse_endpoint(f"tcpout://127.0.0.1:{address[1]}"),
            on_news=lambda _, up, why: station.news.append((up, why)),
        )
        problems = []
        for now_ns in range(0, 4 * S, 50 * MS):
            link.maintain(now_ns)
            problems.append(link.problem)
        link.close()
    assert list(dict.fromkeys(problems)) == ["nobody is connected yet", "no answer in 3 s"]
    assert (link.counts.opened, station.news) == (2, [])
