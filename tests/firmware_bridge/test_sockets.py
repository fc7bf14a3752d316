"""UDP and TCP links over real sockets: peers that restart, hang up, come late or read nothing."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from firmware_bridge import link as link_module
from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.link import MOST_WAITING_BYTES, Link
from firmware_bridge.messages import dialect, encode
from firmware_bridge.signing import Key, Signer
from firmware_bridge.transport import SEND_BUFFER_BYTES, TcpListener, UdpTransport
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


def udp_socket() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    return made


def datagrams(of: socket.socket) -> list[bytes]:
    """All that have arrived."""
    found = []
    with suppress(BlockingIOError):
        while True:
            found.append(of.recv(4096))
    return found


# UDP


def test_udp_carries_both_ways_and_answers_one_that_comes_back_from_another_port(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "PEER_NS", 50 * MS)
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
        ground.spin(60 * MS)
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


UNCHECKABLE = bytes((0xFD, 0, 0, 0, 0, 1, 1)) + (60_000).to_bytes(3, "little") + b"ab"


@pytest.mark.parametrize(
    ("said", "comes_first"),
    [
        (b"x", True),
        (b"x", False),
        (frame_bytes()[:-1] + b"\0", True),
        (UNCHECKABLE, True),
        (UNCHECKABLE, False),
        (frame_bytes(system=7), False),
    ],
)
def test_a_stranger_gets_nothing_and_is_not_heard_while_the_peer_is_alive(
    pair: tuple[Station, Station], said: bytes, *, comes_first: bool
) -> None:
    ground, _ = pair
    link = ground.add("udpin://127.0.0.1:0")
    address = ("127.0.0.1", port_of(link))
    with udp_socket() as controller, udp_socket() as stranger:
        for turn in range(20):
            first, second = (stranger, controller) if comes_first else (controller, stranger)
            for one in (first, second):
                one.sendto(said if one is stranger else frame_bytes(turn), address)
            ground.until(lambda n=turn: frame_bytes(n) in ground.heard)  # type: ignore[misc]  # mypy has no type for a lambda's defaults
            ground.hub.send(heartbeat())
        ground.spin(5 * MS)
        assert len(datagrams(controller)) == 20
        assert datagrams(stranger) == []
    assert frame_bytes(system=7) not in ground.heard
    assert link.counts.strangers >= 18
    assert ground.news == [(True, "")]


def test_an_unsigned_heartbeat_keeps_a_signed_peer_from_nothing(
    pair: tuple[Station, Station],
) -> None:
    ground, _ = pair
    key = Key(bytes(range(32)))
    link = ground.add("udpin://127.0.0.1:0", Signer(key))
    theirs = Signer(key, link_id=1)
    ping = dialect.MAVLink_ping_message(0, 0, 0, 0)
    with udp_socket() as controller, udp_socket() as stranger:
        for turn in range(10):
            stranger.sendto(frame_bytes(turn), ("127.0.0.1", port_of(link)))
            ground.spin(2 * MS)
            raw = theirs.sign(encode(ping, system=1, component=1, sequence=turn, signed=True))
            controller.sendto(raw, ("127.0.0.1", port_of(link)))
            ground.until(lambda made=raw: made in ground.heard)  # type: ignore[misc]  # same
            ground.hub.send(heartbeat())
        assert len(datagrams(controller)) == 10
        assert datagrams(stranger) == []


def test_udpout_hears_its_own_address_whoever_else_has_spoken(
    pair: tuple[Station, Station],
) -> None:
    vehicle, _ = pair
    with udp_socket() as home, udp_socket() as other:
        home.bind(("127.0.0.1", 0))
        link = vehicle.add(f"udpout://127.0.0.1:{home.getsockname()[1]}")
        vehicle.hub.send(heartbeat())
        assert len(datagrams(home)) == 1  # it speaks first
        ours = ("127.0.0.1", port_of(link))
        other.sendto(frame_bytes(1), ours)
        vehicle.until(lambda: frame_bytes(1) in vehicle.heard)
        home.sendto(frame_bytes(2), ours)
        vehicle.until(lambda: frame_bytes(2) in vehicle.heard)
        vehicle.hub.send(heartbeat())
        assert (len(datagrams(home)), datagrams(other)) == (1, [])


@pytest.mark.parametrize("scheme", ["udpin", "udpout"])
def test_a_udp_peer_that_falls_silent_is_down_until_it_speaks_again(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(link_module, "SILENCE_NS", 200 * MS)
    station, _ = pair
    with udp_socket() as peer:
        peer.bind(("127.0.0.1", 0))
        port = peer.getsockname()[1] if scheme == "udpout" else 0
        link = station.add(f"{scheme}://127.0.0.1:{port}")
        station.spin(400 * MS)
        assert station.news == [(True, "")]  # nobody has spoken yet: that is no silence
        for _ in range(2):
            station.hub.send(heartbeat())  # so that udpout has a port to be spoken to
            peer.sendto(frame_bytes(), ("127.0.0.1", port_of(link)))
            station.until(lambda: bool(station.heard))
            station.heard.clear()
            station.until(lambda: not link.is_up)
        silent = (False, "silent for 0.2 s")
        assert station.news == [(True, ""), silent] * 2
        assert link.counts.opened == 1
        datagrams(peer)
        station.hub.send(heartbeat())
        assert len(datagrams(peer)) == (1 if scheme == "udpout" else 0)


def test_noise_in_large_datagrams_does_not_hold_up_the_loop(pair: tuple[Station, Station]) -> None:
    station, _ = pair
    link = station.add("udpin://127.0.0.1:0")
    is_over = threading.Event()

    def flood() -> None:
        with udp_socket() as wild:
            while not is_over.wait(0.01):
                for start in (b"\xfe\xff", b"\x00\xfe"):
                    wild.sendto(start * 32_000, ("127.0.0.1", port_of(link)))

    thread = threading.Thread(target=flood)
    thread.start()
    late_ns = []
    for _ in range(25):
        due_ns = time.monotonic_ns() + 20 * MS
        station.hub.spin(due_ns)
        late_ns.append(time.monotonic_ns() - due_ns)
    is_over.set()
    thread.join()
    assert sorted(late_ns)[20] < 2 * MS, late_ns
    counts = link.counts
    assert counts.framer.noise_bytes == counts.received_bytes > 10 * 4096


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


@pytest.mark.parametrize("is_known_at_first", [True, False])
def test_a_slow_resolver_holds_up_no_loop(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch, *, is_known_at_first: bool
) -> None:
    """It is asked once before the flight; if it knew nothing then, beside the loop."""
    station, _ = pair
    asked, real = [], socket.getaddrinfo

    def slow(_host: str, *rest: object, **more: object) -> object:
        asked.append(threading.current_thread())
        if len(asked) > 1:
            time.sleep(0.3)
        if len(asked) == 1 and not is_known_at_first:
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return real("127.0.0.1", *rest, **more)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5.0)
        link = station.add(f"tcpout://groundstation.local:{server.getsockname()[1]}")
        for _ in range(2):
            began_ns, longest_ns = time.monotonic_ns(), 0
            while not link.is_up:
                assert time.monotonic_ns() - began_ns < 5 * S
                turn_ns = time.monotonic_ns()
                station.spin(MS)
                longest_ns = max(longest_ns, time.monotonic_ns() - turn_ns)
            assert longest_ns < 150 * MS
            server.accept()[0].close()
            station.until(lambda: not link.is_up)
    assert len(asked) == (1 if is_known_at_first else 2)


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


def test_who_connects_while_the_peer_is_alive_is_turned_away(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    link = station.add("tcpin://127.0.0.1:0")
    address = ("127.0.0.1", port_of(link))
    with socket.create_connection(address) as controller:
        controller.sendall(frame_bytes(0))
        station.until(lambda: len(station.heard) == 1)
        with socket.create_connection(address) as stranger:
            stranger.settimeout(5.0)
            station.until(lambda: link.counts.strangers == 1)
            assert stranger.recv(1) == b""
        controller.sendall(frame_bytes(1))
        station.until(lambda: len(station.heard) == 2)
        assert station.news == [(True, "")]
    with socket.create_connection(address) as controller:  # which hung up, and is back at once
        controller.sendall(frame_bytes(2))
        station.until(lambda: len(station.heard) == 3)
    assert link.counts.strangers == 1


@pytest.mark.parametrize("scheme", ["tcpin", "tcpout"])
def test_a_tcp_peer_that_falls_silent_is_connected_anew(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(link_module, "SILENCE_NS", 300 * MS)
    station, _ = pair
    with ExitStack() as opened:
        if scheme == "tcpin":
            link = station.add(f"tcpin://127.0.0.1:{free_port(socket.SOCK_STREAM)}")
            peer = opened.enter_context(socket.create_connection(("127.0.0.1", port_of(link))))
        else:
            server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            link = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
            peer = opened.enter_context(server.accept()[0])
        for number in range(5):  # as long as it speaks it stays
            peer.sendall(frame_bytes(number))
            station.spin(100 * MS)
        assert station.news == [(True, "")]
        station.until(lambda: link.counts.opened == 2)
        assert station.news[:2] == [(True, ""), (False, "silent for 0.3 s")]
        if scheme == "tcpin":
            opened.enter_context(socket.create_connection(("127.0.0.1", port_of(link))))
        station.until(lambda: link.is_up)


def test_a_loop_that_was_away_blames_nobody_for_silence(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SILENCE_NS", "PEER_NS", "AWAY_NS"):
        monkeypatch.setattr(link_module, name, 100 * MS)
    station, _ = pair
    udp, tcp = station.add("udpin://127.0.0.1:0"), station.add("tcpin://127.0.0.1:0")
    with (
        udp_socket() as controller,
        udp_socket() as stranger,
        socket.create_connection(("127.0.0.1", port_of(tcp))) as stream,
    ):
        for turn in range(3):
            if turn:
                stranger.sendto(frame_bytes(system=7), ("127.0.0.1", port_of(udp)))
            controller.sendto(frame_bytes(turn), ("127.0.0.1", port_of(udp)))
            stream.sendall(frame_bytes(turn))
            station.spin(20 * MS)
            time.sleep(0.2)
        assert station.news == [(True, "")] * 2
        assert (len(station.heard), udp.counts.strangers) == (6, 2)


def test_a_new_tcp_peer_takes_the_place_of_a_silent_one_and_gets_nothing_of_it(
    pair: tuple[Station, Station], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "PEER_NS", 100 * MS)
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
        station.spin(150 * MS)
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


def test_a_link_has_room_while_its_peer_reads_and_none_once_frames_wait(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    raw, period_ns = bytes(78), 20 * MS
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        link = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
        with peer:
            peer.settimeout(5.0)
            station.until(lambda: link.is_up)
            for _ in range(50):
                assert link.has_room(station.hub.now_ns())
                assert link.send(raw, station.hub.now_ns())
                station.spin(period_ns)
                peer.recv(4096)
            for _ in range(200):  # until what lies at the other end is full
                if not link.has_room(station.hub.now_ns()):
                    break
                link.send(raw, station.hub.now_ns())
                station.spin(period_ns // 4)
            assert not link.has_room(station.hub.now_ns())
            assert link._waiting_bytes <= len(raw)
            while not link.has_room(station.hub.now_ns()):
                peer.recv(4096)
                station.spin(period_ns)


def test_little_waits_in_the_system_for_one_that_does_not_read(
    pair: tuple[Station, Station],
) -> None:
    station, _ = pair
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        assert link._transport is not None
        kept = socket.socket(fileno=link._transport.numbers[0])
        size = kept.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        kept.detach()
    assert size <= 2 * SEND_BUFFER_BYTES  # Linux says twice what it was told


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
