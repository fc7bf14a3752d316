from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, MessageError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal.channels import BAROMETER, IMU
from ghost.hal.samples import BarometerSample, ImuSample
from ghost.telemetry import BufferedSink, DropPolicy

SECOND_NS = 1_000_000_000


class Rig:
    """A buffer on a real bus, before a sink that keeps what arrives."""

    def __init__(self, policy: DropPolicy, capacity: int = 3) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.arrived: list[tuple[str, int]] = []
        self.reports: list[Event] = []
        self.buffer = BufferedSink(self, self.bus, name="radio", capacity=capacity, policy=policy)
        self.bus.subscribe(EVENTS, self._hear, name="test")

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        del message, stamp_ns
        self.arrived.append((channel.name, sequence))

    def give(self, *sequences: int) -> None:
        for sequence in sequences:
            sample = BarometerSample(self.clock.now_ns(), sequence, 1.0, 2.0)
            self.buffer.write(BAROMETER, sample, self.clock.now_ns(), sequence)

    def give_event(self, sequence: int) -> None:
        event = Event(self.clock.now_ns(), Severity.INFO, "E", "test")
        self.buffer.write(EVENTS, event, self.clock.now_ns(), sequence)

    def drained(self) -> list[int]:
        self.buffer.drain()
        return [sequence for _, sequence in self.arrived]

    def _hear(self, event: Event) -> None:
        if event.kind == EventKind.TELEMETRY_BACKPRESSURE:
            self.reports.append(event)


@pytest.mark.parametrize(
    ("policy", "kept", "dropped", "overflowed"),
    [
        (DropPolicy.DROP_OLDEST, [2, 3, 4], 2, 0),
        (DropPolicy.DROP_NEWEST, [0, 1, 2], 2, 0),
        (DropPolicy.NEVER, [0, 1, 2, 3, 4], 0, 2),
    ],
)
def test_a_full_buffer_follows_its_policy_and_counts(
    policy: DropPolicy, kept: list[int], dropped: int, overflowed: int
) -> None:
    rig = Rig(policy)
    rig.give(0, 1, 2)
    assert not rig.reports
    rig.give(3, 4)
    assert rig.drained() == kept
    assert rig.buffer.dropped[BAROMETER.name] == dropped
    assert rig.buffer.overflowed == overflowed
    (report,) = rig.reports
    assert (report.severity, report.source) == (Severity.WARN, "radio")
    assert (report.payload["policy"], report.payload["capacity"]) == (policy.value, 3)


def test_drops_are_told_at_once_then_once_a_second_and_at_the_end() -> None:
    rig = Rig(DropPolicy.DROP_NEWEST)
    rig.give(0, 1, 2, 3)
    rig.clock.advance(SECOND_NS - 1)
    rig.give(4, 5)
    assert [event.payload["dropped"] for event in rig.reports] == [{BAROMETER.name: 1}]
    rig.clock.advance(1)
    rig.give(6)
    assert rig.reports[-1].payload["dropped"] == {BAROMETER.name: 3}
    rig.give(7)
    rig.buffer.report()
    rig.buffer.report()
    assert [event.payload["dropped_in_all"] for event in rig.reports] == [1, 4, 5]
    assert [event.stamp_ns for event in rig.reports] == [0, SECOND_NS, SECOND_NS]


def test_never_says_that_it_outgrew_its_capacity() -> None:
    rig = Rig(DropPolicy.NEVER)
    rig.give(*range(10))
    rig.buffer.report()
    assert [event.payload["overflowed"] for event in rig.reports] == [1, 7]
    assert rig.drained() == list(range(10))


def test_a_capacity_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="radio: capacity is 0"):
        Rig(DropPolicy.NEVER, capacity=0)


@given(
    policy=st.sampled_from(DropPolicy),
    capacity=st.integers(1, 6),
    steps=st.lists(st.sampled_from(["stream", "stream", "event", "drain"]), max_size=60),
)
def test_what_arrives_is_in_order_and_the_rest_is_counted(
    policy: DropPolicy, capacity: int, steps: list[str]
) -> None:
    rig = Rig(policy, capacity)
    written: list[tuple[str, int]] = []
    for sequence, step in enumerate(steps):
        if step == "drain":
            rig.buffer.drain()
            continue
        if step == "event":
            rig.give_event(sequence)
        else:
            rig.give(sequence)
        written.append((EVENTS.name if step == "event" else BAROMETER.name, sequence))
        if policy is not DropPolicy.NEVER:
            streams = sum(1 for entry in rig.buffer._entries if entry[0] is BAROMETER)
            assert streams <= capacity
    rig.buffer.drain()
    remaining = iter(written)
    assert all(entry in remaining for entry in rig.arrived)  # a subsequence
    assert len(rig.arrived) + sum(rig.buffer.dropped.values()) == len(written)
    assert [e for e in rig.arrived if e[0] == EVENTS.name] == [
        e for e in written if e[0] == EVENTS.name
    ]
    if policy is DropPolicy.NEVER:
        assert rig.arrived == written


def test_a_message_the_sink_refuses_is_told_and_costs_no_other(
    imu: Callable[[int], ImuSample],
) -> None:
    clock = SimClock()
    bus = Bus(clock)
    heard: list[Event] = []
    arrived: list[int] = []
    bus.subscribe(EVENTS, heard.append, name="test")

    class Picky:
        def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
            del channel, message, stamp_ns
            if sequence == 1:
                raise MessageError("no")
            arrived.append(sequence)

    policy = DropPolicy.DROP_OLDEST
    buffer = BufferedSink(Picky(), bus, name="log", capacity=9, policy=policy)
    for sequence in range(3):
        buffer.write(IMU, imu(sequence), 0, sequence)
    buffer.drain()
    buffer.report()
    assert arrived == [0, 2]
    assert [(event.kind, event.text) for event in heard] == [
        (EventKind.SUBSCRIBER_FAILED, "log failed on /sensors/imu: no")
    ]
