"""Set-points leave now or never: one that finds no way is refused, and never comes later."""

import os
import socket
import time
from collections.abc import Iterator

import numpy as np
import pytest

from firmware_bridge.frame import Framer
from firmware_bridge.link import Link
from firmware_bridge.messages import id_of
from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import SystemClock
from ghost.hal import CommandAck, PositionCommand
from ghost.hal.commands import RejectReason
from ghost.hardware.sink import SetpointSink
from tests.firmware_bridge.link_rig import MS, Station, frame_bytes, open_pty

PERIOD_NS = 20 * MS
CLOCK = SystemClock()
SETPOINT_ID = id_of("SET_POSITION_TARGET_LOCAL_NED")


@pytest.fixture
def station() -> Iterator[Station]:
    made = Station(component=191, now_ns=CLOCK.now_ns)
    yield made
    made.hub.close()


def sink_on(station: Station, link: Link) -> SetpointSink:
    return SetpointSink(CLOCK, Vehicle(station.hub, system=1, link=link), 4)


def fly(station: Station, sink: SetpointSink, count: int) -> list[CommandAck]:
    acks = []
    for number in range(count):
        command = PositionCommand(CLOCK.now_ns(), number, np.array([1.0, 0.0, 3.0]), 0.0)
        acks.append(sink.send(command))
        station.spin(PERIOD_NS)
    return acks


def refusals(acks: list[CommandAck]) -> set[tuple[RejectReason, str]]:
    return {(ack.reason, ack.detail.partition(":")[0]) for ack in acks if not ack.accepted}


NO_ROOM = {(RejectReason.SINK_FAILED, "the link to the flight controller has no room")}


def test_over_tcp_no_more_setpoints_come_late_than_the_other_end_had_taken(
    station: Station,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        link = station.add(f"tcpout://127.0.0.1:{server.getsockname()[1]}")
        peer, _ = server.accept()
        with peer:
            peer.settimeout(0.2)
            station.until(lambda: link.is_up)
            sink = sink_on(station, link)
            for _ in range(25):  # while it reads, all go
                assert refusals(fly(station, sink, 1)) == set()
                peer.recv(4096)
            acks = fly(station, sink, 100)
            assert refusals(acks) == NO_ROOM
            assert not any(ack.accepted for ack in acks[-25:])
            unsent_bytes = sum(map(len, link._waiting))
            assert unsent_bytes <= 100  # one set-point at most
            came = setpoints(station, peer)
            assert came == sum(ack.accepted for ack in acks)  # and those that were refused never
            assert refusals(fly(station, sink, 1)) == set()


def setpoints(station: Station, peer: socket.socket) -> int:
    framer, found = Framer(), 0
    while True:
        station.spin(MS)
        try:
            frames = framer.feed(peer.recv(4096))
        except TimeoutError:
            return found
        found += sum(frame.message_id == SETPOINT_ID for frame in frames)


def test_over_a_port_that_takes_nothing_any_more(station: Station) -> None:
    """What a pty has taken can't be known: here it is full, as a real port's driver would be."""
    master, path = open_pty()
    link = station.add(f"serial://{path}:57600")
    sink = sink_on(station, link)
    assert refusals(fly(station, sink, 3)) == set()
    while not link.has_waiting:
        link.send(frame_bytes(), CLOCK.now_ns())
    time.sleep(0.1)
    waiting = len(link._waiting)
    assert refusals(fly(station, sink, 20)) == NO_ROOM
    assert len(link._waiting) <= waiting + 3  # the heartbeat of every second, and no set-point
    os.read(master, 65_536)
    station.spin(PERIOD_NS)
    os.read(master, 65_536)
    assert refusals(fly(station, sink, 3)) == set()
    os.close(master)


def test_where_nobody_was_heard_nothing_is_accepted(station: Station) -> None:
    sink = sink_on(station, station.add("udpin://127.0.0.1:0"))
    assert refusals(fly(station, sink, 2)) == {(RejectReason.SINK_FAILED, "the link took nothing")}
