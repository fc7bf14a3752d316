"""Commands: refused for the right reason, or acknowledged with what was applied."""

from dataclasses import replace
from typing import Any

import numpy as np

from ghost.conformance.check import Check, NotApplicableError, require
from ghost.conformance.factory import Factory
from ghost.conformance.flight import CYCLE_NS, MILLISECOND_NS, SECOND_NS, Flight, fresh
from ghost.core.rotations import tilt_of
from ghost.hal import (
    AckStatus,
    Action,
    ActuatorSink,
    ActuatorSpec,
    AttitudeCommand,
    BodyRateCommand,
    Command,
    CommandAck,
    CommandLevel,
    EnvelopeGate,
    FlightMode,
    MotorCommand,
    PositionCommand,
    RejectReason,
    SafetyEnvelope,
    SensorKind,
    TrajectoryCommand,
    VelocityCommand,
)
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.hal.commands import LEVELS

HEIGHT_M = 3.0
LONGEST_OFFBOARD_NS = 10 * SECOND_NS
_NOTHING = np.zeros(3)
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
_MANUAL_LEVELS = (CommandLevel.DIRECT_MOTOR, CommandLevel.BODY_RATE, CommandLevel.ATTITUDE)


def nonsense_is_refused(factory: Factory) -> str:
    """Judged before arming: a bad command is bad whatever state the vehicle is in."""
    flight = fresh(factory)
    flight.step(100 * MILLISECOND_NS)
    rotors = flight.backend.actuators.spec.rotor_count
    envelope = factory.robot.envelope
    flight.step(envelope.max_command_age_ns // CYCLE_NS * CYCLE_NS + CYCLE_NS)
    half = np.full(rotors, 0.5)
    old_ns = envelope.max_command_age_ns + 1
    ahead_ns = _ahead_ns(flight)
    table: tuple[tuple[RejectReason, type, tuple[Any, ...], int], ...] = (
        (RejectReason.NOT_FINITE, VelocityCommand, (np.array([np.nan, 0.0, 0.0]), 0.0), 0),
        (RejectReason.NOT_FINITE, PositionCommand, (np.array([0.0, np.inf, 3.0]), 0.0), 0),
        (RejectReason.NOT_FINITE, AttitudeCommand, (_UPRIGHT, np.nan), 0),
        (RejectReason.NOT_FINITE, MotorCommand, (half * np.nan,), 0),
        (RejectReason.MALFORMED, MotorCommand, (np.full(rotors + 1, 0.5),), 0),
        (RejectReason.MALFORMED, VelocityCommand, (np.zeros(2), 0.0), 0),
        (RejectReason.MALFORMED, PositionCommand, ("home", 0.0), 0),
        (RejectReason.OUT_OF_RANGE, MotorCommand, (half * 3.0,), 0),
        (RejectReason.OUT_OF_RANGE, AttitudeCommand, (2.0 * _UPRIGHT, 0.5), 0),
        (RejectReason.STALE, VelocityCommand, (_NOTHING, 0.0), old_ns),
        (RejectReason.STALE, VelocityCommand, (_NOTHING, 0.0), -ahead_ns),
    )
    for reason, kind, values, age_ns in table:
        expect(flight, flight.send(kind, *values, age_ns=age_ns), reason)
    no_command: Any = "up"
    expect(flight, flight.give(no_command), RejectReason.MALFORMED)
    return f"{len(table) + 1} kinds"


def disarmed_takes_nothing(factory: Factory) -> str:
    flight = fresh(factory)
    flight.step(100 * MILLISECOND_NS)
    for level in flight.capabilities.command_levels:
        expect(flight, flight.send(*valid(factory, level)), RejectReason.NOT_ARMED)
    return f"{len(flight.capabilities.command_levels)} levels refused NOT_ARMED"


def order_is_kept(factory: Factory) -> str:
    """Neither an old stamp nor a used number comes after a newer one; refused ones don't count."""
    flight = _offboard(factory)
    kind, *values = valid(factory, flight.capabilities.command_levels[-1])
    now_ns = flight.now_ns
    expect(flight, flight.give(kind(now_ns - 10, 1000, *values)), RejectReason.NONE)
    expect(flight, flight.give(kind(now_ns - 10, 1000, *values)), RejectReason.OUT_OF_ORDER)
    expect(flight, flight.give(kind(now_ns, 999, *values)), RejectReason.OUT_OF_ORDER)
    expect(flight, flight.give(kind(now_ns - 11, 1001, *values)), RejectReason.OUT_OF_ORDER)
    ahead_ns = _ahead_ns(flight)
    expect(flight, flight.give(kind(now_ns + ahead_ns, 2000, *values)), RejectReason.STALE)
    expect(flight, flight.give(kind(now_ns, 1001, *values)), RejectReason.NONE)
    return "same number, lower number, older stamp refused OUT_OF_ORDER"


def envelope_holds(factory: Factory) -> str:
    """A fence and a ceiling so near that a moment at full speed leads outside."""
    envelope, look_s = factory.robot.envelope, factory.robot.envelope.lookahead_ns / 1e9
    reach_m = max(0.6 * envelope.max_speed_mps * look_s, 2.0)
    ceiling_m = HEIGHT_M + max(0.6 * envelope.max_climb_mps * look_s, 0.5)
    fence = ((-reach_m, -reach_m), (reach_m, -reach_m), (reach_m, reach_m), (-reach_m, reach_m))
    near = replace(envelope, geofence_enu_m=fence, min_altitude_m=-1.0, max_altitude_m=ceiling_m)
    flight = _offboard(factory, near)
    speed, climb = envelope.max_speed_mps, envelope.max_climb_mps
    table: list[tuple[RejectReason, type, Any]] = [
        (RejectReason.GEOFENCE, PositionCommand, np.array([2.0 * reach_m, 0.0, HEIGHT_M])),
        (RejectReason.GEOFENCE, PositionCommand, np.array([0.0, -2.0 * reach_m, HEIGHT_M])),
        (RejectReason.ALTITUDE, PositionCommand, np.array([0.0, 0.0, ceiling_m + 1.0])),
        (RejectReason.ALTITUDE, PositionCommand, np.array([0.0, 0.0, -2.0])),
        (RejectReason.NONE, PositionCommand, np.array([0.0, 0.0, HEIGHT_M])),
    ]
    if speed * look_s > 1.5 * reach_m:
        table.append((RejectReason.GEOFENCE, VelocityCommand, np.array([0.0, speed, 0.0])))
    if climb * look_s > 1.5 * (ceiling_m - HEIGHT_M):
        table.append((RejectReason.ALTITUDE, VelocityCommand, np.array([0.0, 0.0, climb])))
    declared = flight.capabilities.command_levels
    table = [row for row in table if LEVELS[row[1]] in declared]
    if not table:
        raise NotApplicableError("takes neither positions nor velocities")
    for reason, kind, aim in table:
        expect(flight, flight.send(kind, aim, 0.0), reason)
    return f"{len(table)} aims at a fence of {reach_m:g} m and a ceiling of {ceiling_m:g} m"


def modes_hold(factory: Factory) -> str:
    """In HOLD nothing is taken; in MANUAL, whatever needs no position."""
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    levels = flight.capabilities.command_levels
    for level in levels:
        expect(flight, flight.send(*valid(factory, level)), RejectReason.WRONG_MODE)
    flight.ask(Action.MANUAL)
    for level in levels:
        reason = RejectReason.NONE if level in _MANUAL_LEVELS else RejectReason.WRONG_MODE
        expect(flight, flight.send(*valid(factory, level)), reason)
    return f"{len(levels)} levels in HOLD and in MANUAL"


def declared_levels_fly(factory: Factory) -> str:
    """Each is accepted in OFFBOARD, and the ack carries what was sent, bit for bit."""
    flight = _offboard(factory)
    levels = sorted(flight.capabilities.command_levels, reverse=True)
    spec = flight.backend.actuators.spec
    require(
        sorted(spec.levels, reverse=True) == levels,
        f"the actuators take {spec.levels}",
        f"{levels} as declared",
    )
    count = len(factory.airframe.rotors)
    require(spec.rotor_count == count, f"{spec.rotor_count} rotors", f"the robot's {count}")
    for level in levels:
        for _ in range(3):
            expect(flight, flight.send(*valid(factory, level)), RejectReason.NONE)
            flight.step(CYCLE_NS)
    return ", ".join(level.name for level in levels)


def limits_are_told(factory: Factory) -> str:
    """What is too fast, too steep or too quick is limited, and the ack says to what."""
    flight = _offboard(factory, replace(factory.robot.envelope, lookahead_ns=0))
    envelope = factory.robot.envelope
    declared = flight.capabilities.command_levels
    told = []
    if CommandLevel.VELOCITY in declared:
        fast = 2.0 * min(envelope.max_speed_mps, 0.4 * flight.backend.actuators.spec.max_speed_mps)
        ack = flight.send(VelocityCommand, np.array([fast, 0.0, 0.0]), 0.0)
        applied = _limited(ack, VelocityCommand).velocity_enu_mps[0]
        told.append(_same("speed", applied, envelope.max_speed_mps))
    if CommandLevel.BODY_RATE in declared:
        quick = 2.0 * min(envelope.max_rate_rps, 0.4 * flight.backend.actuators.spec.max_rate_rps)
        ack = flight.send(BodyRateCommand, np.array([0.0, quick, 0.0]), 0.5)
        applied = _limited(ack, BodyRateCommand).rate_flu_rps[1]
        told.append(_same("rate", applied, envelope.max_rate_rps))
    if CommandLevel.ATTITUDE in declared and envelope.max_tilt_rad < 1.5:
        steep = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
        ack = flight.send(AttitudeCommand, steep, 0.5)
        tilt_rad = tilt_of(_limited(ack, AttitudeCommand).attitude)
        told.append(_same("tilt", tilt_rad, envelope.max_tilt_rad))
    if not told:
        raise NotApplicableError("takes no level with a limit")
    return ", ".join(told)


def undeclared_levels_are_refused(factory: Factory) -> str:
    """The backend's own missing levels; and where it has all, each in turn kept from the gate."""
    flight = _offboard(factory)
    declared = flight.capabilities.command_levels
    missing = [level for level in CommandLevel if level not in declared]
    for level in missing:
        expect(flight, flight.send(*valid(factory, level)), RejectReason.UNSUPPORTED_LEVEL)
    for level in CommandLevel:
        gate = EnvelopeGate(
            _Without(flight.backend.actuators, level),
            factory.robot.envelope,
            flight.backend.clock,
        )
        gate.arm()
        kind, *values = valid(factory, level)
        ack = gate.send(kind(flight.now_ns, 1, *values))
        expect(flight, ack, RejectReason.UNSUPPORTED_LEVEL)
    own = ", ".join(level.name for level in missing) or "none of its own"
    return f"{own}; {len(CommandLevel)} taken from a gate"


def expect(flight: Flight, ack: CommandAck, reason: RejectReason) -> None:
    """The reason, and all that an ack must say besides."""
    require(ack.reason is reason, f"{ack.status.name} {ack.reason.name}: {ack.detail}", reason.name)
    late_ns = 0 if flight.capabilities.synchronous_step else CYCLE_NS  # elsewhere time goes on
    require(
        0 <= flight.now_ns - ack.stamp_ns <= late_ns,
        f"an ack {ack.reason.name} stamped {ack.stamp_ns} ns",
        f"the moment of answering, {flight.now_ns} ns",
    )
    if reason is RejectReason.NONE:
        require(
            ack.status is AckStatus.ACCEPTED and ack.applied is not None,
            f"{ack.status.name}, applied {ack.applied}",
            "ACCEPTED, applied as sent",
        )
        require(
            ack.applied is None
            or (ack.applied.stamp_ns, ack.applied.sequence)
            == (ack.command_stamp_ns, ack.command_sequence),
            "another command's stamp and number in the ack",
            "its own",
        )
    else:
        require(
            ack.status is AckStatus.REJECTED and ack.applied is None,
            f"{ack.status.name}, applied {ack.applied}",
            "REJECTED, nothing applied",
        )
        require(ack.detail, f"{reason.name} without a word", "a detail that says why")


def _offboard(factory: Factory, envelope: SafetyEnvelope | None = None) -> Flight:
    flight = fresh(factory, envelope=envelope)
    flight.take_off(HEIGHT_M)
    kind, *values = valid(factory, CommandLevel.VELOCITY)
    until_ns = flight.now_ns + LONGEST_OFFBOARD_NS
    ack = flight.request(Action.OFFBOARD)
    while not (ack.accepted or _is_offboard(flight)):
        require(flight.now_ns < until_ns, f"OFFBOARD refused: {ack.detail}", "it to be accepted")
        for _ in range(10):  # PX4 wants to see set-points first
            flight.send(kind, *values)
            flight.step(CYCLE_NS)
        ack = flight.request(Action.OFFBOARD)
    return flight


def _is_offboard(flight: Flight) -> bool:
    status = flight.newest(SensorKind.STATUS)
    return status is not None and status.mode is FlightMode.OFFBOARD


def _ahead_ns(flight: Flight) -> int:
    """So far ahead is in the future when it is judged."""
    return 1 if flight.capabilities.synchronous_step else SECOND_NS


def valid(factory: Factory, level: CommandLevel) -> tuple[Any, ...]:
    """A command of that level that hovers, as its type and values."""
    here = np.array([0.0, 0.0, HEIGHT_M])
    airframe = factory.airframe
    thrust = hover_thrust(airframe)
    match level:
        case CommandLevel.DIRECT_MOTOR:
            return MotorCommand, np.full(len(airframe.rotors), hover_motor(airframe))
        case CommandLevel.BODY_RATE:
            return BodyRateCommand, _NOTHING, thrust
        case CommandLevel.ATTITUDE:
            return AttitudeCommand, _UPRIGHT, thrust
        case CommandLevel.VELOCITY:
            return VelocityCommand, _NOTHING, 0.0
        case CommandLevel.POSITION:
            return PositionCommand, here, 0.0
        case CommandLevel.TRAJECTORY:
            return TrajectoryCommand, here, _NOTHING, _NOTHING, 0.0


def hover_thrust(airframe: Airframe) -> float:
    """As a share of all the thrust there is."""
    return airframe.mass_kg * GRAVITY_MPS2 / airframe.max_thrust_n


def hover_motor(airframe: Airframe) -> float:
    """The motor command that gives that share: the thrust curve, inverted."""
    share, curve = hover_thrust(airframe), airframe.thrust_curve
    if curve == 0.0:
        return share
    linear = 1.0 - curve
    return float((np.sqrt(linear * linear + 4.0 * curve * share) - linear) / (2.0 * curve))


def _limited(ack: CommandAck, kind: type[Any]) -> Any:
    require(
        ack.status is AckStatus.SATURATED and type(ack.applied) is kind,
        f"{ack.status.name} {ack.reason.name} {ack.detail}",
        f"SATURATED, with the {kind.__name__} that was applied",
    )
    return ack.applied


def _same(what: str, applied: float, limit: float) -> str:
    require(abs(applied - limit) < 1e-6 * limit, f"{what} limited to {applied}", f"{limit}")
    return f"{what} {applied:.3g}"


class _Without:
    """A sink that lacks a level."""

    def __init__(self, sink: ActuatorSink, level: CommandLevel) -> None:
        self._sink = sink
        levels = tuple(other for other in CommandLevel if other is not level)
        self.spec: ActuatorSpec = replace(sink.spec, levels=levels)

    def send(self, command: Command) -> CommandAck:
        return self._sink.send(command)


CHECKS = (
    Check("nonsense is refused", nonsense_is_refused, on_bench=True),
    Check("disarmed takes no command", disarmed_takes_nothing, on_bench=True),
    Check("commands keep their order", order_is_kept, in_flight=True),
    Check("fence and altitude hold", envelope_holds, in_flight=True),
    Check("modes hold", modes_hold),
    Check("declared levels fly", declared_levels_fly, in_flight=True),
    Check("limits are told", limits_are_told, in_flight=True),
    Check("undeclared levels are refused", undeclared_levels_are_refused, in_flight=True),
)
