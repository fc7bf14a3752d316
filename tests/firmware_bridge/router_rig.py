"""A router in a thread of its own, a flight controller on a pty, stations on real sockets."""

import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from firmware_bridge.frame import MAGIC_V1, MAGIC_V2, SIGNATURE_BYTES, SIGNED_FLAG, checksum
from firmware_bridge.messages import Message, dialect, encode, id_of
from ghost.deploy.router import Router, RouterOrder, open_router
from tests.firmware_bridge.link_rig import heartbeat, open_pty, plug

PATIENCE_S = 5.0
QUIET_S = 0.1
"""How long nothing has to come where nothing should."""
TURN_NS = 20_000_000


class Ear:
    """Something with bytes to read and write, and a memory."""

    def __init__(self, number: int, *, system: int, component: int) -> None:
        self.number = number
        self.system, self.component = system, component
        self.heard = b""
        self._sequence = 0

    def frame(self, message: Message) -> bytes:
        self._sequence = (self._sequence + 1) & 0xFF
        return encode(
            message, system=self.system, component=self.component, sequence=self._sequence
        )

    def send(self, raw: bytes) -> bytes:
        os.write(self.number, raw)
        return raw

    def say(self, message: Message) -> bytes:
        return self.send(self.frame(message))

    def listen(self, seconds: float) -> bytes:
        """What comes in that time, or with the first read."""
        if select.select([self.number], [], [], seconds)[0]:
            with suppress(OSError):  # a pty that nobody has open
                self.heard += os.read(self.number, 65_536)
        return self.heard

    def hears(self, raw: bytes) -> bool:
        end_s = time.monotonic() + PATIENCE_S
        while raw not in self.heard and time.monotonic() < end_s:
            self.listen(0.02)
        return raw in self.heard

    def hears_not(self, raw: bytes) -> bool:
        end_s = time.monotonic() + QUIET_S
        while time.monotonic() < end_s:
            self.listen(0.01)
        return raw not in self.heard


class Autopilot(Ear):
    """At a path that outlives its pty, as /dev/serial/by-id does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(plug(open_pty(), path), system=1, component=1)

    def unplug(self) -> None:
        self.path.unlink()
        os.close(self.number)

    def replug(self) -> None:
        self.heard = b""
        self.number = plug(open_pty(), self.path)

    @contextmanager
    def beating(self) -> Iterator[None]:
        is_over = threading.Event()

        def beat() -> None:
            while not is_over.wait(0.05):
                self.say(heartbeat())

        thread = threading.Thread(target=beat)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def close(self) -> None:
        with suppress(OSError):
            os.close(self.number)


class Station(Ear):
    """A ground station: connected, of either kind."""

    def __init__(
        self, kind: int, port: int, *, system: int = 255, buffer_bytes: int | None = None
    ) -> None:
        self.socket = socket.socket(socket.AF_INET, kind)
        if buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        self.socket.connect(("127.0.0.1", port))
        super().__init__(self.socket.fileno(), system=system, component=190)

    @classmethod
    def stuck(cls, port: int) -> Self:
        """One for which there is little room in the system, and that reads when it is told to."""
        return cls(socket.SOCK_STREAM, port, system=253, buffer_bytes=4096)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


@dataclass
class Running:
    router: Router
    autopilot: Autopilot
    news: list[str] = field(default_factory=list)
    skipped_ns: int = 0

    @property
    def udp_port(self) -> int:
        return _port(self.router, 0)

    @property
    def tcp_port(self) -> int:
        return _port(self.router, 1)

    def skip(self, seconds: int) -> None:
        """Time goes by for the router at once."""
        self.skipped_ns += seconds * 1_000_000_000

    def until_told(self, line: str) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not any(line in told for told in self.news):
            assert time.monotonic() < end_s, f"{line!r} is not in {self.news}"
            time.sleep(0.005)

    @contextmanager
    def stations(self) -> Iterator[tuple[Station, Station]]:
        """One over UDP and one over TCP, known to the router, as is the autopilot."""
        with (
            Station(socket.SOCK_DGRAM, self.udp_port, system=255) as udp,
            Station(socket.SOCK_STREAM, self.tcp_port, system=254) as tcp,
        ):
            self.introduce(udp)
            self.introduce(tcp)
            both = self.autopilot.say(heartbeat())
            assert udp.hears(both)
            assert tcp.hears(both)
            yield udp, tcp

    def introduce(self, station: Ear) -> None:
        hello = station.say(heartbeat(dialect.MAV_TYPE_GCS, autopilot=8))
        assert self.autopilot.hears(hello)


@contextmanager
def running(folder: Path, **order: tuple[str, ...]) -> Iterator[Running]:
    autopilot = Autopilot(folder / "ttyFC")
    news: list[str] = []
    local = {"listen": ("udpin://127.0.0.1:0",), "tcp": ("tcpin://127.0.0.1:0",)}
    url = f"serial://{autopilot.path}:921600"
    router = open_router(RouterOrder(url, **{**local, **order}), news.append)
    rig = Running(router, autopilot, news)
    router.now_ns = lambda: time.monotonic_ns() + rig.skipped_ns
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            router.spin(router.now_ns() + TURN_NS)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        rig.until_told(f"{url} is here")
        yield rig
    finally:
        is_over.set()
        thread.join()
        router.close()
        router.link.close()
        autopilot.close()


def command(number: int, *parameters: float, target: int = 1, component: int = 1) -> Message:
    padded = (*parameters, *[0.0] * (7 - len(parameters)))
    return dialect.MAVLink_command_long_message(target, component, number, 0, *padded)


class CParser:
    """Where MAVLink's C parser begins and ends a frame: mavlink_parse_char() in the
    mavlink_helpers.h of pymavlink 2.4.50. It doesn't wait for the signature behind a bad checksum.
    """

    def __init__(self, *, lacks: int) -> None:
        self._kinds = {n: kind for n, kind in dialect.mavlink_map.items() if n != lacks}
        self._is_v1 = False
        self._begun = b""

    @property
    def is_idle(self) -> bool:
        return not self._begun

    def feed(self, data: bytes) -> list[int]:
        """The ids of the messages that it finds."""
        found = []
        for byte in data:
            if not self._begun and byte in (MAGIC_V1, MAGIC_V2):
                self._is_v1 = byte == MAGIC_V1
                self._begun = bytes((byte,))
            elif self._begun:
                self._begun += bytes((byte,))
                found += self._ended(byte)
        return found

    def _ended(self, byte: int) -> list[int]:
        begun = self._begun
        header_bytes = 6 if self._is_v1 else 10
        has_signature = not self._is_v1 and begun[2:3] == bytes((SIGNED_FLAG,))
        if not self._is_v1 and begun[2:3] and begun[2] & ~SIGNED_FLAG:
            self._begun = b""
        end = header_bytes + begun[1] + 2
        if len(begun) < end:
            return []
        number = begun[5] if self._is_v1 else int.from_bytes(begun[7:10], "little")
        kind = self._kinds.get(number)
        total = checksum(begun[1 : end - 2], kind.crc_extra) if kind else -1
        is_sound = total == int.from_bytes(begun[end - 2 : end], "little")
        if is_sound and has_signature and len(begun) < end + SIGNATURE_BYTES:
            return []
        # Here it keeps to the layout that it was in.
        self._begun = bytes((byte,)) if byte == MAGIC_V2 and not is_sound else b""
        return [number] if is_sound else []


LACKING = id_of("PING")
"""A message that the flight controller of the smugglers doesn't know."""
SHELL_ID = id_of("SERIAL_CONTROL")
STRANGE_ID = 0x00F0F0
SMUGGLERS = ("unknown", "known", "version 1", "signed")


def smuggled(way: str) -> list[bytes]:
    """Frames of 255/190 and 255/126 that are harmless one by one. Where the first has an id that
    the receiver lacks, it finds a SERIAL_CONTROL across them.
    """
    if way == "signed":
        begun = bytes((MAGIC_V2, 250, 0, 0, 0, 255, 190, SHELL_ID, 0, 0))
        first = _raw(LACKING, b"\1", flags=SIGNED_FLAG) + b"\1\2\3" + begun
        return [first, _completing(begun, 10)]
    if way == "unknown":
        first = _raw(STRANGE_ID, b"\1")[:-1] + bytes((MAGIC_V2,))
    else:
        made = (
            _raw(LACKING, n.to_bytes(2, "little"), is_v1=way == "version 1") for n in range(1, 5000)
        )
        first = next(raw for raw in made if raw[-1] == MAGIC_V2)
    # Read from the last byte of the first on, either one has its id where the shell's should be.
    if way == "version 1":
        second = _raw(0, b"", sequence=SHELL_ID)
        return [first, second, _completing(first[-1:] + second, 6)]
    second = _raw(0, b"", component=SHELL_ID)
    return [first, second, _completing(first[-1:] + second, 10)]


def _completing(begun: bytes, header_bytes: int) -> bytes:
    """A sound frame that holds the rest of another one."""
    data = b"\n" * 255
    rest_bytes = header_bytes + begun[1] - len(begun)
    hidden = begun + _raw(131, data)[:rest_bytes]
    ending = checksum(hidden[1:], dialect.mavlink_map[SHELL_ID].crc_extra).to_bytes(2, "little")
    at = rest_bytes - 10
    return _raw(131, data[:at] + ending + data[at + 2 :])


def _raw(
    number: int,
    payload: bytes,
    *,
    is_v1: bool = False,
    flags: int = 0,
    component: int = 190,
    sequence: int = 0,
) -> bytes:
    if is_v1:
        head = bytes((MAGIC_V1, len(payload), sequence, 255, component, number))
    else:
        head = bytes((MAGIC_V2, len(payload), flags, 0, sequence, 255, component))
        head += number.to_bytes(3, "little")
    kind = dialect.mavlink_map.get(number)
    total = checksum(head[1:] + payload, kind.crc_extra if kind else 0)
    return head + payload + total.to_bytes(2, "little")


def _port(router: Router, place: int) -> int:
    number: int = getattr(router.servers[place], "port")  # noqa: B009 - not all servers have one
    return number
