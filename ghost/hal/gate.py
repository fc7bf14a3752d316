"""The envelope gate: the one piece of code between any command and any actuator.

Checks run in a fixed order and the first that fails names the reason: type and finiteness,
physical range, staleness and order, level, arming, safety envelope. What passes but is too fast,
too steep or too quick is saturated, and the ack carries what was really applied.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core.clock import Clock
from ghost.core.errors import shown
from ghost.hal.capabilities import ActuatorSpec
from ghost.hal.commands import (
    LEVELS,
    AckStatus,
    Command,
    CommandAck,
    PositionCommand,
    RejectReason,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.hal.envelope import SafetyEnvelope
from ghost.hal.message import array_fields
from ghost.hal.protocols import ActuatorSink
from ghost.hal.saturation import saturate

Refusal = tuple[RejectReason, str]
PositionSource = Callable[[], NDArray[np.float64] | None]

_INT64_MAX = 2**63 - 1
_LARGEST = 1.7976931348623157e308
_ARRAYS = {kind: array_fields(kind) for kind in LEVELS}
_SCALARS = {
    kind: tuple(
        field.name
        for field in fields(kind)
        if field.name not in _ARRAYS[kind] and field.name not in ("stamp_ns", "sequence")
    )
    for kind in LEVELS
}


class EnvelopeGate:
    """Wraps a sink and is one. Holds arming, the kill latch and the command timeout."""

    __slots__ = (
        "_armed_at_ns",
        "_clock",
        "_envelope",
        "_killed",
        "_last_accepted_ns",
        "_last_sequence",
        "_last_stamp_ns",
        "_position",
        "_sink",
    )

    def __init__(
        self,
        sink: ActuatorSink,
        envelope: SafetyEnvelope,
        clock: Clock,
        *,
        position: PositionSource = lambda: None,
    ) -> None:
        """Position is the vehicle's own estimate in ENU; without it, velocity isn't fenced."""
        self._sink = sink
        self._envelope = envelope
        self._clock = clock
        self._position = position
        self._armed_at_ns: int | None = None
        self._killed = False
        self._forget_commands()

    @property
    def spec(self) -> ActuatorSpec:
        return self._sink.spec

    @property
    def armed(self) -> bool:
        return self._armed_at_ns is not None

    @property
    def killed(self) -> bool:
        return self._killed

    def arm(self) -> bool:
        """Let commands through. False after a kill, until reset."""
        if self._killed:
            return False
        if self._armed_at_ns is None:
            self._armed_at_ns = self._clock.now_ns()
            self._forget_commands()
        return True

    def disarm(self) -> None:
        self._armed_at_ns = None

    def kill(self) -> None:
        """Disarm, and refuse everything until reset."""
        self._killed = True
        self._armed_at_ns = None

    def reset(self) -> None:
        self._killed = False
        self._armed_at_ns = None
        self._forget_commands()

    def command_timed_out(self) -> bool:
        """Whether the vehicle is armed and has had no accepted command for the timeout."""
        if self._armed_at_ns is None:
            return False
        since_ns = max(self._armed_at_ns, self._last_accepted_ns)
        return self._clock.now_ns() - since_ns > self._envelope.command_timeout_ns

    def send(self, command: Command) -> CommandAck:
        now_ns = self._clock.now_ns()
        refusal = self._refusal(command, now_ns)
        if refusal is not None:
            return _ack(command, now_ns, AckStatus.REJECTED, *refusal, applied=None)
        applied = saturate(command, self._envelope)
        answer, failure = self._answer(applied)
        if answer is None:
            return _ack(
                command, now_ns, AckStatus.REJECTED, RejectReason.SINK_FAILED, failure, applied=None
            )
        if not answer.accepted:
            # Stamped here: a flight controller's own time may lag behind the clock.
            return _ack(
                command, now_ns, AckStatus.REJECTED, answer.reason, answer.detail, applied=None
            )
        self._last_accepted_ns = now_ns
        self._last_stamp_ns, self._last_sequence = command.stamp_ns, command.sequence
        untouched = applied is command and answer.status is AckStatus.ACCEPTED
        return _ack(
            command,
            now_ns,
            AckStatus.ACCEPTED if untouched else AckStatus.SATURATED,
            RejectReason.NONE,
            answer.detail,
            applied=answer.applied if answer.applied is not None else applied,
        )

    def _answer(self, command: Command) -> tuple[CommandAck | None, str]:
        """The sink's answer, or None and why there is none."""
        try:
            answer: object = self._sink.send(command)
        except Exception as error:  # noqa: BLE001 - a sink that raises must not take the loop down
            return None, _told(error)
        if type(answer) is not CommandAck:
            return None, f"the sink answered {shown(answer)}; expected a CommandAck"
        return answer, ""

    def _refusal(self, command: Command, now_ns: int) -> Refusal | None:
        spec = self.spec
        return (
            _malformed(command, spec)
            or _not_finite(command)
            or _out_of_range(command, spec)
            or self._stale(command, now_ns)
            or self._unsupported(command)
            or self._not_armed()
            or self._outside_envelope(command)
        )

    def _stale(self, command: Command, now_ns: int) -> Refusal | None:
        age_ns = now_ns - command.stamp_ns
        if age_ns < 0:
            return RejectReason.STALE, f"stamped {-age_ns} ns in the future"
        if age_ns > self._envelope.max_command_age_ns:
            limit_ns = self._envelope.max_command_age_ns
            return RejectReason.STALE, f"{age_ns} ns old; the limit is {limit_ns} ns"
        last = (self._last_stamp_ns, self._last_sequence)
        if command.stamp_ns < last[0] or command.sequence <= last[1]:
            return (
                RejectReason.OUT_OF_ORDER,
                f"stamp {command.stamp_ns} sequence {command.sequence} after {last[0]} {last[1]}",
            )
        return None

    def _unsupported(self, command: Command) -> Refusal | None:
        level = LEVELS[type(command)]
        if level in self.spec.levels:
            return None
        offered = ", ".join(offer.name for offer in self.spec.levels)
        return RejectReason.UNSUPPORTED_LEVEL, f"{level.name}; this vehicle takes {offered}"

    def _not_armed(self) -> Refusal | None:
        if self._killed:
            return RejectReason.KILLED, "killed; reset before arming again"
        if self._armed_at_ns is None:
            return RejectReason.NOT_ARMED, "disarmed; arm first"
        return None

    def _outside_envelope(self, command: Command) -> Refusal | None:
        match command:
            case PositionCommand() | TrajectoryCommand():
                return self._outside(command.position_enu_m.tolist(), None)
            case VelocityCommand():
                return self._leads_outside(command)
        return None

    def _leads_outside(self, command: VelocityCommand) -> Refusal | None:
        """A source that says None doesn't know; one that fails must not lift the fence."""
        try:
            here = self._position()
            usable = here is None or _is_finite_vector3(here)
        except Exception as error:  # noqa: BLE001 - nor may it take the loop down
            return RejectReason.GEOFENCE, f"no position to judge from: {_told(error)}"
        if not usable:
            return RejectReason.GEOFENCE, f"position is {shown(here)}; expected 3 finite numbers"
        if here is None:
            return None
        seconds = self._envelope.lookahead_ns / 1e9
        velocity = saturate(command, self._envelope).velocity_enu_mps
        return self._outside((here + velocity * seconds).tolist(), here.tolist())

    def _outside(self, target_m: list[float], here_m: list[float] | None) -> Refusal | None:
        """Refuse a target outside, unless it leads back: nearer to the inside than here."""
        envelope = self._envelope
        outside_m = envelope.outside_fence_m(target_m[0], target_m[1])
        now_m = envelope.outside_fence_m(here_m[0], here_m[1]) if here_m else 0.0
        if outside_m > 0.0 and not outside_m < now_m:
            return RejectReason.GEOFENCE, f"leads {outside_m:.2f} m outside the fence"
        beyond_m = _beyond_band_m(envelope, target_m[2])
        now_m = _beyond_band_m(envelope, here_m[2]) if here_m else 0.0
        if beyond_m > 0.0 and not beyond_m < now_m:
            band = f"{envelope.min_altitude_m} to {envelope.max_altitude_m} m"
            return RejectReason.ALTITUDE, f"leads to {target_m[2]:.2f} m; the band is {band}"
        return None

    def _forget_commands(self) -> None:
        self._last_accepted_ns = self._last_stamp_ns = self._last_sequence = -1


def _is_command(command: object) -> bool:
    """By identity: a foreign class may not even be hashable."""
    return any(type(command) is kind for kind in LEVELS)


def _malformed(command: Any, spec: ActuatorSpec) -> Refusal | None:
    if not _is_command(command):
        return RejectReason.MALFORMED, f"{type(command).__name__} is not a command"
    # A command that was never initialised lacks its fields; None is no good for any of them.
    for name in ("stamp_ns", "sequence"):
        value = getattr(command, name, None)
        if type(value) is not int or not 0 <= value <= _INT64_MAX:
            return (
                RejectReason.MALFORMED,
                f"{name} is {shown(value)}; expected an int of 0 to 2**63 - 1",
            )
    for name, array in _ARRAYS[type(command)].items():
        value = getattr(command, name, None)
        if not isinstance(value, np.ndarray):
            return RejectReason.MALFORMED, f"{name} is {shown(value)}; expected numbers"
        expected = (spec.rotor_count,) if array.shape == (-1,) else array.shape
        if value.shape != expected:
            return RejectReason.MALFORMED, f"{name} has shape {value.shape}; expected {expected}"
    for name in _SCALARS[type(command)]:
        value = getattr(command, name, None)
        # A subclass could compare as it likes.
        if type(value) is not float and type(value) is not int:
            return RejectReason.MALFORMED, f"{name} is {shown(value)}; expected a number"
    return None


def _not_finite(command: Command) -> Refusal | None:
    for name in _ARRAYS[type(command)]:
        value = getattr(command, name)
        if not all(abs(number) <= _LARGEST for number in value.tolist()):
            return RejectReason.NOT_FINITE, f"{name} is {value.tolist()}"
    for name in _SCALARS[type(command)]:
        value = getattr(command, name)
        if not abs(value) <= _LARGEST:
            return RejectReason.NOT_FINITE, f"{name} is {shown(value)}"
    return None


def _out_of_range(command: Command, spec: ActuatorSpec) -> Refusal | None:
    for name in (*_ARRAYS[type(command)], *_SCALARS[type(command)]):
        value = getattr(command, name)
        if name == "attitude":
            w, x, y, z = value.tolist()
            norm = float(np.sqrt(w * w + x * x + y * y + z * z))
            if not abs(norm - 1.0) <= 1e-3:
                return RejectReason.OUT_OF_RANGE, f"attitude has norm {norm:.6g}; expected 1"
            continue
        low, high = _range(name, spec)
        told = value.tolist() if isinstance(value, np.ndarray) else value
        numbers = told if isinstance(told, list) else [told]
        if min(numbers) < low or max(numbers) > high:
            return RejectReason.OUT_OF_RANGE, f"{name} is {shown(told)}; expected {low} to {high}"
    return None


def _range(name: str, spec: ActuatorSpec) -> tuple[float, float]:
    match name:
        case "motors" | "thrust":
            return 0.0, 1.0
        case "rate_flu_rps" | "yaw_rate_rps":
            most = spec.max_rate_rps
        case "velocity_enu_mps":
            most = spec.max_speed_mps
        case "acceleration_enu_mps2":
            most = spec.max_acceleration_mps2
        case "position_enu_m":
            most = spec.max_distance_m
        case _:
            most = _LARGEST
    return -most, most


def _is_finite_vector3(value: object) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind in "fiu"
        and value.shape == (3,)
        and bool(np.isfinite(value).all())
    )


def _beyond_band_m(envelope: SafetyEnvelope, altitude_m: float) -> float:
    return max(envelope.min_altitude_m - altitude_m, altitude_m - envelope.max_altitude_m, 0.0)


def _ack(
    command: Any,
    now_ns: int,
    status: AckStatus,
    reason: RejectReason,
    detail: str,
    *,
    applied: Command | None,
) -> CommandAck:
    # What is no command isn't asked: its attributes may raise.
    named = command if _is_command(command) else None
    return CommandAck(
        stamp_ns=now_ns,
        command_stamp_ns=_int64_or_minus_1(getattr(named, "stamp_ns", None)),
        command_sequence=_int64_or_minus_1(getattr(named, "sequence", None)),
        status=status,
        reason=reason,
        detail=detail,
        applied=applied,
    )


def _int64_or_minus_1(value: object) -> int:
    return value if type(value) is int and 0 <= value <= _INT64_MAX else -1


def _told(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an error that can't even be printed
        return shown(error)
