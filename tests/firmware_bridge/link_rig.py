"""What the tests of links share: hubs on real sockets and ptys, and news that is remembered."""

import os
import socket
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect, encode
from firmware_bridge.signing import Signer

MS = 1_000_000
S = 1000 * MS
PATIENCE_NS = 5 * S
"""How long a test waits for what should come at once; only a failing one gets that far."""


@dataclass
class Station:
    """A hub that remembers its news and every frame it hears."""

    system: int = 1
    component: int = 1
    news: list[tuple[bool, str]] = field(default_factory=list)
    heard: list[bytes] = field(default_factory=list)
    now_ns: Callable[[], int] = time.monotonic_ns

    def __post_init__(self) -> None:
        self.hub = Hub(
            self.now_ns,
            system=self.system,
            component=self.component,
            on_news=lambda _, up, why: self.news.append((up, why)),
        )
        self.hub.on_frame(lambda frame, _link, _at_ns: self.heard.append(frame.raw))

    def add(self, url: str, signer: Signer | None = None) -> Link:
        return self.hub.add(parse_endpoint(url), signer=signer)

    def until(self, is_done: Callable[[], bool], what: str = "a test") -> None:
        self.hub.spin_until(is_done, within_ns=PATIENCE_NS, what=what)

    def spin(self, for_ns: int) -> None:
        self.hub.spin(self.hub.now_ns() + for_ns)


@contextmanager
def stations(*names: tuple[int, int]) -> Iterator[list[Station]]:
    made = [Station(system, component) for system, component in names]
    try:
        yield made
    finally:
        for station in made:
            station.hub.close()


def together(one: Station, other: Station, is_done: Callable[[], bool]) -> None:
    """Spin both in turns until then."""
    end_ns = time.monotonic_ns() + PATIENCE_NS
    while not is_done():
        assert time.monotonic_ns() < end_ns, "nothing came of it"
        one.spin(MS)
        other.spin(MS)


def open_pty() -> tuple[int, str]:
    """The flight controller's end, and the path of ours."""
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    return master, path


def plug(master_and_path: tuple[int, str], at: Path) -> int:
    """As /dev/serial/by-id does it."""
    master, path = master_and_path
    at.unlink(missing_ok=True)
    at.symlink_to(path)
    return master


def free_port(kind: int = socket.SOCK_DGRAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def heartbeat(kind: int = dialect.MAV_TYPE_QUADROTOR, **fields: int) -> Message:
    values = {
        "autopilot": dialect.MAV_AUTOPILOT_PX4,
        "base_mode": 0,
        "custom_mode": 0,
        "system_status": dialect.MAV_STATE_STANDBY,
        "mavlink_version": 3,
    }
    return dialect.MAVLink_heartbeat_message(kind, **{**values, **fields})


def frame_bytes(sequence: int = 0, *, system: int = 1, component: int = 1) -> bytes:
    return encode(heartbeat(), system=system, component=component, sequence=sequence)
