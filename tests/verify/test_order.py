"""Gaps are excused by what was reported before anybody looked, one for one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ghost.events import Event, EventKind, Severity
from ghost.verify import Heard, Result, Verdict
from ghost.verify.order import Order

COUNT = 60


def report(sequence: int, lost: int) -> Heard:
    event = Event(
        sequence,
        Severity.WARN,
        EventKind.TELEMETRY_BACKPRESSURE,
        "log",
        payload={"dropped": {"/sensors/imu": lost}},
    )
    return Heard("/events", event, sequence, sequence, sequence)


def imu(sequence: int) -> Heard:
    return Heard("/sensors/imu", None, sequence, sequence, sequence)


def judged(records: Sequence[Heard]) -> Verdict:
    order = Order()
    for heard in records:
        order.hear(heard)
    return order.verdict()


lost = st.sets(st.integers(0, COUNT - 1), min_size=1)


@given(lost)
def test_what_is_missing_and_not_reported_fails_at_the_message_behind(missing: set[int]) -> None:
    found = judged([imu(row) for row in range(COUNT + 1) if row not in missing])
    behind = next(row for row in range(COUNT + 1) if row not in missing and row > min(missing))
    assert found.result is Result.FAIL
    assert found.first is not None
    assert found.first.sequence == behind
    assert f"{len(missing)} messages are missing" in found.figure


@given(lost, st.integers(-1, 5))
def test_a_report_explains_as_many_as_it_says(missing: set[int], too_many: int) -> None:
    kept = [imu(row) for row in range(COUNT) if row not in missing]
    found = judged([*kept, report(COUNT, len(missing) + too_many)])
    assert found.result is (Result.FAIL if too_many < 0 else Result.PASS)


def test_a_report_excuses_nothing_that_is_lost_later() -> None:
    found = judged([report(0, 10), imu(1), imu(3)])
    assert found.result is Result.FAIL
    assert found.first == imu(3)


def test_a_sequence_may_neither_repeat_nor_fall() -> None:
    for second in (0, 1):
        found = judged([imu(0), imu(1), Heard("/sensors/imu", None, 2, 2, second)])
        assert found.result is Result.FAIL
        assert "where 2 or more was due" in found.figure


def test_a_derived_message_shares_its_source_s_sequence() -> None:
    view = Heard("/events/text", None, 0, 0, 0, is_derived=True)
    assert judged([report(0, 0), view, imu(1)]).result is Result.PASS
    stray = Heard("/events/text", None, 1, 1, 0, is_derived=True)
    assert judged([report(0, 0), imu(1), stray]).result is Result.FAIL


def test_the_sequence_may_wrap() -> None:
    order = Order()
    order._expected = 2**32 - 1
    for sequence in (2**32 - 1, 0, 1):
        order.hear(Heard("/sensors/imu", None, 0, 0, sequence))
    assert order.verdict().result is Result.PASS


def test_time_may_not_go_back_nor_a_stamp_lie_ahead() -> None:
    back = judged([imu(0), Heard("/sensors/imu", None, 9, 9, 1), imu(2)])
    assert back.figure == "log time goes back by 7 ns"
    ahead = judged([Heard("/sensors/imu", None, 5, 8, 0)])
    assert ahead.figure == "stamped 3 ns after it was logged"
    assert judged([Heard("/cmd/velocity", None, 5, 8, 0)]).result is Result.PASS
