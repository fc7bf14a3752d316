"""Shares one flight controller with any number of ground stations. Nothing here waits for anybody.

Frames go on byte for byte, whatever is in them: a signature stays the sender's own. What ends in a
byte that could begin a frame is followed by a few that end it, on the way to the flight controller.
"""

import select
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from firmware_bridge.clients import Client, Neighbours, PortCounts
from firmware_bridge.frame import Frame
from firmware_bridge.guard import Guard, Seams, sealed
from firmware_bridge.hub import Cancel, Hub
from firmware_bridge.link import Link
from firmware_bridge.servers import Server
from firmware_bridge.targets import EVERYBODY, NAMES, target_of

UPKEEP_NS = 50_000_000
HOSTED_PERIOD_NS = 2_000_000
"""How often a router inside another's loop looks after its clients."""
REPEAT_NS = 50_000_000
MOST_RECENT = 4096
MOST_WAITING_BYTES = 4096
"""For the flight controller, a client."""

DenialNews = Callable[[str, str], None]
"""Told by client and name when a client is denied something for the first time."""


class Port(Protocol):
    """A place where systems live."""

    name: str
    neighbours: Neighbours


@dataclass(slots=True)
class RouterCounts:
    repeats: int = 0
    """Frames that came over two ports."""
    strangers: int = 0
    """Frames of unknown messages from systems that sent nothing known: noise, as far as one can
    tell.
    """
    unroutable: int = 0
    """Frames for a system that was never heard."""


class Router:
    def __init__(
        self,
        link: Link,
        servers: Iterable[Server],
        now_ns: Callable[[], int],
        *,
        guard: Guard,
        on_denial: DenialNews = lambda *_: None,
    ) -> None:
        """The link goes to the flight controller; what comes from the servers is the network."""
        self.link = link
        self.servers = tuple(servers)
        self.now_ns = now_ns
        self.guard = guard
        self.counts = RouterCounts()
        self.denied: Counter[str] = Counter()
        self._on_denial = on_denial
        self._told: set[tuple[str, str]] = set()
        self._vehicle = _Vehicle(str(link.endpoint))
        self._seams = Seams(guard)
        self._recent = _Recent()
        self._upkeep_ns = 0

    def spin(self, until_ns: int) -> None:
        """Pass frames on until then; at least once, even if that is past."""
        while True:
            now_ns = self.now_ns()
            if now_ns >= self._upkeep_ns:
                self.link.maintain(now_ns)
                self._upkeep(now_ns)
            wake_ns = min(until_ns, self._upkeep_ns)
            if self._vehicle.has_waiting:  # nothing tells when the system has sent what it holds
                wake_ns = min(wake_ns, now_ns + HOSTED_PERIOD_NS)
            self._exchange(max(wake_ns - now_ns, 0) / 1e9, self.link)
            if self.now_ns() >= until_ns:
                return

    def attach(self, hub: Hub) -> Cancel:
        """Run inside the hub's spin instead. The link is one of the hub's, which looks after it."""
        cancel_frames = hub.on_frame(self._on_hub_frame)
        cancel_timer = hub.every(HOSTED_PERIOD_NS, self._serve)

        def cancel() -> None:
            cancel_frames()
            cancel_timer()

        return cancel

    def route(self, frame: Frame, origin: Port, now_ns: int) -> None:
        if frame.message_id in NAMES:  # so its checksum was right
            origin.neighbours.learn(frame.system, frame.component)
        elif not origin.neighbours.has(frame.system, frame.component):
            self.counts.strangers += 1
            return
        if self._recent.is_repeat(frame.raw, origin, now_ns):
            self.counts.repeats += 1
            return
        if isinstance(origin, Client) and self._denies(self.guard.judge(frame), origin):
            return
        system, component = target_of(frame)
        meant = [
            port
            for port in self._ports()
            if system == EVERYBODY or port.neighbours.has(system, component)
        ]
        if not meant:
            self.counts.unroutable += 1
        for port in meant:
            if port is origin:
                continue
            if isinstance(port, Client):
                port.send(frame.raw, now_ns)
            elif isinstance(origin, Client):
                self._vehicle.put(sealed(frame.raw), origin)
                self._hand_on(now_ns)

    def clients(self) -> list[Client]:
        return [client for server in self.servers for client in server.clients]

    def ports(self) -> dict[str, PortCounts]:
        """The counts of everybody who is there now, the flight controller first."""
        link = self.link.counts
        vehicle = PortCounts(
            received=link.framer.frames,
            received_bytes=link.received_bytes,
            sent=link.sent,
            sent_bytes=link.sent_bytes,
            dropped=link.unsent + self._vehicle.dropped,
        )
        return {self._vehicle.name: vehicle} | {
            client.name: client.counts for client in self.clients()
        }

    def close(self) -> None:
        """All but a link that is a hub's, which is the hub's to close."""
        for server in self.servers:
            server.close()

    def _ports(self) -> list[Port]:
        return [self._vehicle, *self.clients()]

    def _hand_on(self, now_ns: int) -> None:
        """To the flight controller, as far as it takes it at once: the rest may be overtaken."""
        while self.link.is_clear and (turn := self._vehicle.take()) is not None:
            origin, raw = turn
            if not self._denies(self._seams.judge(raw), origin):
                self.link.send(raw, now_ns)

    def _denies(self, name: str, origin: Client) -> bool:
        if not name:
            return False
        self.denied[name] += 1
        origin.counts.denied += 1
        if (origin.name, name) not in self._told:
            self._told.add((origin.name, name))
            self._on_denial(origin.name, name)
        return True

    def _on_hub_frame(self, frame: Frame, link: Link, now_ns: int) -> None:
        if link is self.link:
            self.route(frame, self._vehicle, now_ns)

    def _serve(self, now_ns: int) -> None:
        if now_ns >= self._upkeep_ns:
            self._upkeep(now_ns)
        self._exchange(0.0, None)

    def _upkeep(self, now_ns: int) -> None:
        self._upkeep_ns = now_ns + UPKEEP_NS
        for server in self.servers:
            server.upkeep(now_ns)
        here = self.clients()
        self._vehicle.forget_all_but(here)
        if self._told:
            names = {client.name for client in here}
            self._told = {told for told in self._told if told[0] in names}

    def _exchange(self, seconds: float, link: Link | None) -> None:
        reading: list[int] = []
        writing: list[int] = []
        if link is not None:
            reading += link.numbers
            writing += link.numbers[-1:] if link.has_waiting else ()
        for server in self.servers:
            to_read, to_write = server.numbers()
            reading += to_read
            writing += to_write
        readable, writable, _ = select.select(reading, writing, [], seconds)
        now_ns = self.now_ns()
        if link is not None:
            if any(number in writable for number in link.numbers):
                link.flush(now_ns)
            if any(number in readable for number in link.numbers):
                for frame in link.receive(now_ns):
                    self.route(frame, self._vehicle, now_ns)
        self._hand_on(now_ns)
        for server in self.servers:
            server.flush(writable)
            for client, frames in server.receive(readable, now_ns):
                for frame in frames:
                    self.route(frame, client, now_ns)


class _Vehicle:
    """The flight controller. What is meant for it waits by sender, and each sender has its turn."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.neighbours = Neighbours()
        self.dropped = 0
        self._waiting: dict[Client, deque[bytes]] = {}
        """Who has waited longest for a turn comes first."""

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def put(self, raw: bytes, origin: Client) -> None:
        queue = self._waiting.setdefault(origin, deque())
        queue.append(raw)
        while sum(map(len, queue)) > MOST_WAITING_BYTES:
            queue.popleft()
            self.dropped += 1

    def take(self) -> tuple[Client, bytes] | None:
        origin = next(iter(self._waiting), None)
        if origin is None:
            return None
        queue = self._waiting.pop(origin)
        raw = queue.popleft()
        if queue:
            self._waiting[origin] = queue
        return origin, raw

    def forget_all_but(self, here: Collection[Client]) -> None:
        for origin in [one for one in self._waiting if one not in here]:
            self.dropped += len(self._waiting.pop(origin))


class _Recent:
    """What came within the last moments, and over which port."""

    def __init__(self) -> None:
        self._origins: dict[int, Port] = {}
        self._order: deque[tuple[int, int]] = deque()

    def is_repeat(self, raw: bytes, origin: Port, now_ns: int) -> bool:
        order = self._order
        while order and (now_ns - order[0][0] > REPEAT_NS or len(order) >= MOST_RECENT):
            del self._origins[order.popleft()[1]]
        key = hash(raw)
        first = self._origins.get(key)
        if first is None:
            self._origins[key] = origin
            order.append((now_ns, key))
            return False
        return first is not origin
