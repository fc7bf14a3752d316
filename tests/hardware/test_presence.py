"""A loop that was stopped sends nothing from old news."""

import numpy as np

from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import SystemClock
from ghost.hal import PositionCommand
from ghost.hal.commands import RejectReason
from ghost.hardware.presence import AWAY_NS, Presence
from ghost.hardware.sink import SetpointSink
from tests.firmware_bridge.link_rig import MS, Station

UNREAD, READ = (lambda: True), (lambda: False)


def test_who_was_away_waits_for_news_that_is_new() -> None:
    presence = Presence(0)
    presence.look(AWAY_NS, READ)
    assert not presence.is_behind(2 * AWAY_NS)
    now_ns = 10 * AWAY_NS
    assert presence.is_behind(now_ns)  # even before the loop itself looks
    presence.hear()  # it had come meanwhile, and is as old as the stop
    presence.look(now_ns, UNREAD)
    presence.hear()
    assert presence.is_behind(now_ns)
    presence.look(now_ns + 5 * MS, READ)
    assert presence.is_behind(now_ns + 5 * MS)
    presence.hear()
    assert not presence.is_behind(now_ns + 6 * MS)


def test_who_is_stopped_again_waits_again() -> None:
    presence = Presence(0)
    presence.look(2 * AWAY_NS, READ)
    presence.look(4 * AWAY_NS, UNREAD)
    presence.hear()
    assert presence.is_behind(4 * AWAY_NS)


def test_the_sink_refuses_meanwhile() -> None:
    clock = SystemClock()
    station = Station(component=191, now_ns=clock.now_ns)
    try:
        link = station.add("udpout://127.0.0.1:9")
        vehicle = Vehicle(station.hub, system=1, link=link)
        sink = SetpointSink(clock, vehicle, 4, lambda _: True)
        ack = sink.send(PositionCommand(clock.now_ns(), 0, np.array([1.0, 0.0, 3.0]), 0.0))
        assert ack.reason is RejectReason.SINK_FAILED
        assert ack.detail.startswith("this program was stopped for a while")
        assert link.counts.sent == 0
    finally:
        station.hub.close()
