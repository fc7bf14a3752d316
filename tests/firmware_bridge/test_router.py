"""One flight controller, many stations: who hears what, and who can't be harmed by whom."""

import socket
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from firmware_bridge.clients import LONGEST_FULL_NS, MOST_WAITING_BYTES
from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.frame import Framer
from firmware_bridge.guard import Guard
from firmware_bridge.hub import Hub
from firmware_bridge.messages import dialect, encode
from firmware_bridge.router import Router
from firmware_bridge.servers import Refusals
from firmware_bridge.signing import Key, Signer
from firmware_bridge.tcp_server import MOST_CLIENTS as MOST_TCP_CLIENTS
from firmware_bridge.udp_server import MOST_CLIENTS as MOST_UDP_CLIENTS
from firmware_bridge.udp_server import QUIET_NS, UdpServer
from tests.firmware_bridge.link_rig import heartbeat
from tests.firmware_bridge.router_rig import (
    LACKING,
    PATIENCE_S,
    SHELL_ID,
    SMUGGLERS,
    Autopilot,
    CParser,
    Running,
    Station,
    command,
    running,
    smuggled,
)

ARM = dialect.MAV_CMD_COMPONENT_ARM_DISARM
SYSTEM_HOLDS_BYTES = 32_768
"""No more than that, for a pty that nobody reads."""
SHELL = dialect.MAVLink_serial_control_message(10, 0, 0, 0, 7, b"reboot\n".ljust(70, b"\0"))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as rig:
        yield rig


def test_every_station_hears_the_heartbeat_and_each_other(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        assert tcp.hears(udp.say(heartbeat(dialect.MAV_TYPE_GCS)))
        own = tcp.say(heartbeat(dialect.MAV_TYPE_GCS))
        assert udp.hears(own)
        assert tcp.hears_not(own)


def test_a_command_reaches_the_autopilot_alone_and_its_answer_the_asker_alone(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        asked = udp.say(command(ARM, 1.0))
        assert rig.autopilot.hears(asked)
        answer = dialect.MAVLink_command_ack_message(
            ARM, 0, target_system=udp.system, target_component=udp.component
        )
        answered = rig.autopilot.say(answer)
        assert udp.hears(answered)
        assert tcp.hears_not(answered)
        assert asked not in tcp.heard


@pytest.mark.parametrize(
    ("target", "component", "is_heard"),
    [(1, 0, True), (0, 0, True), (0, 7, True), (1, 7, False), (9, 0, False)],
)
def test_who_is_meant_is_who_was_heard(
    rig: Running, target: int, component: int, *, is_heard: bool
) -> None:
    with rig.stations() as (udp, tcp):
        said = udp.say(command(ARM, target=target, component=component))
        hears = rig.autopilot.hears if is_heard else rig.autopilot.hears_not
        assert hears(said)
        assert tcp.hears_not(said) or target == 0
    assert rig.router.counts.unroutable == (0 if is_heard else 1)


def test_bytes_stay_as_they_are(rig: Running) -> None:
    """Signed by a key that the router doesn't have, MAVLink 1, and a message that nobody knows."""
    signer = Signer(Key(bytes(range(32))))
    old = dialect.MAVLink(None, 1, 1)
    one = bytes(heartbeat().pack(old, force_mavlink1=True))
    unknown = bytes((0xFD, 3, 0, 0, 9, 1, 1, 0x39, 0x30, 0x70, 1, 2, 3, 0xAA, 0xBB))
    with rig.stations() as (udp, tcp):
        for raw in (_signed(signer, rig.autopilot), one, unknown):
            rig.autopilot.send(raw)
            assert udp.hears(raw)
            assert tcp.hears(raw)
        assert rig.autopilot.hears(udp.send(_signed(signer, udp)))


def test_what_is_denied_is_counted_by_name_and_told_once(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        for _ in range(3):
            assert rig.autopilot.hears_not(udp.say(SHELL))
        hidden = tcp.frame(SHELL)
        carrier = dialect.MAVLink_tunnel_message(
            1, 1, 0, len(hidden), hidden.ljust(128, b"\0")[:128]
        )
        assert rig.autopilot.hears_not(tcp.say(carrier))
        assert rig.autopilot.hears(udp.say(command(ARM)))
        told = [line for line in rig.news if " was denied " in line]
        assert [line.partition(" was ")[2] for line in told] == ["denied SERIAL_CONTROL"] * 2
        assert rig.router.denied == {"SERIAL_CONTROL": 4}
        shell = rig.autopilot.say(SHELL)  # the other way is free
        assert udp.hears(shell)


@pytest.mark.parametrize("way", SMUGGLERS)
def test_nothing_is_smuggled_across_frames(tmp_path: Path, way: str) -> None:
    frames = smuggled(way)
    assert SHELL_ID in CParser(lacks=LACKING).feed(b"".join(frames))
    allow = ("UNKNOWN",) if way == "unknown" else ()
    with running(tmp_path, allow=allow) as rig, rig.stations() as (udp, _):
        for raw in frames:
            udp.send(raw)
        assert rig.autopilot.hears(udp.say(heartbeat()))
        assert frames[0] in rig.autopilot.heard
        assert SHELL_ID not in CParser(lacks=LACKING).feed(rig.autopilot.heard)


def test_what_nobody_knows_is_not_for_the_autopilot(rig: Running) -> None:
    strange = smuggled("unknown")[0]
    with rig.stations() as (udp, tcp):
        udp.send(strange)
        rig.until_told("was denied UNKNOWN")
        assert rig.autopilot.hears_not(strange)
        rig.autopilot.send(strange.replace(bytes((255, 190)), bytes((1, 1))))
        assert tcp.hears(strange[-4:])  # the other way is free


def test_a_known_message_with_a_wrong_checksum_goes_nowhere(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        right = udp.frame(command(ARM, 1.0))
        wrong = right[:-1] + bytes((right[-1] ^ 1,))
        udp.send(wrong)
        assert tcp.hears(udp.say(heartbeat()))
        assert rig.autopilot.hears_not(wrong[:-1])


def test_the_same_frame_over_two_ports_is_passed_on_once(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        twice = udp.frame(command(ARM))
        udp.send(twice)
        tcp.send(twice)
        assert rig.autopilot.hears_not(twice + twice)
        assert rig.autopilot.heard.count(twice) == 1
        assert rig.router.counts.repeats == 1
        time.sleep(0.06)
        udp.send(twice)
        assert rig.autopilot.hears(twice)


def test_garbage_goes_nowhere(rig: Running) -> None:
    random = Random(7)  # noqa: S311 - noise, no secret
    with rig.stations() as (udp, tcp), Station(socket.SOCK_STREAM, rig.tcp_port) as wild:
        before = (len(rig.autopilot.heard), len(udp.heard), len(tcp.heard))
        for _ in range(200):
            wild.send(random.randbytes(4000))
        with Station(socket.SOCK_DGRAM, rig.udp_port) as stranger:
            for _ in range(200):
                stranger.send(random.randbytes(300))
            assert rig.autopilot.hears_not(b"-")
            assert len(rig.router.clients()) == 3  # noise makes nobody a client
        assert udp.hears_not(b"-")
        assert tcp.hears_not(b"-")
        assert (len(rig.autopilot.heard), len(udp.heard), len(tcp.heard)) == before
        assert rig.router.counts.strangers > 0  # what looked like frames all the same
        assert rig.autopilot.hears(udp.say(command(ARM)))


def test_one_that_never_reads_delays_nobody_and_costs_little(rig: Running) -> None:
    big = dialect.MAVLink_encapsulated_data_message(0, [0xAA] * 253)
    with rig.stations() as (udp, tcp), Station.stuck(rig.tcp_port) as stuck:
        rig.introduce(stuck)
        tracemalloc.start()
        late_ns = []
        for _ in range(3000):
            start_ns = time.monotonic_ns()
            raw = rig.autopilot.say(big)
            assert udp.hears(raw)
            assert tcp.hears(raw)
            late_ns.append(time.monotonic_ns() - start_ns)
            udp.heard = tcp.heard = b""
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        (full,) = [client for client in rig.router.clients() if client.counts.dropped]
        assert full.counts.dropped > 1000
        assert full.waiting_bytes <= MOST_WAITING_BYTES
        assert peak_bytes < 1_000_000
        assert sorted(late_ns)[2970] < 20_000_000
        rig.news.clear()
        rig.skip(LONGEST_FULL_NS // 1_000_000_000)
        rig.until_told("is gone: took nothing for 10 s")
        with rig.autopilot.beating():
            assert udp.hears(b"\xfd")
            assert tcp.hears(b"\xfd")


def test_a_slow_one_gets_whole_frames_the_newest_last(rig: Running) -> None:
    with rig.stations(), Station.stuck(rig.tcp_port) as slow:
        rig.introduce(slow)
        sent = [
            rig.autopilot.say(dialect.MAVLink_encapsulated_data_message(number, [7] * 253))
            for number in range(2000)
        ]
        assert slow.hears(sent[-1])
        framer = Framer()
        got = [frame.raw for frame in framer.feed(slow.heard)]
        assert framer.counts.noise_bytes == 0
        assert got == [raw for raw in sent if raw in set(got)]
        assert len(got) < len(sent)


def test_one_that_floods_the_autopilot_keeps_nobody_from_it(rig: Running) -> None:
    flood = dialect.MAVLink_encapsulated_data_message(0, [0xAA] * 253)
    with rig.stations() as (udp, tcp):
        flooder, pilot = rig.router.clients()
        for _ in range(500):  # and the autopilot takes nothing meanwhile
            udp.say(flood)
            time.sleep(0.0005)
        (vehicle, *_) = rig.router.ports().values()
        assert vehicle.dropped > 0
        received = pilot.counts.received
        asked = tcp.say(command(ARM, 1.0))
        end_s = time.monotonic() + PATIENCE_S
        while pilot.counts.received == received and time.monotonic() < end_s:
            time.sleep(0.005)
        rig.autopilot.heard = b""
        assert rig.autopilot.hears(asked)
        ahead = rig.autopilot.heard.partition(asked)[0]
        # What the system has, the rest of one frame, and one turn of the other.
        assert len(ahead) < SYSTEM_HOLDS_BYTES + 2 * 280
        assert flooder.counts.dropped == 0  # on the way to it, that is


def test_unplugged_and_plugged_in_again_the_stations_stay(rig: Running) -> None:
    with rig.stations() as (udp, tcp):
        rig.autopilot.unplug()
        rig.until_told("ttyFC:921600 is gone")
        udp.say(command(ARM))
        rig.news.clear()
        rig.autopilot.replug()
        rig.until_told("ttyFC:921600 is here")
        back = rig.autopilot.say(heartbeat())
        assert udp.hears(back)
        assert tcp.hears(back)
        assert rig.autopilot.hears(tcp.say(command(ARM)))


def test_a_silent_udp_client_is_forgotten_and_a_tcp_client_is_not(rig: Running) -> None:
    with rig.stations() as (_, tcp):
        rig.skip(29)
        time.sleep(0.1)
        assert len(rig.router.clients()) == 2
        rig.skip(1)
        rig.until_told("is gone: silent for 30 s")
        (client,) = rig.router.clients()
        assert client.name == "tcp {}:{}".format(*tcp.socket.getsockname())


def test_one_that_hangs_up_is_gone(rig: Running) -> None:
    with rig.stations() as (_, tcp):
        tcp.socket.close()
        rig.until_told("is gone: hung up")


@pytest.mark.parametrize(
    ("kind", "most"),
    [(socket.SOCK_DGRAM, MOST_UDP_CLIENTS), (socket.SOCK_STREAM, MOST_TCP_CLIENTS)],
)
def test_there_is_room_for_so_many(rig: Running, kind: int, most: int) -> None:
    port = rig.udp_port if kind == socket.SOCK_DGRAM else rig.tcp_port
    crowd = [Station(kind, port, system=number + 100) for number in range(most)]
    for station in crowd:
        rig.introduce(station)
    with Station(kind, port, system=99) as late:
        assert rig.autopilot.hears_not(late.say(heartbeat()))
    assert len(rig.router.clients()) == most
    assert sum(server.refusals.count for server in rig.router.servers) == 1
    rig.until_told(f"was refused: {most} clients are here already")
    for station in crowd:
        station.socket.close()


def test_who_said_one_thing_and_no_more_makes_room(rig: Running) -> None:
    crowd = [
        Station(socket.SOCK_DGRAM, rig.udp_port, system=number + 100)
        for number in range(MOST_UDP_CLIENTS)
    ]
    for station in crowd:
        rig.introduce(station)
    with Station(socket.SOCK_DGRAM, rig.udp_port, system=99) as late:
        assert rig.autopilot.hears_not(late.say(heartbeat()))
        rig.introduce(crowd[0])
        rig.skip(QUIET_NS // 1_000_000_000)
        rig.introduce(late)
        rig.until_told(f"{_name(crowd[1])} is gone: silent for 3 s, and another needs the room")
        here = {client.name for client in rig.router.clients()}
        assert len(here) == MOST_UDP_CLIENTS
        assert {_name(crowd[0]), _name(late)} <= here
    for station in crowd:
        station.socket.close()


def test_refusals_are_told_once_in_a_while() -> None:
    told: list[str] = []
    refusals = Refusals(lambda name, _why: told.append(name))
    for second in range(25):
        refusals.add(f"number {second}", "full", second * 1_000_000_000)
    assert told == ["number 0", "number 10", "number 20"]
    assert refusals.count == 25


def test_a_peer_is_spoken_to_first_and_no_other_is_heard_in_its_place(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(5.0)
        url = f"udpout://127.0.0.1:{peer.getsockname()[1]}"
        with running(tmp_path, to=(url,)) as rig:
            beat = rig.autopilot.say(heartbeat())
            told, router_address = peer.recvfrom(1000)
            assert told == beat
            with Station(socket.SOCK_DGRAM, router_address[1]) as other:
                assert rig.autopilot.hears_not(other.say(command(ARM)))
                asked = other.frame(command(ARM))
                peer.sendto(asked, router_address)
                assert rig.autopilot.hears(asked)


def test_nobody_at_the_peer_s_address_is_no_trouble(tmp_path: Path) -> None:
    with running(tmp_path, to=("udpout://127.0.0.1:9",)) as rig:
        for _ in range(3):
            rig.autopilot.say(heartbeat())
        with rig.stations():
            pass


def test_a_flight_loop_hosts_a_router_in_its_own_spin(tmp_path: Path) -> None:
    autopilot = Autopilot(tmp_path / "ttyFC")
    hub = Hub(time.monotonic_ns, system=1, component=191)
    link = hub.add(parse_endpoint(f"serial://{autopilot.path}:921600"))
    server = UdpServer(parse_endpoint("udpin://127.0.0.1:0"), lambda *_: None)
    router = Router(link, [server], hub.now_ns, guard=Guard())
    cancel = router.attach(hub)
    with Station(socket.SOCK_DGRAM, server.port) as station:
        hello = station.say(heartbeat(dialect.MAV_TYPE_GCS))
        hub.spin(hub.now_ns() + 20_000_000)
        assert autopilot.listen(1.0) == hello
        beat = autopilot.say(heartbeat())
        hub.spin(hub.now_ns() + 20_000_000)
        assert station.listen(1.0) == beat
        cancel()
        autopilot.say(heartbeat())
        hub.spin(hub.now_ns() + 20_000_000)
        assert station.hears_not(autopilot.frame(heartbeat()))
        assert station.heard == beat
    router.close()
    hub.close()
    autopilot.close()


@pytest.mark.parametrize("scheme", ["udpout", "tcpout"])
def test_mavsdk_finds_the_autopilot_through_it(rig: Running, scheme: str) -> None:
    mavsdk = pytest.importorskip("mavsdk")
    kind = mavsdk.ComponentType.GROUND_STATION
    station = mavsdk.Mavsdk(mavsdk.Configuration.create_with_component_type(kind))
    port = rig.udp_port if scheme == "udpout" else rig.tcp_port
    with rig.autopilot.beating():
        station.add_any_connection(f"{scheme}://127.0.0.1:{port}")
        system = station.first_autopilot(PATIENCE_S)
        assert system is not None
        assert (system.get_system_id(), list(system.component_ids())) == (1, [1])
    station.destroy()


def _name(station: Station) -> str:
    return "udp {}:{}".format(*station.socket.getsockname())


def _signed(signer: Signer, by: Autopilot | Station) -> bytes:
    beat = heartbeat()
    return signer.sign(
        encode(beat, system=by.system, component=by.component, sequence=77, signed=True)
    )
