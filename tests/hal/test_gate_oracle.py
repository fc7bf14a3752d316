"""The gate and the oracle side by side, told the same."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghost.core.clock import SimClock
from ghost.hal import (
    AckStatus,
    ActuatorSpec,
    Command,
    CommandAck,
    CommandLevel,
    EnvelopeGate,
    PositionCommand,
    RejectReason,
    SafetyEnvelope,
    VelocityCommand,
)
from tests.hal.drawn import (
    BROKEN_PLACES,
    ENVELOPE_CLIMB_MPS,
    ENVELOPE_RATE_RPS,
    ENVELOPE_SPEED_MPS,
    ENVELOPE_TILT_RAD,
    FIELDS,
    HIGHEST_M,
    INT64_END,
    LOWEST_M,
    MAX_ACCELERATION_MPS2,
    MAX_AGE_NS,
    MAX_DISTANCE_M,
    MAX_RATE_RPS,
    MAX_SPEED_MPS,
    NO_COMMANDS,
    NOTCHED,
    NOWHERE,
    START_NS,
    TIMEOUT_NS,
    Corners,
    Drawn,
    Hostile,
    Order,
    Place,
    Untouchable,
    fences,
    hostile,
    orders,
    pick,
    places,
)
from tests.hal.oracle import Oracle, distance_outside_m, limited, tilt_rad


class Recorder:
    def __init__(self, levels: tuple[CommandLevel, ...]) -> None:
        self.spec = ActuatorSpec(
            levels, 4, MAX_RATE_RPS, MAX_SPEED_MPS, MAX_ACCELERATION_MPS2, MAX_DISTANCE_M
        )
        self.got: list[Command] = []

    def send(self, command: Command) -> CommandAck:
        self.got.append(command)
        return CommandAck(
            0,
            command.stamp_ns,
            command.sequence,
            AckStatus.ACCEPTED,
            RejectReason.NONE,
            "",
            command,
        )


@dataclass(slots=True)
class Bout:
    """Both of them, told the same."""

    oracle: Oracle
    clock: SimClock = field(default_factory=SimClock)
    sink: Recorder = field(init=False)
    gate: EnvelopeGate = field(init=False)

    def __post_init__(self) -> None:
        self.clock.advance(START_NS)
        self.sink = Recorder(self.oracle.levels)
        envelope = SafetyEnvelope(
            geofence_enu_m=self.oracle.fence,
            min_altitude_m=LOWEST_M,
            max_altitude_m=HIGHEST_M,
            max_speed_mps=ENVELOPE_SPEED_MPS,
            max_climb_mps=ENVELOPE_CLIMB_MPS,
            max_tilt_rad=ENVELOPE_TILT_RAD,
            max_rate_rps=ENVELOPE_RATE_RPS,
            max_command_age_ns=MAX_AGE_NS,
            command_timeout_ns=TIMEOUT_NS,
            lookahead_ns=self.oracle.lookahead_ns,
        )
        self.gate = EnvelopeGate(self.sink, envelope, self.clock, position=self.here)

    def here(self) -> Any:
        return self.oracle.place.says()

    def do(self, verb: str) -> None:
        """Arm, disarm, kill or reset, and compare what is to be seen of it."""
        oracle = self.oracle
        answer = getattr(self.gate, verb)()
        if verb == "arm":
            assert answer is not oracle.killed
            if not oracle.killed and oracle.armed_at_ns is None:
                oracle.armed_at_ns = self.clock.now_ns()
                oracle.last_ns = oracle.last_stamp_ns = oracle.last_sequence = -1
        else:
            oracle.armed_at_ns = None
            oracle.killed = verb == "kill" or (oracle.killed and verb == "disarm")
            if verb == "reset":
                oracle.last_ns = oracle.last_stamp_ns = oracle.last_sequence = -1
        self.compare_state()

    def compare_state(self) -> None:
        oracle = self.oracle
        assert self.gate.armed == (oracle.armed_at_ns is not None)
        assert self.gate.killed == oracle.killed
        silent_ns = self.clock.now_ns() - max(oracle.armed_at_ns or 0, oracle.last_ns)
        late = oracle.armed_at_ns is not None and silent_ns > TIMEOUT_NS
        assert self.gate.command_timed_out() == late

    def send(self, order: Order) -> RejectReason:
        oracle, now_ns = self.oracle, self.clock.now_ns()
        stamp, sequence = order.age_ns, order.step
        if isinstance(stamp, int):
            stamp = Drawn(now_ns - stamp, (now_ns - stamp,))
        if isinstance(sequence, int):
            number = oracle.last_sequence + sequence
            sequence = Drawn(number, (number,) if 0 <= number < INT64_END else None)
        allowed = oracle.allowed(order, stamp, sequence, now_ns)
        values = {name: drawn.value for name, drawn in order.fields.items()}
        command = order.kind(stamp_ns=stamp.value, sequence=sequence.value, **values)
        seen = len(self.sink.got)
        ack = self.gate.send(command)
        assert type(ack) is CommandAck
        assert ack.reason in allowed
        assert ack.stamp_ns == now_ns
        assert (ack.command_stamp_ns, ack.command_sequence) == (
            *(stamp.numbers or (-1,)),
            *(sequence.numbers or (-1,)),
        )
        if ack.reason is RejectReason.NONE:
            assert ack.applied is self.sink.got[-1]
            assert len(self.sink.got) == seen + 1
            compare_applied(order, command, ack)
            oracle.last_ns = now_ns
            oracle.last_stamp_ns, oracle.last_sequence = ack.command_stamp_ns, ack.command_sequence
        else:
            assert (ack.status, ack.applied) == (AckStatus.REJECTED, None)
            assert ack.detail
            assert len(self.sink.got) == seen
        self.compare_state()
        return ack.reason


def compare_applied(order: Order, command: Command, ack: CommandAck) -> None:
    applied: Any = ack.applied
    assert type(applied) is order.kind
    assert (applied.stamp_ns, applied.sequence) == (ack.command_stamp_ns, ack.command_sequence)
    assert (applied is command) == (ack.status is AckStatus.ACCEPTED)
    changed = False
    for each in FIELDS[order.kind]:
        told = order.fields[each.name].numbers or ()
        got = tuple(np.atleast_1d(np.asarray(getattr(applied, each.name), object)).tolist())
        if each.name == "attitude":
            assert tilt_rad(got) <= ENVELOPE_TILT_RAD + 1e-9
            assert math.hypot(*got) == pytest.approx(1.0, abs=1.1e-3)
            assert tilt_rad(told) > ENVELOPE_TILT_RAD - 1e-9 or got == told
        else:
            assert got == pytest.approx(limited(each, told), rel=1e-12, abs=1e-12)
        if each.name == "velocity_enu_mps":
            assert math.hypot(*got[:2]) <= ENVELOPE_SPEED_MPS * (1 + 1e-15)
        elif each.name in ("yaw_rate_rps", "rate_flu_rps"):
            assert got == limited(each, told)
        changed |= got != told
    assert changed == (ack.status is AckStatus.SATURATED)


@st.composite
def bouts(draw: st.DrawFn) -> Bout:
    every = tuple(CommandLevel)
    some = st.sets(st.sampled_from(every), min_size=1).map(tuple)
    return Bout(
        Oracle(
            fence=draw(fences()),
            lookahead_ns=draw(st.sampled_from([0, 1, 500_000_000, 3_000_000_000])),
            levels=draw(st.one_of(st.just(every), st.just(every), some)),
            place=draw(places()),
        )
    )


VERBS = st.sampled_from(["arm", "disarm", "kill", "reset"])


@given(bouts(), orders(max_faults=0))
def test_a_well_formed_command_is_judged_as_documented(bout: Bout, order: Order) -> None:
    bout.do("arm")
    bout.send(order)


@given(bouts(), st.lists(VERBS, max_size=3), orders())
def test_any_command_is_judged_as_documented(bout: Bout, verbs: list[str], order: Order) -> None:
    for verb in verbs:
        bout.do(verb)
    bout.send(order)


@given(bouts(), orders(max_faults=8))
def test_a_command_wrong_all_over_is_judged_as_documented(bout: Bout, order: Order) -> None:
    bout.do("arm")
    bout.send(order)


@given(
    bouts(),
    st.lists(
        st.one_of(
            orders(max_faults=0),
            orders(max_faults=1),
            VERBS,
            st.just("arm"),
            st.sampled_from([1, 500, MAX_AGE_NS, TIMEOUT_NS, TIMEOUT_NS + 1]),
            places(),
        ),
        max_size=12,
    ),
)
def test_so_is_a_whole_sequence_of_them(bout: Bout, steps: list[Order | str | int | Place]) -> None:
    bout.do("arm")
    for step in steps:
        if isinstance(step, Order):
            bout.send(step)
        elif isinstance(step, str):
            bout.do(step)
        elif isinstance(step, int):
            bout.clock.advance(step)
            bout.compare_state()
        else:
            bout.oracle.place = step


@given(bouts(), st.booleans(), pick(NO_COMMANDS))
def test_what_is_no_command_is_malformed_and_nothing_of_it_is_asked(
    bout: Bout, armed: bool, make: Callable[[], Any]
) -> None:
    bout.do("arm" if armed else "disarm")
    ack = bout.gate.send(make())
    assert (ack.status, ack.reason) == (AckStatus.REJECTED, RejectReason.MALFORMED)
    assert (ack.stamp_ns, ack.command_stamp_ns, ack.command_sequence) == (START_NS, -1, -1)
    assert ack.applied is None
    assert bout.sink.got == []


@pytest.mark.parametrize("place", BROKEN_PLACES)
@pytest.mark.parametrize("fence", [None, NOTCHED])
def test_a_broken_position_source_does_not_lift_the_fence(
    fence: Corners | None, place: Place
) -> None:
    bout = Bout(Oracle(fence, 0, tuple(CommandLevel), place))
    bout.do("arm")
    ack = bout.gate.send(VelocityCommand(START_NS, 0, np.zeros(3), 0.0))
    assert ack.reason is RejectReason.GEOFENCE
    assert "position" in ack.detail
    ack = bout.gate.send(PositionCommand(START_NS, 0, np.array([1.0, 1.0, 5.0]), 0.0))
    assert ack.reason is RejectReason.NONE


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("stamp_ns", lambda: np.timedelta64(3, "s")),
        ("yaw_rad", lambda: np.timedelta64("NaT")),
        ("yaw_rad", Untouchable),
        ("velocity_enu_mps", Untouchable),
    ],
)
def test_a_command_can_be_built_from_the_worst(name: str, make: Callable[[], Any]) -> None:
    values: dict[str, Any] = {"stamp_ns": 0, "velocity_enu_mps": np.zeros(3), "yaw_rad": 0.0}
    VelocityCommand(sequence=0, **(values | {name: make()}))


# The sink's answers

UnprintableError = type("UnprintableError", (OSError,), {"__str__": hostile, "__repr__": hostile})


def _fail() -> None:
    raise UnprintableError


@pytest.mark.parametrize(
    "answer",
    [_fail, Hostile, Untouchable, object, lambda: None, lambda: True, lambda: CommandAck, hostile],
)
def test_a_sink_may_answer_anything(answer: Callable[[], Any]) -> None:
    bout = Bout(Oracle(None, 0, tuple(CommandLevel), NOWHERE))
    bout.do("arm")
    bout.sink.send = lambda _: answer()  # type: ignore[method-assign,assignment]  # a careless adapter
    for _ in range(2):  # not counted for order
        ack = bout.gate.send(VelocityCommand(START_NS, 0, np.zeros(3), 0.0))
        assert (ack.status, ack.reason) == (AckStatus.REJECTED, RejectReason.SINK_FAILED)
        assert ack.applied is None
        assert ack.detail


# The oracle itself must be worth its word


@pytest.mark.parametrize(
    ("east", "north", "outside_m"),
    [(1, 9, 0), (5, 8, 3), (5, 4, 0), (2, 7, 0), (8, 4, 0), (13, 14, 5), (-1, 0, 1), (5, 2, 0)],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_the_oracle_knows_the_notch(east: int, north: int, outside_m: int, turn: int) -> None:
    assert distance_outside_m(NOTCHED[::turn], Fraction(east), Fraction(north)) == outside_m


def test_the_oracle_has_seen_every_reason() -> None:
    """Or the tests above would be judging next to nothing."""
    seen: set[RejectReason] = set()
    mixed = st.one_of(orders(max_faults=0), orders(max_faults=1))

    @settings(derandomize=True, max_examples=300)
    @given(bouts(), st.lists(VERBS, max_size=1), st.lists(mixed, min_size=2, max_size=4))
    def look(bout: Bout, verbs: list[str], told: list[Order]) -> None:
        for verb in ("arm", *verbs):
            bout.do(verb)
        seen.update(bout.send(order) for order in told)

    look()
    assert seen == set(RejectReason) - {RejectReason.SINK_FAILED, RejectReason.WRONG_MODE}
