"""A scripted flight controller: a hub of its own in a thread, at the other end of a real socket.

What it is to do is set before it is asked; only its own thread touches it after that.
"""

import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Handler, Hub, Received
from firmware_bridge.messages import Message, dialect
from firmware_bridge.vehicle import Vehicle
from tests.firmware_bridge.link_rig import heartbeat

SYSTEM = 1
BEAT_NS = 50_000_000
TICK_NS = 2_000_000
MS = 1_000_000


@dataclass(frozen=True)
class Loss:
    """What a bad link does to packets, each way."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    seed: int = 1


GOOD = Loss()
BAD = Loss(lost=0.1, doubled=0.1, late=0.1)


@dataclass
class Peer:
    """Beats. What else it does is put on it: with on(), every(), or the parts in `services`."""

    port: int
    loss: Loss = GOOD
    beat: dict[str, int] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    beat_ns: int = BEAT_NS

    def __post_init__(self) -> None:
        self.hub = Hub(time.monotonic_ns, system=SYSTEM, component=1)
        self.hub.add(parse_endpoint(f"udpout://127.0.0.1:{self.port}"))
        self._chance = random.Random(self.loss.seed)  # noqa: S311 - a script, not a secret
        self._late: list[Message] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.hub.every(self.beat_ns, lambda _: self.hub.send(heartbeat(**self.beat)))
        self.hub.every(10_000_000, lambda _: self._send_late())

    def on(self, name: str, handler: Handler) -> None:
        def take(received: Received) -> None:
            if self._chance.random() >= self.loss.lost:
                self.heard.append(name)
                handler(received)

        self.hub.on(name, take)

    def send(self, message: Message) -> None:
        chance = self._chance.random()
        if chance < self.loss.lost:
            return
        if chance < self.loss.lost + self.loss.late:
            self._late.append(message)
            return
        self.hub.send(message)
        if self._chance.random() < self.loss.doubled:
            self.hub.send(message)
        self._send_late()

    def _send_late(self) -> None:
        while self._late:
            self.hub.send(self._late.pop())

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join(5.0)
        self.hub.close()
        assert not self._thread.is_alive(), "the peer's thread hangs"

    def _run(self) -> None:
        while not self._is_over.is_set():
            self.hub.spin(time.monotonic_ns() + TICK_NS)


def hurry(monkeypatch: pytest.MonkeyPatch, module: str, **waits_ns: int) -> None:
    """Shorter waits and more of them, so that a test of a bad link is quick and never unlucky."""
    for name, value in {"RETRIES": 40, **waits_ns}.items():
        monkeypatch.setattr(f"firmware_bridge.{module}.{name}", value)


@contextmanager
def flight(
    *scripts: Callable[[Peer], object], loss: Loss = GOOD, now_ns: Callable[[], int] | None = None
) -> Iterator[Vehicle]:
    """A vehicle that is found, and a peer that follows the scripts."""
    hub = Hub(now_ns or time.monotonic_ns, system=SYSTEM, component=191)
    link = hub.add(parse_endpoint("udpin://127.0.0.1:0"))
    peer = Peer(_port(link.numbers[0]), loss)
    for script in scripts:
        script(peer)
    vehicle = Vehicle(hub)
    peer.start()
    try:
        vehicle.find()
        yield vehicle
    finally:
        peer.stop()
        hub.close()


def _port(number: int) -> int:
    with socket.socket(fileno=os.dup(number)) as same:
        port: int = same.getsockname()[1]
        return port


@dataclass
class Clock:
    """Answers TIMESYNC with a clock of its own, and asks too."""

    boot_ns: int
    asks: bool = False
    odd_every: int = 0
    answers: list[int] = field(default_factory=list)
    questions: int = 0

    def __call__(self, peer: Peer) -> None:
        def on_timesync(received: Received) -> None:
            message = received.message
            if message.tc1:
                self.answers.append(message.tc1)
                return
            self.questions += 1
            now_us = (time.monotonic_ns() - self.boot_ns) // 1000
            if self.odd_every and self.questions % self.odd_every == 0:
                now_us += 5_000_000
            peer.send(dialect.MAVLink_timesync_message(now_us * 1000, message.ts1))

        peer.on("TIMESYNC", on_timesync)
        if self.asks:
            peer.hub.every(
                100_000_000,
                lambda now_ns: peer.send(dialect.MAVLink_timesync_message(0, now_ns)),
            )


class RawMessage:
    """A message with a payload that pymavlink could not pack."""

    def __init__(self, kind: Message, payload: bytes) -> None:
        self.crc_extra = kind.crc_extra
        self._number: int = kind.id
        self._payload = payload

    def pack(self, _packer: object) -> None:
        pass

    def get_payload(self) -> bytes:
        return self._payload

    def get_msgId(self) -> int:  # noqa: N802 - pymavlink's name
        return self._number


@dataclass
class ParameterStore:
    """name -> (the four bytes, type). PX4's manner: the integer's bits, and PARAM_ERROR."""

    values: dict[str, tuple[bytes, int]]
    read_only: tuple[str, ...] = ()
    most: dict[str, int] = field(default_factory=dict)
    is_silent: bool = False
    grows_after: int = 0
    reboots_after: int = 0
    tells_old_first: bool = False
    sent: int = 0

    def __call__(self, peer: Peer) -> None:
        self._peer = peer
        peer.on("PARAM_REQUEST_LIST", self._on_list)
        peer.on("PARAM_REQUEST_READ", self._on_read)
        peer.on("PARAM_SET", self._on_set)

    def send(self, name: str) -> None:
        field_bytes, kind = self.values[name]
        names = sorted(self.values)
        payload = field_bytes + struct.pack(
            "<HH16sB", len(names), names.index(name), name.encode(), kind
        )
        self._peer.send(RawMessage(dialect.MAVLink_param_value_message, payload))
        self.sent += 1
        if self.sent == self.grows_after:
            self.values["AAA_NEW"] = (struct.pack("<i", 7), 6)

    def _on_list(self, _received: Received) -> None:
        if self.is_silent:
            return
        hashed = dialect.MAVLink_param_value_message(
            b"_HASH_CHECK", 1.0, 5, len(self.values), 65535
        )
        self._peer.send(hashed)
        for name in sorted(self.values):
            self.send(name)
            if self.sent == self.reboots_after:  # and knows of no list that was asked for
                return

    def _on_read(self, received: Received) -> None:
        message = received.message
        names = sorted(self.values)
        name = names[message.param_index] if message.param_index >= 0 else message.param_id
        if name in self.values:
            self.send(name)
        else:
            self._error(name, 1)

    def _on_set(self, received: Received) -> None:
        message = received.message
        name = message.param_id
        if name not in self.values:
            self._error(name, 1)
        elif name in self.read_only:
            self._error(name, 5)
        elif message.param_type != self.values[name][1]:
            self._error(name, 7)
        else:
            wanted = received.frame.payload[:4].ljust(4, b"\0")
            if name in self.most:
                limit = self.most[name]
                wanted = struct.pack("<i", min(limit, struct.unpack("<i", wanted)[0]))
            if self.tells_old_first:
                self.send(name)
            self.values[name] = (wanted, message.param_type)
            self.send(name)

    def _error(self, name: str, number: int) -> None:
        self._peer.send(dialect.MAVLink_param_error_message(SYSTEM, 191, name.encode(), -1, number))
