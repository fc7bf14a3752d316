"""ArduPilot's Gazebo plugin as the wire sees it, with Ghost's own physics behind it. For tests.

It takes and gives what the plugin does, byte for byte: polling, counting, resending and JSON are
its own, down to the way in which it writes numbers. test_behaviour.py says what that is, and
test_real.py says the same of a real server.
"""

import math
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from ghost.core.frames import attitude_enu_to_ned
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.lightweight.physics import Multirotors
from tests.simulation.airframes import MAINS

OFFLINE_POLL_S, ONLINE_POLL_S = 0.001, 0.010
MISSES = 5
"""As the iris has it: after more silent polls than this the plugin speaks again, or gives up."""
MAGIC = {16: 18458, 32: 29569}
LOWEST_US, HIGHEST_US = 1100, 1900

Loses = Callable[[int], bool]
"""Whether the packet with that number, from 0, gets lost."""


def nothing(_number: int) -> bool:
    return False


class StandIn:
    """A server with a plugin per vehicle. The first port is a free one where none is given.

    imu_repeats: every so many steps the IMU says again what it said. silent_imu: it has never said
    anything. extras go into every answer.
    """

    def __init__(
        self,
        *airframes: Airframe,
        starts: Sequence[Start] = (),
        port: int = 0,
        step_ns: int = 1_000_000,
        channels: int = 16,
        lock_step: bool = True,
        imu_repeats: int = 0,
        silent_imu: bool = False,
        extras: str = "",
        loses_frame: Loses = nothing,
        loses_answer: Loses = nothing,
    ) -> None:
        self.step_ns, self.extras, self.lock_step = step_ns, extras, lock_step
        # Gazebo's motors don't sag.
        airframes = tuple(replace(airframe, battery=MAINS) for airframe in airframes)
        self.physics = Multirotors(airframes, starts or [Start()] * len(airframes), step_ns)
        self.time_ns = 0
        self.loses_frame, self.loses_answer = loses_frame, loses_answer
        self.held = threading.Lock()
        """Whoever has it keeps the server from reading."""
        self._imu_repeats, self._has_imu = imu_repeats, not silent_imu
        self._imu = np.zeros((len(airframes), 6))
        self._imu_next = self._imu.copy()
        self._steps = 0
        self.is_over = threading.Event()
        self.plugins = self._plugins(len(airframes), port, channels)
        self._thread = threading.Thread(target=self._run, name="gazebo stand-in", daemon=True)

    @property
    def port(self) -> int:
        return self.plugins[0].port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_over.set()
        self._thread.join(10.0)
        for plugin in self.plugins:
            plugin.socket.close()
        assert not self._thread.is_alive()

    def _plugins(self, count: int, port: int, channels: int) -> "list[Plugin]":
        """On ports 10 apart, which may be taken when the first is just any free one."""
        for _ in range(1 if port else 20):
            plugins: list[Plugin] = []
            try:
                for index in range(count):
                    first = plugins[0].port if plugins else port
                    plugins.append(Plugin(self, first + 10 * index, channels))
            except OSError:
                for plugin in plugins:
                    plugin.socket.close()
            else:
                return plugins
        raise AssertionError(f"no {count} free ports 10 apart")

    def _run(self) -> None:
        while not self.is_over.is_set():
            for plugin in self.plugins:
                plugin.before_step()
            self._step()
            for row, plugin in enumerate(self.plugins):
                plugin.after_step(self._state(row))

    def _step(self) -> None:
        felt = self.physics.felt[:, :6].copy()
        for row, plugin in enumerate(self.plugins):
            for rotor in range(self.physics.motors.shape[1]):
                self.physics.motors[row, rotor] = motor_of(plugin.pulses_us[rotor])
        self.physics.step(1)
        self.time_ns += self.step_ns
        self._steps += 1
        if not (self._imu_repeats and self._steps % self._imu_repeats == 0):
            self._imu = self._imu_next
        self._imu_next = self.physics.felt[:, :6] - felt

    def _state(self, row: int) -> bytes:
        """What the plugin writes; the IMU's words are a step old."""
        if not self._has_imu:
            return b""
        east, north, up, *velocity = self.physics.body[row, :6].tolist()
        fx, fy, fz, wx, wy, wz = self._imu[row].tolist()
        return state_json(
            self.time_ns / 1e9,
            (wx, -wy, -wz),
            (fx, -fy, -fz),
            (north, east, -up),
            attitude_enu_to_ned(self.physics.body[row, 6:10]).tolist(),
            (velocity[1], velocity[0], -velocity[2]),
            extras=self.extras,
            lock_step=self.lock_step,
        )


class Plugin:
    def __init__(self, server: StandIn, port: int, channels: int) -> None:
        self.server = server
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self.port: int = self.socket.getsockname()[1]
        self.layout = struct.Struct(f"<HHI{channels}H")
        self.magic = MAGIC[channels]
        self.pulses_us: tuple[int, ...] = (0,) * channels
        self.client: Any = None
        self.online = False
        self.frame_count = -1
        self.misses = self.heard = self.said = 0
        self.answer = b""

    def before_step(self) -> None:
        if not self.server.lock_step:
            self.receive()
            return
        while not self.receive() and self.online and not self.server.is_over.is_set():
            pass

    def after_step(self, state: bytes) -> None:
        if self.online:
            self.answer = state
            self.say()

    def receive(self) -> bool:
        """Whether there is a frame to step by."""
        packet = self.poll(ONLINE_POLL_S if self.online else OFFLINE_POLL_S)
        if packet is None:
            self.miss()
            return False
        while (newer := self.poll(0.0)) is not None:
            packet = newer
        if len(packet) < self.layout.size:
            return False
        magic, _, count, *pulses = self.layout.unpack(packet[: self.layout.size])
        if magic != self.magic:
            return False
        self.online = True
        if count % 65536 == self.frame_count:
            if self.server.lock_step:
                self.say()
            return False
        self.frame_count, self.misses = count % 65536, 0
        self.pulses_us = tuple(pulses)
        return True

    def poll(self, wait_s: float) -> bytes | None:
        ready, _, _ = select.select([self.socket], [], [], wait_s)
        if not ready:
            return None
        with self.server.held:
            packet, client = self.socket.recvfrom(self.layout.size)
        number, self.heard = self.heard, self.heard + 1
        if self.server.loses_frame(number):
            return None
        self.client = client
        return packet

    def miss(self) -> None:
        if not self.online:
            return
        self.misses += 1
        if self.misses > MISSES:
            self.misses = 0
            if self.server.lock_step:
                self.say()
            else:
                self.online = False
                self.pulses_us = (0,) * len(self.pulses_us)

    def say(self) -> None:
        number, self.said = self.said, self.said + 1
        if not self.server.loses_answer(number):
            self.socket.sendto(self.answer, self.client)


def motor_of(pulse_us: int) -> float:
    """A width of 0 is no output."""
    return min(max((pulse_us - LOWEST_US) / (HIGHEST_US - LOWEST_US), 0.0), 1.0)


def state_json(
    timestamp_s: float,
    gyro: Any,
    accel: Any,
    position: Any,
    quaternion: Any,
    velocity: Any,
    *,
    extras: str = "",
    lock_step: bool = True,
) -> bytes:
    text = (
        f'{{"timestamp":{number(timestamp_s)},"imu":{{"gyro":{array(gyro)},'
        f'"accel_body":{array(accel)}}},"position":{array(position)},'
        f'"quaternion":{array(quaternion)},"velocity":{array(velocity)},{extras}'
        f'"no_time_sync":true,"no_lockstep":{"false" if lock_step else "true"}}}'
    )
    return f"\n{text}\n".encode()


def array(values: Any) -> str:
    return f"[{','.join([number(value) for value in values])}]"


def number(value: float) -> str:
    """As rapidjson writes it: the shortest digits, and no exponent from 1e-6 to 1e21. Of what is no
    number it writes nothing at all, which leaves a hole between the commas.
    """
    if not math.isfinite(value):
        return ""
    plain = repr(value)
    if "e" not in plain:
        return plain
    mantissa, _, exponent = plain.partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}.0"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1}"
