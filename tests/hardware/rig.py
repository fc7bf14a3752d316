"""A flight controller that follows a script, at the other end of a real UDP socket."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from firmware_bridge import modes
from firmware_bridge.hub import Received
from firmware_bridge.messages import Message, dialect, id_of
from ghost.deploy import load_robot
from ghost.hardware.px4 import Px4Backend
from tests.firmware_bridge.link_rig import free_port, heartbeat
from tests.firmware_bridge.peer import BEAT_NS, Clock, Peer

MS = 1_000_000
STREAMS: tuple[str, ...] = (
    "ODOMETRY",
    "HIGHRES_IMU",
    "GPS_RAW_INT",
    "BATTERY_STATUS",
    "SYS_STATUS",
    "EXTENDED_SYS_STATE",
    "GLOBAL_POSITION_INT",
)
STREAM_NS = 20 * MS
PREARM = dialect.MAV_SYS_STATUS_PREARM_CHECK


@dataclass
class Autopilot:
    """Answers as PX4 does. What it streams and refuses may be changed while it runs."""

    streams: tuple[str, ...] = STREAMS
    refuses: tuple[int, ...] = ()
    in_progress: tuple[int, ...] = ()
    is_mute: bool = False
    loses: int = 0
    """So many of the next orders to change the mode."""
    boot_ns: int = field(default_factory=time.monotonic_ns)
    landed_state: int = dialect.MAV_LANDED_STATE_ON_GROUND
    commands: list[tuple[int, ...]] = field(default_factory=list)
    setpoints: list[Message] = field(default_factory=list)
    intervals: list[str] = field(default_factory=list)

    def __call__(self, peer: Peer) -> None:
        self._peer = peer
        peer.on("COMMAND_LONG", self._on_command)
        for name in ("SET_POSITION_TARGET_LOCAL_NED", "SET_ATTITUDE_TARGET"):
            peer.on(name, lambda received: self.setpoints.append(received.message))
        peer.hub.every(STREAM_NS, self._stream)
        Clock(self.boot_ns)(peer)

    def _stream(self, now_ns: int) -> None:
        for name in self.streams:
            self._peer.send(self._message(name, (now_ns - self.boot_ns) // 1000))

    def _message(self, name: str, time_usec: int) -> Message:
        match name:
            case "ODOMETRY":
                position, still = (1.0, 2.0, -3.0), (0.0, 0.0, 0.0)
                level = [1.0, 0.0, 0.0, 0.0]
                return dialect.MAVLink_odometry_message(
                    time_usec, 1, 1, *position, level, *still, *still, [0.01] * 21, [0.01] * 21
                )
            case "HIGHRES_IMU":
                values = (0.0, 0.0, -9.8, *[0.0] * 9, 25.0)
                return dialect.MAVLink_highres_imu_message(time_usec, *values, 0x3F)
            case "GPS_RAW_INT":
                return dialect.MAVLink_gps_raw_int_message(time_usec, 3, 0, 0, 0, 70, 110, 0, 0, 9)
            case "BATTERY_STATUS":
                cells = [16200] + [65535] * 9
                return dialect.MAVLink_battery_status_message(0, 1, 1, 0, cells, -1, -1, -1, 80)
            case "SYS_STATUS":
                return dialect.MAVLink_sys_status_message(0, 0, PREARM, 0, 0, -1, 80, *[0] * 6)
            case "EXTENDED_SYS_STATE":
                return dialect.MAVLink_extended_sys_state_message(0, self.landed_state)
        return dialect.MAVLink_global_position_int_message(
            time_usec // 1000, 0, 0, 488_000, 0, 0, 0, 0, 0
        )

    def _on_command(self, received: Received) -> None:
        command = received.message
        if self.is_mute:
            return
        if command.command == dialect.MAV_CMD_REQUEST_MESSAGE:
            if command.param1 == id_of("AUTOPILOT_VERSION"):
                self._peer.send(_version())
            elif command.param1 == id_of("HOME_POSITION"):
                self._peer.send(_home())
            elif command.param1 == id_of("HEARTBEAT"):
                self._peer.send(heartbeat(**self._peer.beat))
            return
        if command.command == dialect.MAV_CMD_SET_MESSAGE_INTERVAL:
            self.intervals.append(str(int(command.param1)))
        else:
            self.commands.append((command.command, command.param1, command.param2, command.param3))
        if command.command == dialect.MAV_CMD_DO_SET_MODE and self.loses:
            self.loses -= 1
            return
        if command.command in self.in_progress:
            result = dialect.MAV_RESULT_IN_PROGRESS
            self._peer.send(dialect.MAVLink_command_ack_message(command.command, result))
            return
        refused = command.command in self.refuses
        result = dialect.MAV_RESULT_DENIED if refused else dialect.MAV_RESULT_ACCEPTED
        if not refused:
            self._obey(command)
        self._peer.send(dialect.MAVLink_command_ack_message(command.command, result, 0, 0, 1, 191))

    def _obey(self, command: Any) -> None:
        beat = self._peer.beat
        if command.command == dialect.MAV_CMD_COMPONENT_ARM_DISARM:
            beat["base_mode"] = modes.ARMED_FLAG if command.param1 else 0
        elif command.command == dialect.MAV_CMD_DO_SET_MODE:
            beat["custom_mode"] = int(command.param2) << 16 | int(command.param3) << 24


@contextmanager
def flying(
    autopilot: Autopilot, *, allow_arming: bool = True, beat_ns: int = BEAT_NS, **options: Any
) -> Iterator[tuple[Px4Backend, Peer]]:
    """A backend that is started, and its flight controller."""
    port = free_port()
    with beating(autopilot, port, beat_ns) as peer:
        backend = backend_on(port, allow_arming=allow_arming, **options)
        backend.start()
        try:
            yield backend, peer
        finally:
            backend.stop()


@contextmanager
def beating(autopilot: Autopilot, port: int, beat_ns: int = BEAT_NS) -> Iterator[Peer]:
    peer = Peer(port, beat_ns=beat_ns)
    autopilot(peer)
    peer.start()
    try:
        yield peer
    finally:
        peer.stop()


def backend_on(port: int, **options: Any) -> Px4Backend:
    return Px4Backend(load_robot("x500"), links=(f"udpin://127.0.0.1:{port}",), **options)


def spin(backend: Px4Backend, duration_ms: int) -> None:
    backend.spin(backend.clock.now_ns() + duration_ms * MS)


def spin_until(backend: Px4Backend, is_done: Any, within_ms: int = 5000) -> None:
    end_ns = backend.clock.now_ns() + within_ms * MS
    while not is_done():
        assert backend.clock.now_ns() < end_ns, "nothing came of it"
        spin(backend, 10)


def _version() -> Message:
    none = [0] * 8
    return dialect.MAVLink_autopilot_version_message(
        0, 0x010E0000, 0, 0, 1, none, none, none, 0, 0, 0x1234567890ABCDEF
    )


def _home() -> Message:
    level, none = [1.0, 0.0, 0.0, 0.0], [0.0] * 3
    return dialect.MAVLink_home_position_message(0, 0, 488_000, *none, level, *none)
