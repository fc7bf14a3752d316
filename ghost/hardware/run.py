"""One run of a flight controller: what it streams, what it is asked for, how it is."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_bridge import modes
from firmware_bridge.hub import Received
from firmware_bridge.messages import dialect, id_of
from firmware_bridge.notices import Change, Notices, Text
from firmware_bridge.timesync import TimeSync
from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import Clock
from ghost.core.errors import RefusedError, StalledError
from ghost.hal import (
    Action,
    ActionAck,
    EnvelopeGate,
    SafetyEnvelope,
    SensorKind,
    SensorSpec,
    VehicleState,
)
from ghost.hardware import translate
from ghost.hardware.presence import Presence
from ghost.hardware.provider import JUDGE_NS, StreamProvider
from ghost.hardware.sink import SetpointSink
from ghost.hardware.status import StatusBook

FIRST_NS = 10_000_000_000
"""How long is waited for what nothing goes without; one that boots needs some seconds."""
LISTEN_NS = 1_500_000_000
"""How long is waited for each stream that was asked for; what hasn't come by then isn't there."""
ANSWER_NS = 300_000_000
"""Nothing else is done meanwhile, set-points included, and PX4 bears half a second without."""
LOOK_NS = 100_000_000
FORCE = 21196.0
HEARTBEAT_NS = 3_000_000_000
"""PX4 beats once a second, and v1.18 refuses to beat more often; two may be lost."""
LATEST_NS = 500_000_000
"""A stamp further back than that is of another clock: the flight controller has been restarted."""

RATES_HZ = {
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
    "status": (SensorKind.STATUS, "EXTENDED_SYS_STATE"),
}
_NEEDED = ("status", "vehicle")
_LIFTING = (Action.ARM, Action.TAKEOFF, Action.OFFBOARD)
"""A vehicle that somebody else armed is not ours to fly, either."""
_URGENT = (Action.ARM, Action.KILL)
"""Asked for without a look at who has the vehicle."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for every run of a backend."""

    envelope: SafetyEnvelope
    rotor_count: int
    allow_arming: bool
    on_text: Callable[[int, str], None]
    on_change: Callable[[Change], None]
    answer_ns: int = ANSWER_NS


class Run:
    """From start to stop."""

    def __init__(self, terms: Terms, clock: Clock, vehicle: Vehicle) -> None:
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
        self._presence = Presence(clock.now_ns())
        sink = SetpointSink(clock, vehicle, terms.rotor_count, self._is_behind)
        self.gate = EnvelopeGate(sink, terms.envelope, clock, position=self._position)
        self._resets = self._restarts = 0
        # Before the listeners: what they tell is as new as what it knows.
        self._notices = Notices(vehicle, on_text=self._on_text, on_change=terms.on_change)
        self._listen()
        self.identity = vehicle.identify()
        self._ask_for_streams()
        for name in _NEEDED:
            self._wait_for(name)
        self.providers = self._heard_in(LISTEN_NS)
        self._presence = Presence(clock.now_ns())  # getting ready is no absence
        vehicle.hub.every(JUDGE_NS, self._judge)
        vehicle.hub.every(LOOK_NS, self._look)

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        """Asked once, and answered soon or not: whoever needs it asks again."""
        own = self._own_refusal(action, altitude_m) or self._unseen_change(action)
        if own:
            return self._ack(action, accepted=False, detail=own)
        try:
            self._ask(action, altitude_m)
        except (RefusedError, StalledError) as error:
            detail = f"{error}; {self._book.complaint}" if self._book.complaint else str(error)
            return self._ack(action, accepted=False, detail=detail)
        return self._ack(action, accepted=True, detail="")

    def _own_refusal(self, action: Action, altitude_m: float) -> str:
        """What the flight controller isn't even asked for; empty when it is."""
        if action is Action.MANUAL:
            return "manual modes are the pilot's to choose"
        if self.gate.killed and action not in (Action.KILL, Action.DISARM):
            return "killed; start anew before arming again"
        if action in _LIFTING and not self._terms.allow_arming:
            return "arming is not allowed in this run; give --allow-arming"
        if action is Action.TAKEOFF and self._altitude_amsl_m is None:
            return "the flight controller has not said how high it is"
        if action is Action.TAKEOFF and not altitude_m > 0.0:
            return f"take-off to {altitude_m:g} m; expected above 0"
        return ""

    def _unseen_change(self, action: Action) -> str:
        """PX4 tells its mode once a second, and whoever asks knows no newer one. A pilot who took
        the vehicle meanwhile keeps it: whoever asks is told, and decides anew.
        """
        if action in _URGENT or not self._book.is_armed:
            return ""
        known = self.vehicle.mode
        with suppress(RefusedError, StalledError):
            self.vehicle.request("HEARTBEAT", within_ns=LOOK_NS, retries=0)
        now = self.vehicle.mode
        return "" if now == known else f"the mode has just changed from {known} to {now}"

    def _look(self, now_ns: int) -> None:
        """Who has the vehicle, ten times a second and not once: an answer isn't waited for."""
        del now_ns
        if self._book.is_armed:
            self.vehicle.ask_for("HEARTBEAT")

    def _ask(self, action: Action, altitude_m: float) -> None:
        arm_disarm = dialect.MAV_CMD_COMPONENT_ARM_DISARM
        match action:
            case Action.ARM:
                self._command(arm_disarm, 1.0)
            case Action.DISARM:
                self._command(arm_disarm, 0.0)
            case Action.KILL:
                self._book.killed = True
                self.gate.kill()
                self._command(arm_disarm, 0.0, FORCE)
            case Action.TAKEOFF:
                nan = math.nan
                height_m = (self._altitude_amsl_m or 0.0) + altitude_m
                self._command(dialect.MAV_CMD_NAV_TAKEOFF, nan, 0.0, 0.0, nan, nan, nan, height_m)
            case _:
                mode = modes.mode_named(action.name)
                flag = float(modes.CUSTOM_MODE_FLAG)
                self._command(dialect.MAV_CMD_DO_SET_MODE, flag, mode.main, mode.sub)

    def _command(self, number: int, *parameters: float) -> None:
        answer_ns = self._terms.answer_ns
        self.vehicle.command(
            number, *parameters, within_ns=answer_ns, retries=0, progress_ns=answer_ns
        )

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
        hub.on("EXTENDED_SYS_STATE", self._on_extended)
        hub.on("SYS_STATUS", self._of_mine(self._book.on_sys_status))
        hub.on("HOME_POSITION", self._of_mine(self._book.on_home))
        hub.on("GLOBAL_POSITION_INT", self._of_mine(self._on_global))

    def _ask_for_streams(self) -> None:
        for name, rate_hz in RATES_HZ.items():
            try:
                self.vehicle.set_interval(name, rate_hz)
            except RefusedError:
                continue  # a stream that this firmware lacks: its sensor isn't there
        with suppress(RefusedError, StalledError):  # it has none before its first fix
            self._book.on_home(self.vehicle.request("HOME_POSITION", retries=0))

    def _ask_again_for_streams(self) -> None:
        """Without waiting for answers: a flight controller that restarted has forgotten them."""
        for name, rate_hz in RATES_HZ.items():
            self.vehicle.send(
                dialect.MAVLink_command_long_message(
                    self.vehicle.system or 0,
                    self.vehicle.component,
                    dialect.MAV_CMD_SET_MESSAGE_INTERVAL,
                    0,
                    id_of(name),
                    1e6 / rate_hz,
                    *[0.0] * 5,
                )
            )

    def _wait_for(self, name: str) -> None:
        message = _SENSORS[name][1]
        try:
            self.vehicle.hub.spin_until(
                lambda: self.providers[name].is_heard,
                within_ns=FIRST_NS,
                what=f"waiting for {message}",
            )
        except StalledError as error:
            raise StalledError(
                f"{error}; the flight controller has no estimate yet, or streams none on this "
                "link: check EKF2 and MAV_x_MODE"
            ) from None

    def _heard_in(self, duration_ns: int) -> dict[str, StreamProvider]:
        """Those that stream, each at the rate that it has: a slow link doesn't give all."""
        before = {name: provider.sequence for name, provider in self.providers.items()}
        self.vehicle.hub.spin(self.clock.now_ns() + duration_ns)
        heard = {}
        for name, provider in self.providers.items():
            if count := provider.sequence - before[name]:
                provider.slow_down(duration_ns // count)
            if count or name in _NEEDED:
                heard[name] = provider
        return heard

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
        if not 0 <= received.at_ns - measured_ns < LATEST_NS:
            return received.at_ns
        return measured_ns

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
        self._presence.hear()
        self._follow()
        is_restarted = self.sync.restarts != self._restarts
        if self.sync.resets != self._resets:
            self._resets, self._restarts = self.sync.resets, self.sync.restarts
            how = "it was restarted" if is_restarted else f"{self.sync.jumped_ns / 1e9:+.3f} s"
            text = f"the flight controller's clock has jumped: {how}"
            self._terms.on_text(dialect.MAV_SEVERITY_WARNING, text)
        if is_restarted or self.providers["status"].is_offline:
            self._ask_again_for_streams()
        self._tell_status(received)

    def _on_extended(self, received: Received) -> None:
        """Several times between two heartbeats: a status that is a second old is an old one."""
        if self.vehicle.is_mine(received):
            self._book.on_extended(received.message)
            if received.at_ns - (self.vehicle.heard_ns or 0) < HEARTBEAT_NS:
                self._tell_status(received)

    def _tell_status(self, received: Received) -> None:
        provider = self.providers["status"]
        self._book.unhealthy = self._notices.unhealthy
        provider.push(self._book.status(received.at_ns, provider.sequence), received.at_ns)

    def _on_global(self, message: Any) -> None:
        self._altitude_amsl_m = message.alt / 1e3

    def _on_text(self, text: Text) -> None:
        if text.severity <= dialect.MAV_SEVERITY_WARNING:
            self._book.complaint = text.text
        self._terms.on_text(text.severity, text.text)

    def _follow(self) -> None:
        """The gate's arming is the flight controller's."""
        if self._book.is_armed != self.gate.armed and not self.gate.killed:
            if self._book.is_armed:
                self.gate.arm()
            else:
                self.gate.disarm()

    def _judge(self, now_ns: int) -> None:
        self._presence.look(now_ns, self.vehicle.hub.has_unread)
        is_any_silent = any(one.is_silent(now_ns) for one in self.providers.values())
        if is_any_silent and self.vehicle.hub.has_unread():  # it may be we who didn't listen
            return
        for provider in self.providers.values():
            provider.judge(now_ns)

    def _is_behind(self, now_ns: int) -> bool:
        return self._presence.is_behind(now_ns)

    def _position(self) -> NDArray[np.float64] | None:
        newest = self.providers["vehicle"].poll() if "vehicle" in self.providers else None
        return newest.position_enu_m if isinstance(newest, VehicleState) else None
