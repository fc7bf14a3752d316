"""Arming, disarming and the kill: who may turn a rotor, and when."""

import numpy as np

from ghost.conformance.check import Check, Need, NotApplicableError, require
from ghost.conformance.commands import HEIGHT_M, expect, valid
from ghost.conformance.factory import Factory
from ghost.conformance.flight import CYCLE_NS, MILLISECOND_NS, SECOND_NS, Flight, fresh
from ghost.hal import (
    Action,
    CommandAck,
    CommandLevel,
    MotorCommand,
    RejectReason,
    SensorKind,
)

LATE_NS = 1_500_000_000
"""PX4 tells whether it is armed once a second."""


def unready_does_not_arm(factory: Factory) -> str:
    """Nobody knows where up is before the first sample."""
    flight = fresh(factory)
    ack = flight.request(Action.ARM)
    require(not ack.accepted, "armed at the first moment", "a refusal until there is an estimate")
    require(ack.detail, "ARM refused without a word", "a detail that says why")
    modes = (Action.MANUAL, Action.HOLD, Action.TAKEOFF, Action.LAND, Action.RETURN)
    for action in (*modes, Action.OFFBOARD):
        answer = flight.request(action, 3.0)
        require(not answer.accepted, f"{action.name} accepted while disarmed", "a refusal")
    return f"refused: {ack.detail}"


def arming_on_the_ground(factory: Factory) -> str:
    flight = fresh(factory)
    flight.arm()
    armed_ns = flight.now_ns
    _expect_status(flight, armed=True, killed=False)
    flight.ask(Action.ARM)  # again is harmless
    flight.ask(Action.DISARM)
    _expect_status(flight, armed=False, killed=False)
    expect(flight, _send_anything(flight), RejectReason.NOT_ARMED)
    flight.ask(Action.DISARM)
    flight.ask(Action.ARM)
    refusal = flight.request(Action.TAKEOFF, 0.0)
    require(not refusal.accepted, "took off to 0 m", "a refusal")
    _expect_status(flight, armed=True, killed=False)
    return f"armed at {armed_ns / 1e9:g} s, disarmed, armed again"


def no_disarming_in_the_air(factory: Factory) -> str:
    """Under the autopilot's own control, and under direct motors from the ground on."""
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    _must_stay_armed(flight, "in HOLD")
    if CommandLevel.DIRECT_MOTOR not in flight.capabilities.command_levels:
        return f"refused at {HEIGHT_M:g} m"
    flight = fresh(factory)
    flight.arm()
    flight.ask(Action.MANUAL)
    ground_m = flight.height_m()
    while flight.height_m() < ground_m + 2.0 and flight.now_ns < 30 * SECOND_NS:
        flight.send(MotorCommand, np.full(flight.backend.actuators.spec.rotor_count, 0.95))
        flight.step(CYCLE_NS)
    _must_stay_armed(flight, "flown by motors")
    return f"refused at {HEIGHT_M:g} m in HOLD and at {flight.height_m():.1f} m by motors"


def landing_disarms(factory: Factory) -> str:
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    flight.ask(Action.LAND)
    from_ns = flight.now_ns
    if flight.capabilities.synchronous_step:
        expect(flight, _send_motors(flight), RejectReason.WRONG_MODE)
    while _send_anything(flight).reason is not RejectReason.NOT_ARMED:
        took_ns = flight.now_ns - from_ns
        require(took_ns < 60 * SECOND_NS, "still armed 60 s after LAND", "landed and disarmed")
        flight.step(CYCLE_NS)
    require(flight.height_m() < 1.0, f"disarmed at {flight.height_m():.2f} m", "on the ground")
    _expect_status(flight, armed=False, killed=False)
    return f"down and disarmed in {(flight.now_ns - from_ns) / 1e9:.1f} s from {HEIGHT_M:g} m"


def kill_stops_everything(factory: Factory) -> str:
    """In the air, for good, until the next reset."""
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    flight.ask(Action.KILL)
    expect(flight, _send_anything(flight), RejectReason.KILLED)
    for action in (Action.ARM, Action.OFFBOARD, Action.TAKEOFF):
        ack = flight.request(action, 3.0)
        require(not ack.accepted, f"{action.name} accepted after a kill", "a refusal")
    flight.request(Action.DISARM)
    flight.step(2 * SECOND_NS)
    _expect_status(flight, armed=False, killed=True)
    ack = flight.request(Action.ARM)
    require(not ack.accepted, "armed after kill and disarm", "the kill to hold until reset")
    expect(flight, _send_anything(flight), RejectReason.KILLED)
    again = Flight(factory, flight.backend)
    again.arm()
    _expect_status(again, armed=True, killed=False)
    return "every command KILLED and ARM refused until reset"


def killed_rotors_stop(factory: Factory) -> str:
    """Within half a second."""
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    before = flight.backend.ground_truth()
    flight.ask(Action.KILL)
    flight.step(500 * MILLISECOND_NS)
    after = flight.backend.ground_truth()
    left = float(np.max(after.rotor_speed_rps) / np.max(before.rotor_speed_rps))
    require(left < 0.01, f"rotors at {left:.1%} of their speed 0.5 s after a kill", "standstill")
    fallen_m = float(before.position_enu_m[2] - after.position_enu_m[2])
    require(fallen_m > 0.5, f"fell {fallen_m:.2f} m in 0.5 s", "a fall")
    return f"rotors at {left:.2%}, fallen {fallen_m:.2f} m after 0.5 s"


def actions_are_stamped(factory: Factory) -> str:
    """With the moment of answering, and numbered on, at any moment."""
    flight = fresh(factory)
    for sequence in range(5):
        flight.step(factory.step_ns * (2 * sequence + 1), factory.step_ns)
        ack = flight.request(Action.HOLD)
        require(
            ack.stamp_ns == flight.now_ns,
            f"an answer stamped {ack.stamp_ns} ns",
            f"the moment of answering, {flight.now_ns} ns",
        )
        require(ack.sequence == sequence, f"answer number {ack.sequence}", f"{sequence}")
        require(ack.action is Action.HOLD, f"an answer to {ack.action.name}", "HOLD")
    return "5 answers, each at its moment"


def _must_stay_armed(flight: Flight, how: str) -> None:
    ack = flight.request(Action.DISARM)
    require(
        not ack.accepted,
        f"disarmed at {flight.height_m():.1f} m {how}",
        "a refusal in the air, where KILL is for that",
    )


def _send_motors(flight: Flight) -> CommandAck:
    return flight.send(MotorCommand, np.zeros(flight.backend.actuators.spec.rotor_count))


def _send_anything(flight: Flight) -> CommandAck:
    """Of a level that it takes."""
    if CommandLevel.DIRECT_MOTOR in flight.capabilities.command_levels:
        return _send_motors(flight)
    return flight.send(*valid(flight.factory, flight.capabilities.command_levels[0]))


def _expect_status(flight: Flight, *, armed: bool, killed: bool) -> None:
    """As its next status says, where it has one."""
    if flight.name_of(SensorKind.STATUS) is None:
        return
    flight.step(200 * MILLISECOND_NS)
    status = flight.newest(SensorKind.STATUS)
    if status is None:
        raise NotApplicableError("no status was heard yet")
    until_ns = flight.now_ns + (0 if flight.capabilities.synchronous_step else LATE_NS)
    while (status.armed, status.killed) != (armed, killed) and flight.now_ns < until_ns:
        flight.step(CYCLE_NS)
        status = flight.newest(SensorKind.STATUS)
    require(
        (status.armed, status.killed) == (armed, killed),
        f"status says armed {status.armed}, killed {status.killed}",
        f"armed {armed}, killed {killed}",
    )


CHECKS = (
    Check("unready does not arm", unready_does_not_arm),
    Check("arming on the ground", arming_on_the_ground, in_flight=True),
    Check("no disarming in the air", no_disarming_in_the_air, in_flight=True),
    Check("landing disarms", landing_disarms, in_flight=True),
    Check("kill stops everything", kill_stops_everything, in_flight=True),
    Check("actions are stamped", actions_are_stamped),
    Check("killed rotors stop", killed_rotors_stop, Need(features=("ground_truth",))),
)
