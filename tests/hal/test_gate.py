"""The gate, one behaviour at a time. test_gate_oracle.py judges it on commands of every kind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.clock import SimClock
from ghost.hal import (
    AckStatus,
    ActuatorSpec,
    AttitudeCommand,
    BodyRateCommand,
    Command,
    CommandAck,
    CommandLevel,
    EnvelopeGate,
    MotorCommand,
    PositionCommand,
    RejectReason,
    SafetyEnvelope,
    TrajectoryCommand,
    VelocityCommand,
)

NAN = float("nan")
START_NS = 10_000_000_000
# A notch cut into a square from the north: (5, 8) is outside, though the corners surround it.
NOTCHED = [[0, 0], [10, 0], [10, 10], [8, 10], [8, 4], [2, 4], [2, 10], [0, 10]]
ALL_LEVELS = tuple(CommandLevel)
UNFENCED = SafetyEnvelope()
NOTHING = np.zeros(3)


class Recorder:
    """A sink that takes everything, and remembers it."""

    def __init__(self, levels: tuple[CommandLevel, ...] = ALL_LEVELS) -> None:
        self.spec = ActuatorSpec(levels, rotor_count=4)
        self.got: list[Command] = []

    def send(self, command: Command) -> CommandAck:
        self.got.append(command)
        return answer(command, AckStatus.ACCEPTED, RejectReason.NONE, command)


class Rig:
    """A gate, armed unless told otherwise, at 10 s of run time."""

    def __init__(
        self,
        envelope: SafetyEnvelope = UNFENCED,
        *,
        sink: Any = None,
        here_m: list[float] | None = None,
        armed: bool = True,
    ) -> None:
        self.clock = SimClock()
        self.clock.advance(START_NS)
        self.sink = sink or Recorder()
        here = None if here_m is None else np.array(here_m)
        self.gate = EnvelopeGate(self.sink, envelope, self.clock, position=lambda: here)
        if armed:
            self.gate.arm()

    def reason(self, command: Any) -> RejectReason:
        """What the gate says; and whatever it refuses, the sink must not have seen."""
        seen = len(self.sink.got)
        ack = self.gate.send(command)
        assert ack.accepted == (ack.reason is RejectReason.NONE)
        assert len(self.sink.got) - seen == ack.accepted
        assert (ack.applied is not None) == ack.accepted
        return ack.reason


def answer(
    command: Command, status: AckStatus, reason: RejectReason, applied: Command | None
) -> CommandAck:
    return CommandAck(0, command.stamp_ns, command.sequence, status, reason, "the sink", applied)


def velocity(
    enu_mps: Any = (1.0, 2.0, 0.5), *, stamp_ns: Any = START_NS, sequence: Any = 0, yaw: Any = 0.0
) -> VelocityCommand:
    return VelocityCommand(stamp_ns, sequence, np.asarray(enu_mps), yaw)


def position(enu_m: Any = (1.0, 1.0, 5.0)) -> PositionCommand:
    return PositionCommand(START_NS, 0, np.asarray(enu_m), 0.0)


def trajectory(enu_m: Any, enu_mps: Any = NOTHING) -> TrajectoryCommand:
    return TrajectoryCommand(START_NS, 0, np.asarray(enu_m), np.asarray(enu_mps), NOTHING, 0.0)


# Order: each check is broken together with the next one of the list, and the earlier one speaks.

Breakage = Callable[[dict[str, Any], Rig], None]


def _disarm(_: dict[str, Any], rig: Rig) -> None:
    rig.gate.disarm()


def _kill(_: dict[str, Any], rig: Rig) -> None:
    rig.gate.kill()


def _position(east_m: float, up_m: float) -> Breakage:
    def breakage(values: dict[str, Any], _: Rig) -> None:
        values["position_enu_m"] = values["position_enu_m"].copy()
        if east_m:
            values["position_enu_m"][0] = east_m
        if up_m:
            values["position_enu_m"][2] = up_m

    return breakage


def _set(name: str, value: Any) -> Breakage:
    return lambda values, _: values.__setitem__(name, value)


def _unsupport(_: dict[str, Any], rig: Rig) -> None:
    rig.sink.spec = ActuatorSpec((CommandLevel.VELOCITY,), rotor_count=4)


def _send_later_one(values: dict[str, Any], rig: Rig) -> None:
    rig.gate.send(PositionCommand(START_NS, values["sequence"], np.array([1.0, 1, 5]), 0.0))


IN_ORDER: list[tuple[RejectReason, Breakage]] = [
    (RejectReason.MALFORMED, _set("sequence", -1)),
    (RejectReason.NOT_FINITE, _set("yaw_rad", NAN)),
    (RejectReason.OUT_OF_RANGE, _position(1e6, 0.0)),
    (RejectReason.STALE, _set("stamp_ns", START_NS + 1)),
    (RejectReason.OUT_OF_ORDER, _send_later_one),
    (RejectReason.UNSUPPORTED_LEVEL, _unsupport),
    (RejectReason.KILLED, _kill),
    (RejectReason.NOT_ARMED, _disarm),
    (RejectReason.GEOFENCE, _position(11.0, 0.0)),
    (RejectReason.ALTITUDE, _position(0.0, 121.0)),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
@pytest.mark.parametrize("second", range(len(IN_ORDER)))
def test_of_two_faults_the_earlier_check_speaks(first: int, second: int) -> None:
    rig = Rig(SafetyEnvelope(geofence_enu_m=NOTCHED))
    values: dict[str, Any] = {
        "stamp_ns": START_NS,
        "sequence": 7,
        "position_enu_m": np.array([1.0, 1.0, 5.0]),
        "yaw_rad": 0.0,
    }
    # Sending comes first, because the other breakages would stop it; the fence, before the range.
    order = sorted({first, second}, key=lambda index: (index != 4, -index))
    for index in order:
        IN_ORDER[index][1](values, rig)
    assert rig.reason(PositionCommand(**values)) is IN_ORDER[min(first, second)][0]


# Type and range


@pytest.mark.parametrize("command", [None, 3, "up", [velocity()], VelocityCommand, object()])
def test_what_is_no_command_is_malformed(command: Any) -> None:
    rig = Rig()
    ack = rig.gate.send(command)
    assert ack.reason is RejectReason.MALFORMED
    assert (ack.command_stamp_ns, ack.command_sequence) == (-1, -1)
    assert rig.sink.got == []


def test_each_vehicle_has_its_own_number_of_motors() -> None:
    rig = Rig()
    assert rig.reason(MotorCommand(START_NS, 0, np.full(3, 0.5))) is RejectReason.MALFORMED
    assert rig.reason(MotorCommand(START_NS, 0, np.full(4, 0.5))) is RejectReason.NONE


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.uint8, int])
def test_any_real_number_will_do_for_a_scalar(kind: Any) -> None:
    rig = Rig()
    assert rig.reason(BodyRateCommand(START_NS, 0, NOTHING, kind(1))) is RejectReason.NONE
    assert rig.reason(velocity(stamp_ns=np.int64(START_NS), sequence=np.uint8(1), yaw=kind(1))) is (
        RejectReason.NONE
    )


def test_a_number_too_long_to_print_is_refused_all_the_same() -> None:
    rig, long = Rig(), 10**5000
    assert rig.reason(velocity(stamp_ns=long)) is RejectReason.MALFORMED
    assert rig.reason(velocity(sequence=long)) is RejectReason.MALFORMED
    assert rig.reason(velocity(yaw=[long])) is RejectReason.MALFORMED
    assert rig.reason(velocity(yaw=long)) is RejectReason.NOT_FINITE
    assert rig.reason(VelocityCommand(START_NS, 0, [long] * 3, 0.0)) is RejectReason.MALFORMED  # type: ignore[arg-type]  # as users write


def test_the_detail_names_the_field_and_the_value() -> None:
    gate = Rig().gate
    assert gate.send(velocity(yaw="north")).detail == "yaw_rad is 'north'; expected a number"
    assert "(2,)" in gate.send(velocity((1.0, 2.0))).detail
    assert "101.0" in gate.send(velocity((101.0, 0.0, 0.0))).detail


# Freshness and order


@pytest.mark.parametrize(
    ("age_ns", "reason"),
    [
        (-1, RejectReason.STALE),
        (0, RejectReason.NONE),
        (200_000_000, RejectReason.NONE),
        (200_000_001, RejectReason.STALE),
    ],
)
def test_a_command_from_the_future_or_too_old_is_stale(age_ns: int, reason: RejectReason) -> None:
    assert Rig().reason(velocity(stamp_ns=START_NS - age_ns)) is reason


def test_neither_stamp_nor_sequence_goes_back() -> None:
    rig = Rig()
    assert rig.reason(velocity(stamp_ns=START_NS - 5, sequence=5)) is RejectReason.NONE
    for stamp_ns, sequence in ((START_NS, 5), (START_NS, 4), (START_NS - 6, 6)):
        late = velocity(stamp_ns=stamp_ns, sequence=sequence)
        assert rig.reason(late) is RejectReason.OUT_OF_ORDER
    assert rig.reason(velocity(stamp_ns=START_NS - 5, sequence=6)) is RejectReason.NONE


def test_a_refused_command_does_not_count_for_order() -> None:
    rig = Rig()
    assert rig.reason(velocity((NAN, 0.0, 0.0), sequence=9)) is RejectReason.NOT_FINITE
    assert rig.reason(velocity(sequence=1)) is RejectReason.NONE


def test_arming_anew_starts_a_new_order() -> None:
    rig = Rig()
    rig.reason(velocity(sequence=100))
    rig.gate.arm()  # armed already: changes nothing
    assert rig.reason(velocity(sequence=0)) is RejectReason.OUT_OF_ORDER
    rig.gate.disarm()
    rig.gate.arm()
    assert rig.reason(velocity(sequence=0)) is RejectReason.NONE


# Arming, kill, timeout


def test_only_an_armed_gate_lets_through() -> None:
    rig = Rig(armed=False)
    assert rig.reason(velocity()) is RejectReason.NOT_ARMED
    assert rig.gate.arm()
    assert rig.gate.armed
    assert rig.reason(velocity()) is RejectReason.NONE
    rig.gate.disarm()
    assert rig.reason(velocity(sequence=1)) is RejectReason.NOT_ARMED


def test_a_kill_holds_until_reset_and_says_so() -> None:
    rig = Rig()
    rig.gate.kill()
    assert (rig.gate.killed, rig.gate.armed, rig.gate.arm()) == (True, False, False)
    rig.gate.disarm()
    assert rig.reason(velocity()) is RejectReason.KILLED
    rig.gate.reset()
    assert (rig.gate.killed, rig.gate.armed) == (False, False)
    assert rig.reason(velocity()) is RejectReason.NOT_ARMED
    assert rig.gate.arm()
    assert rig.reason(velocity()) is RejectReason.NONE


def test_silence_times_out_from_arming_and_from_the_last_accepted_command() -> None:
    rig = Rig(SafetyEnvelope(command_timeout_ns=100))
    rig.clock.advance(100)
    assert not rig.gate.command_timed_out()
    assert rig.reason(velocity(stamp_ns=START_NS + 100)) is RejectReason.NONE
    rig.clock.advance(100)
    assert not rig.gate.command_timed_out()
    assert rig.reason(velocity((NAN, 0, 0), sequence=1)) is RejectReason.NOT_FINITE
    rig.clock.advance(1)
    assert rig.gate.command_timed_out()
    rig.gate.disarm()
    assert not rig.gate.command_timed_out()
    rig.gate.arm()
    rig.clock.advance(101)
    assert rig.gate.command_timed_out()


# The sink's word


class Refuser(Recorder):
    def send(self, command: Command) -> CommandAck:
        return answer(command, AckStatus.REJECTED, RejectReason.NOT_ARMED, None)


class Limiter(Recorder):
    """The vehicle itself applies less than it was told."""

    def send(self, command: Command) -> CommandAck:
        self.got.append(command)
        return answer(command, AckStatus.SATURATED, RejectReason.NONE, velocity(NOTHING))


class Broken(Recorder):
    def send(self, command: Command) -> CommandAck:
        raise OSError(f"link down at {command.sequence}")


class Mute(Recorder):
    def send(self, _: Command) -> CommandAck:
        return None  # type: ignore[return-value]  # what a careless adapter does


def test_the_sinks_own_refusal_passes_through_and_is_not_counted() -> None:
    rig = Rig(SafetyEnvelope(command_timeout_ns=100), sink=Refuser())
    ack = rig.gate.send(velocity())
    refusal = answer(velocity(), AckStatus.REJECTED, RejectReason.NOT_ARMED, None)
    assert ack == replace(refusal, stamp_ns=START_NS)  # answered now, whatever the sink's clock
    assert rig.gate.send(velocity()).reason is RejectReason.NOT_ARMED  # not out of order
    rig.clock.advance(101)
    assert rig.gate.command_timed_out()


def test_what_the_sink_really_applied_is_in_the_ack() -> None:
    ack = Rig(sink=Limiter()).gate.send(velocity())
    assert (ack.status, ack.applied) == (AckStatus.SATURATED, velocity(NOTHING))


@pytest.mark.parametrize(("sink", "detail"), [(Broken(), "OSError: link down at 0"), (Mute(), "")])
def test_a_failing_sink_is_a_refusal(sink: Recorder, detail: str) -> None:
    rig = Rig(sink=sink)
    for _ in range(2):  # not counted for order
        ack = rig.gate.send(velocity())
        assert (ack.status, ack.reason) == (AckStatus.REJECTED, RejectReason.SINK_FAILED)
        assert ack.applied is None
        assert detail in ack.detail


# Saturation


def saturated(command: Command, envelope: SafetyEnvelope = UNFENCED) -> Any:
    """What went on to the sink, when that was not the command."""
    rig = Rig(envelope)
    ack = rig.gate.send(command)
    assert ack.status is AckStatus.SATURATED
    assert ack.reason is RejectReason.NONE
    assert ack.applied is rig.sink.got[0]
    assert (ack.command_stamp_ns, ack.command_sequence) == (command.stamp_ns, command.sequence)
    return ack.applied


@pytest.mark.parametrize(
    "command",
    [
        velocity((15.0, 0.0, -5.0)),
        velocity((9.0, -12.0, 5.0)),
        VelocityCommand(START_NS, 0, NOTHING, 0.0, yaw_rate_rps=-4.0),
        position(),
        trajectory((0, 0, 5), (0.0, -15.0, 5.0)),
        BodyRateCommand(START_NS, 0, np.array([4.0, -4.0, 0.0]), 1.0),
        AttitudeCommand(START_NS, 0, np.array([np.cos(0.34), 0.0, np.sin(0.34), 0.0]), 0.0, 4.0),
        AttitudeCommand(START_NS, 0, np.array([0.0, 0.0, 0.0, -1.0005]), 0.5),
        MotorCommand(START_NS, 0, np.array([0.0, 1.0, 0.5, 0.25])),
    ],
)
def test_within_limits_the_command_itself_goes_on(command: Command) -> None:
    rig = Rig()
    ack = rig.gate.send(command)
    assert (ack.status, ack.reason) == (AckStatus.ACCEPTED, RejectReason.NONE)
    assert ack.applied is command
    assert rig.sink.got == [command]


@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(-100, 100))
def test_too_fast_keeps_its_direction_and_too_steep_its_speed(
    east: float, north: float, up: float
) -> None:
    speed = float(np.hypot(east, north))
    if speed <= 15.001 and abs(up) <= 5.0:
        return
    for command in (velocity((east, north, up)), trajectory((0, 0, 5), (east, north, up))):
        applied = saturated(command).velocity_enu_mps
        assert np.hypot(applied[0], applied[1]) == pytest.approx(min(speed, 15.0))
        assert applied[:2] * speed == pytest.approx(np.array([east, north]) * min(speed, 15.0))
        assert applied[2] == min(max(up, -5.0), 5.0)


@given(st.floats(0.71, 3.14), st.floats(-3.1, 3.1), st.floats(-3.1, 3.1), st.sampled_from([1, -1]))
def test_too_much_tilt_keeps_heading_and_direction(
    tilt: float, towards: float, heading: float, sign: int
) -> None:
    swing = (np.cos(tilt / 2), *(np.sin(tilt / 2) * np.array([np.cos(towards), np.sin(towards)])))
    c, s = np.cos(heading / 2), np.sin(heading / 2)
    # swing * twist, with the twist about the vertical
    wanted = np.array(
        [swing[0] * c, swing[1] * c + swing[2] * s, swing[2] * c - swing[1] * s, swing[0] * s]
    )
    applied = saturated(AttitudeCommand(START_NS, 0, sign * wanted, 0.5)).attitude
    shortened = np.array(
        [np.cos(0.35), np.sin(0.35) * np.cos(towards), np.sin(0.35) * np.sin(towards)]
    )
    expected = [
        shortened[0] * c,
        shortened[1] * c + shortened[2] * s,
        shortened[2] * c - shortened[1] * s,
        shortened[0] * s,
    ]
    assert abs(float(np.dot(applied, expected))) == pytest.approx(1.0, abs=1e-9)
    assert float(np.dot(applied, applied)) == pytest.approx(1.0)


def test_upside_down_is_brought_within_the_tilt_limit() -> None:
    applied = saturated(AttitudeCommand(START_NS, 0, np.array([0.0, 1.0, 0.0, 0.0]), 0.5)).attitude
    assert applied == pytest.approx(np.array([np.cos(0.35), np.sin(0.35), 0.0, 0.0]))


def test_too_quick_turns_are_clamped_axis_by_axis() -> None:
    quick = BodyRateCommand(START_NS, 0, np.array([5.0, -50.0, 1.0]), 0.5)
    assert saturated(quick).rate_flu_rps.tolist() == [4.0, -4.0, 1.0]
    assert saturated(quick).thrust == 0.5
    attitude = AttitudeCommand(START_NS, 0, np.array([1.0, 0.0, 0.0, 0.0]), 0.5, -9.0)
    assert saturated(attitude).yaw_rate_rps == -4.0
    assert saturated(VelocityCommand(START_NS, 0, NOTHING, 1.0, 9.0)).yaw_rate_rps == 4.0


# Fence and altitude


@pytest.mark.parametrize("corners", [NOTCHED, NOTCHED[::-1]])
@pytest.mark.parametrize(
    ("east_m", "north_m", "outside_m"),
    [
        (1.0, 9.0, 0.0),
        (9.0, 9.0, 0.0),
        (5.0, 2.0, 0.0),
        (5.0, 8.0, 3.0),  # in the notch, seen from both sides
        (5.0, 4.0, 0.0),  # on the notch's floor
        (5.0, 4.5, 0.5),
        (2.0, 7.1, 0.0),  # on the notch's wall
        (8.0, 7.3, 0.0),
        (8.0, 4.0, 0.0),  # on its corner
        (10.0, 10.0, 0.0),
        (10.0, 3.7, 0.0),
        (0.0, 0.1, 0.0),
        (3.3, 0.0, 0.0),
        (13.0, 14.0, 5.0),
        (-1.0, 0.0, 1.0),
    ],
)
def test_the_fence_may_be_concave_and_go_either_way_round(
    corners: list[list[int]], east_m: float, north_m: float, outside_m: float
) -> None:
    envelope = SafetyEnvelope(geofence_enu_m=corners)
    assert envelope.outside_fence_m(east_m, north_m) == pytest.approx(outside_m, abs=0)
    expected = RejectReason.GEOFENCE if outside_m else RejectReason.NONE
    assert Rig(envelope).reason(position((east_m, north_m, 5.0))) is expected
    assert Rig(envelope).reason(trajectory((east_m, north_m, 5.0))) is expected


@given(st.floats(0.0, 10.0), st.sampled_from([1, -1]))
def test_the_edge_belongs_to_the_inside(along: float, turn: int) -> None:
    envelope = SafetyEnvelope(geofence_enu_m=[[0, 0], [10, 0], [10, 10], [0, 10]][::turn])
    for corner in ((along, 0.0), (along, 10.0), (0.0, along), (10.0, along)):
        assert envelope.outside_fence_m(*corner) == 0.0


@pytest.mark.parametrize(
    ("up_m", "reason"),
    [
        (1.9, RejectReason.ALTITUDE),
        (2.0, RejectReason.NONE),
        (30.0, RejectReason.NONE),
        (30.1, RejectReason.ALTITUDE),
    ],
)
def test_the_altitude_band_includes_its_ends(up_m: float, reason: RejectReason) -> None:
    envelope = SafetyEnvelope(min_altitude_m=2.0, max_altitude_m=30.0)
    assert Rig(envelope).reason(position((0.0, 0.0, up_m))) is reason
    assert Rig(envelope).reason(trajectory((0.0, 0.0, up_m))) is reason
    assert envelope.in_altitude_band(up_m) == (reason is RejectReason.NONE)


@pytest.mark.parametrize(
    ("here_m", "enu_mps", "reason"),
    [
        ((9.0, 1.0, 5.0), (1.0, 0.0, 0.0), RejectReason.NONE),  # to the edge and no farther
        ((9.0, 1.0, 5.0), (1.1, 0.0, 0.0), RejectReason.GEOFENCE),
        ((1.0, 8.0, 5.0), (2.0, 0.0, 0.0), RejectReason.GEOFENCE),  # into the notch
        ((12.0, 1.0, 5.0), (-1.0, 0.0, 0.0), RejectReason.NONE),  # coming back, still outside
        ((12.0, 1.0, 5.0), (0.0, 0.0, 0.0), RejectReason.GEOFENCE),
        ((12.0, 1.0, 5.0), (0.0, 1.0, 0.0), RejectReason.GEOFENCE),  # along the fence, outside
        ((12.0, 1.0, 5.0), (1.0, 0.0, 0.0), RejectReason.GEOFENCE),
        ((-40.0, 1.0, 5.0), (90.0, 0.0, 0.0), RejectReason.NONE),  # 15 m of them at most
        ((1.0, 1.0, 1.0), (0.0, 0.0, -2.0), RejectReason.ALTITUDE),
        ((1.0, 1.0, 119.0), (0.0, 0.0, 2.0), RejectReason.ALTITUDE),
        ((1.0, 1.0, 130.0), (0.0, 0.0, -1.0), RejectReason.NONE),
        ((1.0, 1.0, 130.0), (0.0, 0.0, 0.0), RejectReason.ALTITUDE),
        ((1.0, 1.0, -3.0), (0.0, 0.0, 1.0), RejectReason.NONE),
        (None, (90.0, 90.0, 90.0), RejectReason.NONE),  # nobody knows where it is
    ],
)
def test_a_velocity_may_not_lead_out_but_may_lead_back(
    here_m: list[float] | None, enu_mps: tuple[float, ...], reason: RejectReason
) -> None:
    rig = Rig(SafetyEnvelope(geofence_enu_m=NOTCHED), here_m=here_m)
    assert rig.reason(velocity(enu_mps)) is reason


def test_the_gate_shows_the_sinks_spec() -> None:
    rig = Rig(sink=Recorder((CommandLevel.POSITION,)))
    assert rig.gate.spec is rig.sink.spec
    ack = rig.gate.send(velocity())
    assert ack.reason is RejectReason.UNSUPPORTED_LEVEL
    assert ack.detail == "VELOCITY; this vehicle takes POSITION"
