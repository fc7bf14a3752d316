"""Frames, and both ends of a link with a proxy in the middle."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from firmware_bridge.messages import dialect, encode
from ghost.core.random import RandomSource
from hil.proxy import Fault, Proxy
from hil.proxy.faults import Direction
from hil.proxy.journal import Journal
from hil.proxy.lane import Lane

MS, S = 1_000_000, 1_000_000_000


def heartbeat(sequence: int = 0) -> bytes:
    message = dialect.MAVLink_heartbeat_message(2, 12, 0, sequence, 3, 3)
    return encode(message, system=1, component=1, sequence=sequence % 256)


def acknowledgement(sequence: int = 0) -> bytes:
    message = dialect.MAVLink_command_ack_message(400, 0)
    return encode(message, system=1, component=1, sequence=sequence % 256)


class LaneRig:
    """A lane on a clock of its own: the fates of thousands of frames, in no time."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder / "journal.jsonl")
        self.lane = Lane(Direction.TO_VEHICLE, self.journal)
        self.now_ns = 0
        self.left: list[tuple[int, bytes]] = []
        self._applied = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def begin(self, fault: Fault, seed: int = 1) -> int:
        number = self._applied
        self._applied += 1
        self.lane.begin(number, fault, RandomSource(seed), self.now_ns)
        return number

    def send(self, *datagrams: bytes) -> None:
        for datagram in datagrams:
            self.lane.take(datagram, self.now_ns, is_stream=False)
        self.step(0)

    def step(self, by_ns: int) -> None:
        end_ns = self.now_ns + by_ns
        while (due_ns := self.lane.due_ns) is not None and due_ns <= end_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.left.extend((self.now_ns, raw) for raw in self.lane.give_due(self.now_ns))
        self.now_ns = end_ns

    @property
    def raws(self) -> list[bytes]:
        return [raw for _, raw in self.left]


class Wire:
    """The unit's socket and the vehicle's, and the proxy between them."""

    def __init__(self, proxy: Proxy, unit: socket.socket, vehicle: socket.socket) -> None:
        self.proxy = proxy
        self.unit = unit
        self.vehicle = vehicle

    def at_vehicle(self, within_s: float = 2.0) -> bytes:
        return _receive(self.vehicle, within_s)

    def at_unit(self, within_s: float = 2.0) -> bytes:
        return _receive(self.unit, within_s)

    def settle(self) -> None:
        """No fault, nothing under way, and both ends know each other."""
        self.proxy.clear()
        for end in (self.unit, self.vehicle):
            while _receive(end, 0.0):
                pass
        self.unit.send(heartbeat())
        assert self.at_vehicle() == heartbeat()


@contextmanager
def wire(**settings: int | Path) -> Iterator[Wire]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as vehicle,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unit,
    ):
        vehicle.bind(("127.0.0.1", 0))
        there = f"udpout://127.0.0.1:{vehicle.getsockname()[1]}"
        with Proxy(unit="udpin://127.0.0.1:0", vehicle=there, **settings) as proxy:  # type: ignore[arg-type]
            unit.connect(("127.0.0.1", port_of(proxy.unit_url)))
            unit.send(heartbeat())
            vehicle.settimeout(2.0)
            _, address = vehicle.recvfrom(4096)
            vehicle.connect(address)
            yield Wire(proxy, unit, vehicle)


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def until(is_so: Callable[[], bool], what: str, within_s: float = 5.0) -> None:
    end_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end_s, f"{what}: not within {within_s:g} s"
        time.sleep(0.002)


def _receive(end: socket.socket, within_s: float) -> bytes:
    """Empty where nothing came."""
    end.settimeout(within_s)
    try:
        return end.recv(65_536)
    except (TimeoutError, BlockingIOError, ConnectionRefusedError):
        return b""
