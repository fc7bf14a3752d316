"""The firmware bridge: how soon a state is answered with a set-point, beside MAVSDK-Python; what
decoding, logging and routing 1,000 messages a second costs.
"""

import gc
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np

from firmware_bridge.messages import Message, dialect
from ghost.core.errors import StalledError
from ghost.telemetry import LogReader
from tests.bench.bridge_controller import Companion, FlightController, Loop, pty_link, udp_link
from tests.bench.table import LatencyRow, Row
from tests.firmware_bridge.link_rig import free_port

OpenLink = Callable[[], AbstractContextManager[tuple[int, str]]]

TRANSPORTS: dict[str, OpenLink] = {"UDP": udp_link, "pty": pty_link}
AWAKE_BEATS, AWAKE_NS = 5, 20_000_000
RATES_HZ = (100, 250)
PEERS = {
    "ghost": ("bridge_ghost", "hold"),
    "ghost, real-time": ("bridge_ghost", "hold_real_time"),
    "mavsdk, callback": ("bridge_mavsdk", "callback"),
    "mavsdk, asyncio": ("bridge_mavsdk", "asyncio"),
}
ROUNDS = 5
ROUND_S = 0.6
"""Four peers take turns, and MAVSDK gives up a flight controller after three silent seconds."""
SMOKE_ROUND_S = 0.2
WARM_UP_STATES = 10
START_S = 30
LAST_ANSWER_NS = 200_000_000

FLOOD_HZ = 1000
ODOMETRY_EVERY = 5
OTHER_SENSORS_EVERY = 8
"""Of so many HIGHRES_IMU one has a new magnetic field and pressure too."""
FLOOD_S = 5.0
SMOKE_FLOOD_S = 1.0
CLIENTS = (1, 4)


@dataclass(eq=False)
class Peer:
    name: str
    controller: FlightController
    companion: Companion
    latencies_us: list[float] = field(default_factory=list)
    states: int = 0
    cpu_ns: int = 0
    duration_ns: int = 0

    def forget(self) -> None:
        self.latencies_us = []
        self.states = self.cpu_ns = self.duration_ns = 0


def latency_tables(*, smoke: bool) -> Iterator[tuple[str, list[LatencyRow]]]:
    """A title and its rows. The peers take short turns: what disturbs one disturbs the others as
    much.
    """
    rounds, round_s = (1, SMOKE_ROUND_S) if smoke else (ROUNDS, ROUND_S)
    for transport, open_link in TRANSPORTS.items():
        with _peers(open_link) as (peers, loop):
            for rate_hz in RATES_HZ:
                for peer in peers:
                    peer.forget()
                for _ in range(rounds):
                    for peer in peers:
                        _measure(peer, loop, rate_hz, round(rate_hz * round_s))
                title = f"Bridge, {transport}, {rate_hz} Hz: state in to set-point out"
                yield title, [_row(peer) for peer in peers]


def log_rows(folder: Path, *, smoke: bool) -> list[Row]:
    messages = round(FLOOD_HZ * (SMOKE_FLOOD_S if smoke else FLOOD_S))
    with udp_link() as (descriptor, url):
        controller = FlightController(descriptor)
        loop = Loop([controller])
        with _running("bridge_ghost", "log", url, str(folder)) as companion:
            flood = _flood(controller)
            path = folder / "log.mcap"
            _start(loop, flood, lambda: [] if path.exists() else [companion])
            loop.run_at(FLOOD_HZ, FLOOD_HZ // 2, flood)
            before_ns = companion.cpu_ns
            loop.run_at(FLOOD_HZ, messages, flood)
            cpu_ns = companion.cpu_ns - before_ns
    flood_ns = messages * 1_000_000_000 // FLOOD_HZ
    note = (
        f"{cpu_ns / flood_ns:.1%} of a core, log writer included; "
        f"{_logged_in_last(flood_ns, folder):,} samples of {messages:,} messages in the log"
    )
    return [Row("ghost, link to file", cpu_ns / messages / 1e3, note)]


def router_rows(*, smoke: bool) -> list[Row]:
    return [_router_row(clients, smoke=smoke) for clients in CLIENTS]


def _router_row(clients: int, *, smoke: bool) -> Row:
    messages = round(FLOOD_HZ * (SMOKE_FLOOD_S if smoke else FLOOD_S) / 2)
    port = free_port()
    with ExitStack() as stack:
        descriptor, url = stack.enter_context(udp_link())
        sockets = [stack.enter_context(_client(port)) for _ in range(clients)]
        stations = [FlightController(one.fileno()) for one in sockets]
        controller = FlightController(descriptor)
        listen = f"udpin://127.0.0.1:{port}"
        companion = stack.enter_context(_running("bridge_ghost", "route", url, listen))
        loop = Loop([controller], drained=[one.fileno() for one in sockets])
        flood = _flood(controller)

        def join(index: int) -> None:
            flood(index)
            for station in stations:
                station.beat()

        enough = clients * WARM_UP_STATES
        _start(loop, join, lambda: [] if loop.packets > enough else [companion])
        loop.packets, before_ns = 0, companion.cpu_ns
        loop.run_at(FLOOD_HZ, messages, flood)
        cpu_ns = companion.cpu_ns - before_ns
    share = cpu_ns / (messages / FLOOD_HZ * 1e9)
    arrived = loop.packets // clients
    note = f"{share:.1%} of a core; {arrived:,} packets at each client of {messages:,} messages"
    return Row(f"ghost, to {clients} client{'s' * (clients > 1)}", cpu_ns / messages / 1e3, note)


@contextmanager
def _peers(open_link: OpenLink) -> Iterator[tuple[list[Peer], Loop]]:
    with ExitStack() as stack:
        peers = []
        for name, (module, companion) in PEERS.items():
            descriptor, url = stack.enter_context(open_link())
            controller = FlightController(descriptor)
            running = stack.enter_context(_running(module, companion, url))
            peers.append(Peer(name, controller, running))
        loop = Loop([peer.controller for peer in peers])

        def tell(_: int) -> None:
            for peer in peers:
                peer.controller.tell_state()

        def unready() -> list[Companion]:
            return [peer.companion for peer in peers if not peer.controller.latencies_us]

        _start(loop, tell, unready)
        for peer in peers:
            peer.controller.is_silent = True
            peer.companion.pause()
        yield peers, loop


def _start(
    loop: Loop, act: Callable[[int], None], unready: Callable[[], Sequence[Companion]]
) -> None:
    """Let companions find their flight controller."""
    end_ns = time.monotonic_ns() + START_S * 1_000_000_000
    while companions := unready():
        loop.run_at(50, 5, act)
        for companion in companions:
            companion.check()
        if time.monotonic_ns() > end_ns:
            said = "; ".join(f"{one.name}: {one.last_words()}" for one in companions)
            raise StalledError(f"not ready in {START_S} s: {said}")


def _measure(peer: Peer, loop: Loop, rate_hz: int, states: int) -> None:
    controller, companion = peer.controller, peer.companion

    def tell(_: int) -> None:
        controller.tell_state()

    def is_answered() -> bool:
        return not controller.sent_ns

    with _turn(peer):
        # One that was stopped waits for a heartbeat that is younger than what it finds waiting.
        for _ in range(AWAKE_BEATS):
            loop.run(time.monotonic_ns() + AWAKE_NS)
            controller.beat()
        loop.run_at(rate_hz, WARM_UP_STATES, tell)
        loop.run_until(is_answered, LAST_ANSWER_NS)
        controller.sent_ns.clear()
        controller.latencies_us.clear()
        start_ns, start_cpu_ns = time.monotonic_ns(), companion.cpu_ns
        loop.run_at(rate_hz, states, tell)
        loop.run_until(is_answered, LAST_ANSWER_NS)
        peer.cpu_ns += companion.cpu_ns - start_cpu_ns
        peer.duration_ns += time.monotonic_ns() - start_ns
    peer.states += states
    peer.latencies_us += controller.latencies_us
    if not controller.latencies_us:
        companion.check()
        raise StalledError(f"{companion.name} answered no state: {companion.last_words()}")


@contextmanager
def _turn(peer: Peer) -> Iterator[None]:
    """The others stand still meanwhile, and nothing holds us up: we are a board of our own."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    peer.companion.resume()
    peer.controller.is_silent = False
    peer.controller.beat()
    gc.disable()
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)
        gc.enable()
        peer.controller.is_silent = True
        peer.companion.pause()


def _row(peer: Peer) -> LatencyRow:
    answers = len(peer.latencies_us)
    lost = f", {peer.states - answers} unanswered" if answers < peer.states else ""
    note = f"{peer.cpu_ns / peer.duration_ns:.1%} of a core, {answers} answers{lost}"
    return LatencyRow(peer.name, peer.latencies_us, peer.cpu_ns / answers / 1e3, note)


def _logged_in_last(duration_ns: int, folder: Path) -> int:
    reader = LogReader(folder)
    names = [name for name, channel in reader.channels.items() if channel.derived_from is None]
    stamps_ns = [record.stamp_ns for record in reader.raw(names)]
    start_ns = max(stamps_ns) - duration_ns
    return sum(stamp_ns > start_ns for stamp_ns in stamps_ns)


def _flood(controller: FlightController) -> Callable[[int], None]:
    """Sends one message a call: HIGHRES_IMU, or ODOMETRY every so often."""
    noise = np.random.Generator(np.random.Philox(7)).standard_normal((1000, 13)).tolist()
    calls = count()

    def send(_: int) -> None:
        index = next(calls)
        if index % ODOMETRY_EVERY == 0:
            controller.tell_state()
        else:
            controller.send(_imu(index, noise[index % 1000]))

    return send


def _imu(index: int, values: list[float]) -> Message:
    updated = 0x1FFF if index % OTHER_SENSORS_EVERY == 0 else 0x3F
    return dialect.MAVLink_highres_imu_message(time.monotonic_ns() // 1000, *values, updated)


def _client(port: int) -> socket.socket:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.connect(("127.0.0.1", port))
    return client


@contextmanager
def _running(*module_and_arguments: str) -> Iterator[Companion]:
    companion = Companion(*module_and_arguments)
    try:
        yield companion
    finally:
        companion.end()
