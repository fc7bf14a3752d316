"""A flight controller for the bridge's benchmark, and the processes that it talks to."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from firmware_bridge.frame import Frame, Framer
from firmware_bridge.messages import Message, decode, dialect, encode, id_of
from firmware_bridge.modes import ARMED_FLAG, CUSTOM_MODE_FLAG, mode_named
from ghost.core.errors import StalledError
from tests.firmware_bridge.link_rig import free_port, heartbeat

READ_BYTES = 65_536
SLOW_NS = 201_000_000
"""No multiple of any rate's period: now close to a state, now far from one."""
BEAT_EVERY = 5
STEP_NS = 1_000_000
SETPOINT, TIMESYNC = id_of("SET_POSITION_TARGET_LOCAL_NED"), id_of("TIMESYNC")
COMMANDS = (id_of("COMMAND_LONG"), id_of("COMMAND_INT"))


@dataclass(eq=False)
class FlightController:
    """One end of a link: armed in OFFBOARD, and it answers what a companion asks. How far
    north a state is, is its number, and that of the set-point which answers it.
    """

    descriptor: int
    latencies_us: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        os.set_blocking(self.descriptor, False)
        self.sent_ns: dict[int, int] = {}
        """When each state that has no answer yet was sent."""
        self.is_silent = False
        self._states = 0
        self._sequence = 0
        self._framer = Framer()

    def tell_state(self) -> None:
        self._states += 1
        state = _odometry(time.monotonic_ns() // 1000, float(self._states))
        self.sent_ns[self._states] = self.send(state)

    def beat(self) -> None:
        self.send(
            heartbeat(
                base_mode=ARMED_FLAG | CUSTOM_MODE_FLAG,
                custom_mode=mode_named("OFFBOARD").custom_mode,
                system_status=dialect.MAV_STATE_ACTIVE,
            )
        )

    def send(self, message: Message) -> int:
        """The time just before it left."""
        self._sequence = self._sequence + 1 & 0xFF
        raw = encode(message, system=1, component=1, sequence=self._sequence)
        sent_ns = time.monotonic_ns()
        with suppress(BlockingIOError, ConnectionRefusedError):  # nobody reads there yet
            os.write(self.descriptor, raw)
        return sent_ns

    def receive(self) -> None:
        try:
            data = os.read(self.descriptor, READ_BYTES)
        except (BlockingIOError, ConnectionRefusedError):
            return
        now_ns = time.monotonic_ns()
        for frame in self._framer.feed(data):
            self._take(frame, now_ns)

    def _take(self, frame: Frame, now_ns: int) -> None:
        message: Message = decode(frame)
        if frame.message_id == SETPOINT:
            sent_ns = self.sent_ns.pop(round(message.x), None)
            if sent_ns is not None:  # else one that is repeated
                self.latencies_us.append((now_ns - sent_ns) / 1e3)
        elif frame.message_id == TIMESYNC and message.tc1 == 0:
            self.send(dialect.MAVLink_timesync_message(time.monotonic_ns(), message.ts1))
        elif frame.message_id in COMMANDS:
            self._obey(message)

    def _obey(self, command: Message) -> None:
        done = dialect.MAV_RESULT_ACCEPTED
        self.send(dialect.MAVLink_command_ack_message(command.command, done))
        if command.command == dialect.MAV_CMD_REQUEST_MESSAGE:
            if command.param1 == id_of("AUTOPILOT_VERSION"):
                self.send(_version())
            elif command.param1 == id_of("HOME_POSITION"):
                self.send(_home())


class Loop:
    """Lets any number of flight controllers hear, answer and beat."""

    def __init__(
        self, controllers: Sequence[FlightController], *, drained: Sequence[int] = ()
    ) -> None:
        """Drained are further sockets of which everything is read and nothing is kept but how
        many packets came.
        """
        self.packets = 0
        self._by_number = {one.descriptor: one for one in controllers}
        self._drained = drained
        self._slow_ns = 0
        self._slow_count = 0

    def run(self, until_ns: int) -> None:
        while (now_ns := time.monotonic_ns()) < until_ns:
            if now_ns >= self._slow_ns:
                self._tell_slow(now_ns)
            wake_ns = min(until_ns, self._slow_ns)
            numbers = [*self._by_number, *self._drained]
            seconds = max(wake_ns - time.monotonic_ns(), 0) / 1e9
            for number in select.select(numbers, [], [], seconds)[0]:
                if number in self._by_number:
                    self._by_number[number].receive()
                else:
                    self._drain(number)

    def run_until(self, is_done: Callable[[], bool], within_ns: int) -> None:
        """Not longer than that, whether it is done or not."""
        end_ns = time.monotonic_ns() + within_ns
        while not is_done() and (now_ns := time.monotonic_ns()) < end_ns:
            self.run(now_ns + STEP_NS)

    def run_at(self, rate_hz: int, count: int, act: Callable[[int], None]) -> None:
        """Call act with 0, 1, 2..., at absolute deadlines."""
        period_ns = 1_000_000_000 // rate_hz
        start_ns = time.monotonic_ns()
        for index in range(count):
            self.run(start_ns + (index + 1) * period_ns)
            act(index)

    def _tell_slow(self, now_ns: int) -> None:
        self._slow_ns = now_ns + SLOW_NS
        for controller in self._by_number.values():
            if controller.is_silent:
                continue
            controller.send(dialect.MAVLink_extended_sys_state_message(0, 2))
            if self._slow_count % BEAT_EVERY == 0:
                controller.beat()
        self._slow_count += 1

    def _drain(self, number: int) -> None:
        with suppress(BlockingIOError, ConnectionRefusedError):
            while os.read(number, READ_BYTES):
                self.packets += 1


class Companion:
    """A process of ours, python -m tests.bench.MODULE; what it says is shown if it fails."""

    def __init__(self, *module_and_arguments: str) -> None:
        module, *arguments = module_and_arguments
        self.name = " ".join(module_and_arguments)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.bench.{module}", *arguments],
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    @property
    def cpu_ns(self) -> int:
        """Of all its threads, by the kernel's clock for that process: clock_getcpuclockid(3)."""
        return time.clock_gettime_ns(~self._process.pid << 3 | 2)

    def check(self) -> None:
        if self._process.poll() is not None:
            raise StalledError(f"{self.name} ended by itself: {self.last_words()}")

    def last_words(self) -> str:
        self._said.seek(0)
        return self._said.read()[-2000:].decode(errors="replace").strip() or "it said nothing"

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self, within_s: float = 5.0) -> None:
        self._process.terminate()
        self.resume()
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(within_s)
        self._said.close()


@contextmanager
def udp_link() -> Iterator[tuple[int, str]]:
    """A descriptor for a flight controller, and the URL for its companion."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.connect(("127.0.0.1", port))
        yield ours.fileno(), f"udpin://127.0.0.1:{port}"


@contextmanager
def pty_link() -> Iterator[tuple[int, str]]:
    master, slave = os.openpty()  # kept open: else our end hangs up when nobody has theirs open
    tty.setraw(slave)
    try:
        yield master, f"serial://{os.ttyname(slave)}:921600"
    finally:
        os.close(master)
        os.close(slave)


def _odometry(time_usec: int, north_m: float) -> Message:
    level, still, known = [1.0, 0.0, 0.0, 0.0], [0.0] * 3, [0.01] * 21
    return dialect.MAVLink_odometry_message(
        time_usec, 1, 1, north_m, 0.0, -10.0, level, *still, *still, known, known
    )


def _version() -> Message:
    none = [0] * 8
    return dialect.MAVLink_autopilot_version_message(
        0, 0x01120000, 0, 0, 1, none, none, none, 0, 0, 0x1234567890ABCDEF
    )


def _home() -> Message:
    level, none = [1.0, 0.0, 0.0, 0.0], [0.0] * 3
    return dialect.MAVLink_home_position_message(0, 0, 488_000, *none, level, *none)
