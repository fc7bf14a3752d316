"""Texts in pieces, and changes told once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from firmware_bridge import notices
from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.messages import Message, dialect
from firmware_bridge.modes import ARMED_FLAG, mode_named
from firmware_bridge.notices import (
    ArmedChanged,
    Change,
    FailsafeChanged,
    HealthChanged,
    LandedChanged,
    ModeChanged,
    Notices,
    ReadyChanged,
    Text,
)
from firmware_bridge.vehicle import Vehicle
from tests.firmware_bridge.link_rig import free_port
from tests.firmware_bridge.peer import Peer, flight

LONG = "".join(f"{number:03d}," for number in range(40))
GAP = notices.GAP.decode()
GYRO, GPS, PREARM = (
    dialect.MAV_SYS_STATUS_SENSOR_3D_GYRO,
    dialect.MAV_SYS_STATUS_SENSOR_GPS,
    dialect.MAV_SYS_STATUS_PREARM_CHECK,
)


class Ears:
    def __init__(self, vehicle: Vehicle, peer: Peer) -> None:
        self.texts: list[Text] = []
        self.changes: list[Change] = []
        self.peer = peer
        self.hub = vehicle.hub
        Notices(vehicle, on_text=self.texts.append, on_change=self.changes.append)

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.peer.hub.send(message)

    def spin(self) -> None:
        self.hub.spin(time.monotonic_ns() + 50_000_000)

    def until(self, is_done: Callable[[], bool]) -> None:
        self.hub.spin_until(is_done, within_ns=5_000_000_000, what="a notice")


@contextmanager
def ears() -> Iterator[Ears]:
    peers: list[Peer] = []
    with flight(peers.append) as vehicle:
        heard = Ears(vehicle, peers[0])
        vehicle.hub.spin(time.monotonic_ns() + 120_000_000)  # how things are at first
        yield heard


def test_a_text_that_comes_over_two_links_is_told_once() -> None:
    port = free_port()
    with ears() as heard:
        heard.hub.add(parse_endpoint(f"udpin://127.0.0.1:{port}"))
        way = heard.peer.hub.add(parse_endpoint(f"udpout://127.0.0.1:{port}"))
        for number, link in enumerate((heard.peer.hub.links[0], way, heard.peer.hub.links[0])):
            for message in _chunks(LONG, number + 1):
                heard.peer.hub.send(message, link)
            heard.spin()
    assert heard.texts == [Text(4, LONG)] * 2


def _chunks(text: str, number: int = 7) -> list[Message]:
    raw = text.encode()
    parts = [raw[start : start + 50] for start in range(0, len(raw) + 1, 50)]
    return [
        dialect.MAVLink_statustext_message(4, part, number, place)
        for place, part in enumerate(parts)
    ]


def test_a_short_text_comes_as_it_is() -> None:
    with ears() as heard:
        heard.say(dialect.MAVLink_statustext_message(2, b"Motor 3 failed\t"))
        heard.until(lambda: heard.texts == [Text(2, "Motor 3 failed")])


@pytest.mark.parametrize("text", [LONG[:60], LONG[:100], LONG, 49 * "a" + "Höhe zu groß"])
def test_a_long_text_is_put_together_in_any_order_and_told_once(text: str) -> None:
    with ears() as heard:
        chunks = _chunks(text)
        heard.say(*reversed(chunks), *chunks)
        heard.say(dialect.MAVLink_statustext_message(6, b"after"))
        heard.until(lambda: len(heard.texts) > 1)
        assert heard.texts == [Text(4, text), Text(6, "after")]


def test_what_was_lost_of_a_text_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "CHUNKS_NS", 50_000_000)
    with ears() as heard:
        first, _, third, last = _chunks(LONG)
        heard.say(first, third, last)
        heard.until(lambda: bool(heard.texts))
        assert heard.texts == [Text(4, LONG[:50] + GAP + LONG[100:])]
        heard.say(*_chunks(LONG, 8)[:2])
        heard.until(lambda: len(heard.texts) == 2)
        assert heard.texts[1].text == LONG[:100] + GAP


def test_mode_arming_and_failsafe_are_told_when_they_change() -> None:
    with ears() as heard:
        assert heard.changes == []
        heard.peer.beat = {
            "custom_mode": mode_named("OFFBOARD").custom_mode,
            "base_mode": ARMED_FLAG,
            "system_status": dialect.MAV_STATE_ACTIVE,
        }
        heard.until(lambda: len(heard.changes) == 2)
        assert heard.changes == [ModeChanged("MODE_0_0", "OFFBOARD"), ArmedChanged(is_armed=True)]
        heard.peer.beat = {**heard.peer.beat, "system_status": dialect.MAV_STATE_CRITICAL}
        heard.until(lambda: len(heard.changes) == 3)
        heard.peer.beat = {**heard.peer.beat, "system_status": dialect.MAV_STATE_ACTIVE}
        heard.until(lambda: len(heard.changes) == 4)
        assert heard.changes[2:] == [
            FailsafeChanged(is_failsafe=True, state="CRITICAL"),
            FailsafeChanged(is_failsafe=False, state="ACTIVE"),
        ]


def _status(present: int, health: int) -> Message:
    return dialect.MAVLink_sys_status_message(present, present, health, *[0] * 10)


def test_health_readiness_and_landing_are_told_when_they_change() -> None:
    everything = GYRO | GPS
    with ears() as heard:
        heard.say(
            _status(everything, everything),
            dialect.MAVLink_extended_sys_state_message(0, 1),
            _status(everything, everything | PREARM),
            _status(everything, everything | PREARM),
            _status(everything, GYRO | PREARM),
            dialect.MAVLink_extended_sys_state_message(0, 3),
            dialect.MAVLink_extended_sys_state_message(0, 3),
            dialect.MAVLink_extended_sys_state_message(0, 2),
        )
        heard.until(lambda: len(heard.changes) == 4)
        assert heard.changes == [
            ReadyChanged(is_ready=True),
            HealthChanged(("GPS",)),
            LandedChanged("ON_GROUND", "TAKEOFF"),
            LandedChanged("TAKEOFF", "IN_AIR"),
        ]
