"""PX4 behind MAVLink as a RuntimeBackend."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub, Received, text_of
from firmware_bridge.link import Link
from firmware_bridge.messages import dialect
from firmware_bridge.signing import Signer
from firmware_bridge.timesync import TimeSync
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Identity, Vehicle
from ghost.core.clock import SystemClock
from ghost.core.errors import GhostError, RefusedError, StalledError
from ghost.hal import (
    Action,
    ActionAck,
    ActuatorSpec,
    Capabilities,
    Command,
    CommandAck,
    EnvelopeGate,
    SafetyEnvelope,
    SensorKind,
    SensorSpec,
    VehicleState,
)
from ghost.hal.commands import AckStatus, RejectReason
from ghost.hardware import translate
from ghost.hardware.provider import StreamProvider
from ghost.hardware.setpoints import LEVELS, encode_command
from ghost.hardware.status import StatusBook

FIND_NS = 10_000_000_000
LISTEN_NS = 1_500_000_000
"""How long is waited for each stream that was asked for; what hasn't come by then isn't there."""
ANSWER_NS = 300_000_000
JUDGE_NS = 20_000_000

RATES_HZ = {
    "HEARTBEAT": 5.0,
    "HIGHRES_IMU": 100.0,
    "ODOMETRY": 50.0,
    "GPS_RAW_INT": 5.0,
    "BATTERY_STATUS": 2.0,
    "DISTANCE_SENSOR": 20.0,
    "EXTENDED_SYS_STATE": 5.0,
    "SYS_STATUS": 5.0,
    "GLOBAL_POSITION_INT": 5.0,
}

_SENSORS: dict[str, tuple[SensorKind, str]] = {
    "imu": (SensorKind.IMU, "HIGHRES_IMU"),
    "magnetometer": (SensorKind.MAGNETOMETER, "HIGHRES_IMU"),
    "barometer": (SensorKind.BAROMETER, "HIGHRES_IMU"),
    "gps": (SensorKind.GPS, "GPS_RAW_INT"),
    "battery": (SensorKind.BATTERY, "BATTERY_STATUS"),
    "rangefinder": (SensorKind.RANGEFINDER, "DISTANCE_SENSOR"),
    "vehicle": (SensorKind.VEHICLE, "ODOMETRY"),
    "status": (SensorKind.STATUS, "HEARTBEAT"),
}


class Px4Backend:
    """One flight controller on one or more links. start() finds it, or says what was tried."""

    def __init__(
        self,
        description: Any,
        *,
        links: tuple[str, ...],
        allow_arming: bool = False,
        make_signer: Callable[[], Signer] | None = None,
        on_news: Callable[[Link, bool, str], None] = lambda *_: None,
        on_text: Callable[[int, str], None] = lambda *_: None,
    ) -> None:
        self._endpoints = [parse_endpoint(link) for link in links]
        rotors = description.airframe.rotors if description.airframe else ()
        self._terms = _Terms(description.envelope, len(rotors) or 4, allow_arming, on_text)
        self._make_signer = make_signer
        self._on_news = on_news
        self._run: _Run | None = None

    @property
    def capabilities(self) -> Capabilities:
        run = self._current()
        return Capabilities(
            sensors=tuple(provider.spec for provider in run.providers.values()),
            command_levels=LEVELS,
            ground_truth=False,
            synchronous_step=False,
            replay=False,
            deterministic=False,
        )

    @property
    def clock(self) -> SystemClock:
        return self._current().clock

    @property
    def sensors(self) -> Mapping[str, StreamProvider]:
        return self._current().providers

    @property
    def actuators(self) -> EnvelopeGate:
        return self._current().gate

    @property
    def flight_controller(self) -> "_Run":
        return self._current()

    @property
    def identity(self) -> Identity:
        return self._current().identity

    @property
    def vehicle(self) -> Vehicle:
        """For parameters, missions and logs, which aren't the HAL's."""
        return self._current().vehicle

    def start(self) -> None:
        self.stop()
        clock = SystemClock()
        hub = Hub(clock.now_ns, system=1, component=ONBOARD_COMPUTER, on_news=self._on_news)
        try:
            for endpoint in self._endpoints:
                signer = self._make_signer() if self._make_signer is not None else None
                hub.add(endpoint, signer=signer)
            vehicle = Vehicle(hub)
            vehicle.find(FIND_NS)
            hub.system = vehicle.system or 1  # a companion is part of its vehicle
            self._run = _Run(self._terms, clock, vehicle)
        except BaseException:
            hub.close()
            raise

    def spin(self, until_ns: int) -> None:
        self._current().vehicle.hub.spin(until_ns)

    def stop(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.vehicle.hub.close()

    def _current(self) -> "_Run":
        if self._run is None:
            raise GhostError("the backend is not started; call start first")
        return self._run


@dataclass(frozen=True, slots=True)
class _Terms:
    """What holds for every run of a backend."""

    envelope: SafetyEnvelope
    rotor_count: int
    allow_arming: bool
    on_text: Callable[[int, str], None]


class _Run:
    """From start to stop."""

    def __init__(self, terms: _Terms, clock: SystemClock, vehicle: Vehicle) -> None:
        self.clock = clock
        self.vehicle = vehicle
        self._terms = terms
        self._book = StatusBook(heartbeat=vehicle.heartbeat)
        self._altitude_amsl_m: float | None = None
        self._sequence = 0
        self.sync = TimeSync(vehicle)
        self.providers = {
            name: StreamProvider(SensorSpec(name, kind, round(1e9 / RATES_HZ[message])))
            for name, (kind, message) in _SENSORS.items()
        }
        sink = _Sink(self, terms.rotor_count)
        self.gate = EnvelopeGate(sink, terms.envelope, clock, position=self._position)
        self._listen()
        self.identity = vehicle.identify()
        self._ask_for_streams()
        vehicle.hub.spin(clock.now_ns() + LISTEN_NS)
        self.providers = {
            name: provider for name, provider in self.providers.items() if provider.is_heard
        }
        if "vehicle" not in self.providers:
            raise StalledError(
                "the flight controller sends no ODOMETRY: it has no estimate of its position yet, "
                "or this link streams none; check EKF2 and MAV_x_MODE"
            )
        vehicle.hub.every(JUDGE_NS, self._judge)

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        """Asked once, and answered soon or not: whoever needs it asks again."""
        try:
            self._ask(action, altitude_m)
        except (RefusedError, StalledError) as error:
            detail = f"{error}; {self._book.complaint}" if self._book.complaint else str(error)
            return self._ack(action, accepted=False, detail=detail)
        return self._ack(action, accepted=True, detail="")

    def _ask(self, action: Action, altitude_m: float) -> None:
        vehicle = self.vehicle
        ask: dict[Action, Callable[[], None]] = {
            Action.ARM: self._arm,
            Action.DISARM: lambda: self._command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, 0.0),
            Action.KILL: self._kill,
            Action.HOLD: lambda: vehicle.set_mode("HOLD"),
            Action.TAKEOFF: lambda: self._take_off(altitude_m),
            Action.LAND: lambda: vehicle.set_mode("LAND"),
            Action.RETURN: lambda: vehicle.set_mode("RETURN"),
            Action.OFFBOARD: lambda: vehicle.set_mode("OFFBOARD"),
        }
        if action not in ask:
            raise RefusedError("manual modes are the pilot's to choose")
        ask[action]()

    def _arm(self) -> None:
        if not self._terms.allow_arming:
            raise RefusedError("arming is not allowed in this run; give --allow-arming")
        self._command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, 1.0)

    def _kill(self) -> None:
        self._book.killed = True
        self.gate.kill()
        self._command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, 0.0, 21196.0)

    def _take_off(self, altitude_m: float) -> None:
        if self._altitude_amsl_m is None:
            raise RefusedError("the flight controller has not said how high it is")
        nan = math.nan
        height_m = self._altitude_amsl_m + altitude_m
        self._command(dialect.MAV_CMD_NAV_TAKEOFF, nan, 0.0, 0.0, nan, nan, nan, height_m)

    def _command(self, number: int, *parameters: float) -> None:
        self.vehicle.command(number, *parameters, within_ns=ANSWER_NS, retries=1)

    def _ack(self, action: Action, *, accepted: bool, detail: str) -> ActionAck:
        self._sequence += 1
        return ActionAck(self.clock.now_ns(), self._sequence, action, accepted, detail)

    def _listen(self) -> None:
        hub = self.vehicle.hub
        hub.on("HIGHRES_IMU", self._on_imu)
        for message, name, read in (
            ("GPS_RAW_INT", "gps", translate.gps),
            ("BATTERY_STATUS", "battery", translate.battery),
            ("DISTANCE_SENSOR", "rangefinder", translate.rangefinder),
            ("ODOMETRY", "vehicle", translate.state),
        ):
            hub.on(message, self._reader(name, read))
        hub.on("HEARTBEAT", self._on_heartbeat)
        hub.on("EXTENDED_SYS_STATE", self._of_mine(self._book.on_extended))
        hub.on("SYS_STATUS", self._of_mine(self._book.on_sys_status))
        hub.on("HOME_POSITION", self._of_mine(self._book.on_home))
        hub.on("GLOBAL_POSITION_INT", self._of_mine(self._on_global))
        hub.on("STATUSTEXT", self._of_mine(self._on_statustext))

    def _ask_for_streams(self) -> None:
        for name, rate_hz in RATES_HZ.items():
            try:
                self.vehicle.set_interval(name, rate_hz)
            except RefusedError:
                continue  # a stream that this firmware lacks: its sensor isn't there
        with suppress(StalledError):  # it has none before its first fix
            self._book.on_home(self.vehicle.request("HOME_POSITION", retries=0))

    def _of_mine(self, take: Callable[[Any], None]) -> Callable[[Received], None]:
        def handler(received: Received) -> None:
            if self.vehicle.is_mine(received):
                take(received.message)

        return handler

    def _reader(
        self, name: str, read: Callable[[Any, int, int], Any]
    ) -> Callable[[Received], None]:
        provider = self.providers[name]

        def handler(received: Received) -> None:
            if self.vehicle.is_mine(received):
                stamp_ns = self._stamp_ns(received)
                sample = read(received.message, stamp_ns, provider.sequence)
                provider.push(sample, received.at_ns)

        return handler

    def _stamp_ns(self, received: Received) -> int:
        """When it was measured, by the flight controller's clock; when it came, without one."""
        message = received.message
        if not self.sync.is_synced:
            return received.at_ns
        if hasattr(message, "time_usec"):
            measured_ns = self.sync.to_run_ns(message.time_usec)
        elif hasattr(message, "time_boot_ms"):
            measured_ns = self.sync.boot_ms_to_run_ns(message.time_boot_ms)
        else:
            return received.at_ns
        return min(measured_ns, received.at_ns)

    def _on_imu(self, received: Received) -> None:
        if not self.vehicle.is_mine(received):
            return
        message, stamp_ns = received.message, self._stamp_ns(received)
        for name, is_there, read in (
            ("imu", translate.has_imu, translate.imu),
            ("magnetometer", translate.has_magnetometer, translate.magnetometer),
            ("barometer", translate.has_barometer, translate.barometer),
        ):
            provider = self.providers.get(name)
            if provider is not None and is_there(message):
                provider.push(read(message, stamp_ns, provider.sequence), received.at_ns)

    def _on_heartbeat(self, received: Received) -> None:
        if not self.vehicle.is_mine(received):
            return
        self._book.heartbeat = received.message
        self._follow()
        provider = self.providers["status"]
        provider.push(self._book.status(received.at_ns, provider.sequence), received.at_ns)

    def _on_global(self, message: Any) -> None:
        self._altitude_amsl_m = message.alt / 1e3

    def _on_statustext(self, message: Any) -> None:
        text = text_of(message.text)
        if message.severity <= dialect.MAV_SEVERITY_WARNING:
            self._book.complaint = text
        self._terms.on_text(message.severity, text)

    def _follow(self) -> None:
        """The gate's arming is the flight controller's."""
        if self._book.is_armed != self.gate.armed and not self.gate.killed:
            if self._book.is_armed:
                self.gate.arm()
            else:
                self.gate.disarm()

    def _judge(self, now_ns: int) -> None:
        for provider in self.providers.values():
            provider.judge(now_ns)

    def _position(self) -> NDArray[np.float64] | None:
        newest = self.providers["vehicle"].poll() if "vehicle" in self.providers else None
        return newest.position_enu_m if isinstance(newest, VehicleState) else None


class _Sink:
    """Sends a set-point when it is given one, and at no other time: what computes them is what
    keeps the flight controller in OFFBOARD.
    """

    def __init__(self, run: _Run, rotor_count: int) -> None:
        self._run = run
        self.spec = ActuatorSpec(LEVELS, rotor_count)

    def send(self, command: Command) -> CommandAck:
        run = self._run
        vehicle = run.vehicle
        now_ns = run.clock.now_ns()
        vehicle.send(
            encode_command(
                command,
                boot_ms=now_ns // 1_000_000 & 0xFFFFFFFF,
                system=vehicle.system or 0,
                component=vehicle.component,
            )
        )
        return CommandAck(
            now_ns,
            command.stamp_ns,
            command.sequence,
            AckStatus.ACCEPTED,
            RejectReason.NONE,
            "",
            command,
        )
