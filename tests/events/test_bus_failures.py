"""The bus when somebody on it fails, or an interrupt such as Ctrl-C strikes."""

import logging
from typing import NoReturn

import pytest

from ghost.events import EVENTS, Event, Severity
from tests.events.rig import NUMBERS, WORDS, Rig, Tape, event, fail, interrupt


def test_a_failing_subscriber_is_one_event_and_the_others_get_the_message(rig: Rig) -> None:
    rig.listen("a")
    rig.listen("b", act=fail)
    rig.listen("c")
    rig.clock.advance(5)
    rig.bus.publish(WORDS, "first")
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("a", 1), ("b", 1), ("c", 1)]
    (report,) = rig.reports()
    assert (report.stamp_ns, report.severity, report.source) == (5, Severity.ERROR, "b")
    assert report.text == "b failed on /numbers: ValueError: no"
    assert (report.payload["channel"], report.payload["sequence"]) == ("/numbers", 1)
    traceback = report.payload["traceback"]
    assert traceback[0].startswith("ghost.events.bus:")
    assert traceback[-1].endswith(" in fail")
    assert not any("/" in line for line in traceback)  # modules, not files


def test_a_failing_sink_is_one_event_and_the_others_get_the_message(rig: Rig) -> None:
    rig.bus.attach(Tape(lambda message: message == 1 and fail(message)), name="broken")
    rig.listen("a")
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("a", 1)]
    assert [report.source for report in rig.reports()] == ["broken"]
    assert rig.tape.messages(NUMBERS) == [1]


def test_a_failing_safety_subscriber_is_told_and_the_next_alarm_still_reaches_it(rig: Rig) -> None:
    vehicle = EVENTS.under("/vehicle/3")
    rig.guard(fail)
    rig.texts("a")
    rig.bus.publish(NUMBERS, 1)
    rig.alarm("fire", vehicle)
    rig.alarm("smoke")
    assert [text for name, text in rig.got if name == "safety"] == ["fire", "smoke"]
    assert [
        (report.source, report.payload["channel"], report.payload["sequence"])
        for report in rig.reports()
    ] == [("safety", vehicle.name, 1), ("safety", EVENTS.name, 3)]
    assert rig.tape.sequences() == [0, 1, 2, 3, 4]


def test_an_error_that_cannot_say_what_it_is_gets_reported_too(rig: Rig) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def fail_mutely(_: int) -> NoReturn:
        raise MuteError

    rig.listen("a", act=fail_mutely)
    rig.listen("b")
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("a", 1), ("b", 1)]
    assert [report.text for report in rig.reports()] == ["a failed on /numbers: MuteError"]


def test_reporting_ends_when_a_subscriber_of_events_always_fails(rig: Rig) -> None:
    rig.listen("a", EVENTS, act=fail)
    rig.texts("b")
    rig.bus.publish(EVENTS, event(Severity.INFO, "hello"))
    first, second = rig.reports()
    assert (first.payload["reports_report"], second.payload["reports_report"]) == (False, True)
    assert [text for name, text in rig.got if name == "b"] == ["hello", first.text]
    assert len([name for name, _ in rig.got if name == "a"]) == 2


@pytest.mark.parametrize("sinks", [1, 3])
def test_reporting_ends_when_sinks_always_fail(
    rig: Rig, caplog: pytest.LogCaptureFixture, sinks: int
) -> None:
    for index in range(sinks):
        rig.bus.attach(Tape(fail), name=f"broken {index}")
    rig.listen("a")
    with caplog.at_level(logging.ERROR):
        rig.bus.publish(NUMBERS, 1)
    assert len(rig.reports()) == sinks + sinks**2
    assert len(caplog.records) == sinks**3
    assert "broken 0 failed on a report" in caplog.text
    assert "ValueError: no" in caplog.text
    rig.bus.detach("broken 0")
    assert rig.got == [("a", 1)]


def test_everything_failing_at_once_still_ends(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.bus.attach(Tape(fail), name="broken")
    rig.listen("a", EVENTS, act=fail)
    rig.guard(fail)
    with caplog.at_level(logging.ERROR):
        rig.alarm("fire")
    assert {report.source for report in rig.reports()} == {"safety", "broken", "a"}
    assert rig.tape.sequences() == list(range(len(rig.tape.rows)))


def test_only_reports_of_the_bus_are_kept_from_subscribers(rig: Rig) -> None:
    rig.texts("a")
    rig.bus.publish(EVENTS, event(Severity.INFO, "mine", reports_report=True))
    assert rig.got == [("a", "mine")]


# Interrupts


def test_after_an_interrupt_what_was_queued_comes_first(rig: Rig) -> None:
    def publish_two_and_stop(_: str) -> None:
        rig.bus.publish(NUMBERS, 1)
        rig.bus.publish(NUMBERS, 2)
        interrupt(None)

    def answer_the_first(number: int) -> None:
        if number == 1:
            rig.bus.publish(NUMBERS, 5)

    rig.listen("a", WORDS, publish_two_and_stop)
    rig.listen("b", act=answer_the_first)
    rig.listen("c")
    with pytest.raises(KeyboardInterrupt):
        rig.bus.publish(WORDS, "go")
    assert rig.got == [("a", "go")]
    rig.bus.publish(NUMBERS, 3)
    rig.bus.publish(NUMBERS, 4)
    assert rig.got[1:] == [(name, number) for number in (1, 2, 3, 5, 4) for name in ("b", "c")]
    assert rig.tape.sequences() == [0, 1, 2, 3, 4, 5]
    assert rig.reports() == []


def test_an_interrupt_may_strike_again_and_in_a_sink(rig: Rig) -> None:
    def count(_: str) -> None:
        for number in (1, 2, 3):
            rig.bus.publish(NUMBERS, number)

    rig.listen("a", WORDS, count)
    rig.bus.attach(Tape(lambda message: message in {2, 4} and interrupt(message)), name="z")
    rig.listen("b")
    with pytest.raises(KeyboardInterrupt):
        rig.bus.publish(WORDS, "go")
    with pytest.raises(KeyboardInterrupt):
        rig.bus.publish(NUMBERS, 4)
    rig.bus.publish(NUMBERS, 5)
    assert rig.tape.messages(NUMBERS) == [1, 2, 3, 4, 5]
    assert rig.got == [("a", "go"), ("b", 1), ("b", 3), ("b", 5)]


@pytest.mark.parametrize("next_is_alarm", [False, True])
def test_an_interrupt_in_safety_loses_no_alarm(rig: Rig, next_is_alarm: bool) -> None:
    def escalate_and_stop(alarm: Event) -> None:
        if alarm.text == "fire":
            rig.alarm("smoke")
            interrupt(alarm)

    rig.guard(escalate_and_stop)
    rig.texts("a")
    with pytest.raises(KeyboardInterrupt):
        rig.alarm("fire")
    assert rig.got == [("safety", "fire")]
    if next_is_alarm:
        rig.alarm("flood")
    else:
        rig.bus.publish(EVENTS, event(Severity.INFO, "flood"))
    told = [("safety", "fire"), ("safety", "smoke"), ("safety", "flood")]
    assert rig.got == [
        *told[: 2 + next_is_alarm],
        *[("a", "fire"), ("a", "smoke"), ("a", "flood")],
    ]
    assert rig.tape.sequences() == [0, 1, 2]
