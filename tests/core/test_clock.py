import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.clock import Callback, SimClock, SystemClock, Timer
from ghost.core.errors import ClockError

DELAYS = st.integers(0, 6)
Trace = list[tuple[int, str]]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_callbacks_run_by_time_then_in_order_of_scheduling(due_ns: list[int]) -> None:
    clock = SimClock()
    ran: list[tuple[int, int, int]] = []
    for index, at_ns in enumerate(due_ns):
        clock.call_at(at_ns, lambda at=at_ns, i=index: ran.append((clock.now_ns(), at, i)))  # type: ignore[misc]  # mypy has no type for a lambda's defaults
    clock.advance_to(5)
    assert ran == sorted((at_ns, at_ns, index) for index, at_ns in enumerate(due_ns))


@given(
    st.lists(st.tuples(DELAYS, st.lists(DELAYS, max_size=2)), max_size=8),
    st.lists(st.tuples(st.integers(1, 6), DELAYS), max_size=4),
    st.lists(DELAYS, min_size=1, max_size=8),
)
def test_how_an_advance_is_split_does_not_matter(
    schedule: list[tuple[int, list[int]]], periods: list[tuple[int, int]], parts_ns: list[int]
) -> None:
    def run(advances_ns: list[int]) -> Trace:
        clock = SimClock()
        trace: Trace = []

        def note(label: str, then_ns: list[int]) -> Callback:
            def callback() -> None:
                trace.append((clock.now_ns(), label))
                for index, delay_ns in enumerate(then_ns):
                    clock.call_after(delay_ns, note(f"{label}.{index}", []))

            return callback

        for index, (delay_ns, then_ns) in enumerate(schedule):
            clock.call_after(delay_ns, note(f"once {index}", then_ns))
        for index, (period_ns, first_ns) in enumerate(periods):
            clock.call_every(period_ns, note(f"every {index}", []), first_at_ns=first_ns)
        for dt_ns in advances_ns:
            clock.advance(dt_ns)
        trace.append((clock.now_ns(), "end"))
        return trace

    assert run(parts_ns) == run([sum(parts_ns)])


def test_a_periodic_callback_does_not_drift() -> None:
    clock = SimClock()
    beats_ns: list[int] = []
    clock.call_every(333_333_333, lambda: beats_ns.append(clock.now_ns()))
    for _ in range(1_000):
        clock.advance(10_000_001)
    assert beats_ns == [333_333_333 * beat for beat in range(1, 31)]


def test_cancelling_is_harmless_whenever_it_happens() -> None:
    clock = SimClock()
    ran: list[str] = []
    before = clock.call_at(1, lambda: ran.append("cancelled before it fired"))
    after = clock.call_at(1, lambda: ran.append("cancelled after it fired"))

    def cancel_itself() -> None:
        ran.append("cancelled by itself")
        timers[0].cancel()

    timers: list[Timer] = [clock.call_every(1, cancel_itself)]
    before.cancel()
    before.cancel()
    clock.advance(1)
    after.cancel()
    timers[0].cancel()
    clock.advance(5)
    assert ran == ["cancelled after it fired", "cancelled by itself"]


def test_a_callback_may_cancel_another_that_is_due_now() -> None:
    clock = SimClock()
    ran: list[int] = []
    second: Timer

    def cancel_second() -> None:
        second.cancel()

    clock.call_at(1, cancel_second)
    second = clock.call_at(1, lambda: ran.append(2))
    clock.advance(1)
    assert ran == []


@pytest.mark.parametrize("nested", [lambda clock: clock.advance(1), lambda c: c.advance_to(9)])
def test_a_nested_advance_is_an_error_and_time_goes_on(nested: Callable[[SimClock], None]) -> None:
    errors: list[BaseException] = []
    clock = SimClock(on_error=lambda error, _: errors.append(error))
    clock.call_at(2, lambda: nested(clock))
    clock.advance(5)
    assert clock.now_ns() == 5
    assert [type(error) for error in errors] == [ClockError]
    assert "call_after" in str(errors[0])
    clock.advance(1)


@pytest.mark.parametrize(
    "past",
    [
        lambda clock: clock.call_at(9, lambda: None),
        lambda clock: clock.call_after(-1, lambda: None),
        lambda clock: clock.call_every(1, lambda: None, first_at_ns=9),
        lambda clock: clock.advance(-1),
        lambda clock: clock.advance_to(9),
    ],
)
def test_the_past_is_refused(past: Callable[[SimClock], None]) -> None:
    clock = SimClock()
    clock.advance(10)
    with pytest.raises(ClockError, match="9 ns: it is already 10 ns"):
        past(clock)
    assert clock.now_ns() == 10


@pytest.mark.parametrize("period_ns", [0, -5])
def test_a_period_must_be_above_zero(period_ns: int) -> None:
    with pytest.raises(ClockError, match=f"period_ns is {period_ns}"):
        SimClock().call_every(period_ns, lambda: None)


@pytest.mark.parametrize("value", [1.0, float("nan"), True, "1", None])
@pytest.mark.parametrize(
    "use",
    [
        lambda clock, value: clock.call_at(value, lambda: None),
        lambda clock, value: clock.call_after(value, lambda: None),
        lambda clock, value: clock.call_every(value, lambda: None),
        lambda clock, value: clock.advance(value),
        lambda clock, value: clock.advance_to(value),
    ],
)
def test_time_is_an_int_or_an_error(use: Callable[[SimClock, object], None], value: object) -> None:
    with pytest.raises(ClockError) as caught:
        use(SimClock(), value)
    assert repr(value) in str(caught.value)


def test_a_failing_callback_is_reported_and_costs_one_beat() -> None:
    reports: list[tuple[BaseException, Callback]] = []
    clock = SimClock(on_error=lambda error, callback: reports.append((error, callback)))
    beats_ns: list[int] = []

    def fail_at_20() -> None:
        beats_ns.append(clock.now_ns())
        if clock.now_ns() == 20:
            raise ValueError("20")

    clock.call_every(10, fail_at_20)
    clock.advance(40)
    assert beats_ns == [10, 20, 30, 40]
    assert [(str(error), callback) for error, callback in reports] == [("20", fail_at_20)]
    assert clock.failures == 1


def test_a_failing_callback_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    clock = SimClock()
    empty: list[int] = []
    clock.call_at(1, lambda: empty.remove(0))
    with caplog.at_level(logging.ERROR):
        clock.advance(2)
    assert clock.now_ns() == 2
    assert "ValueError" in caplog.text


def test_the_system_clock_starts_at_zero_and_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.now_ns() for _ in range(1_000)]
    assert 0 <= readings[0] < 1_000_000_000
    assert readings == sorted(readings)
    assert readings[-1] > readings[0]
    assert type(readings[0]) is int
