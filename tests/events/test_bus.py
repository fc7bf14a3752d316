"""The bus, one behaviour at a time. test_bus_order.py judges its order on random topologies."""

import threading
from typing import Any

import pytest

from ghost.core.channels import Channel
from ghost.core.errors import BusError, ChannelError
from ghost.events import EVENTS, Event, Severity, Subscription
from tests.events.rig import NUMBERS, WORDS, Rig, Tape, event, fail


def test_what_a_handler_publishes_waits_until_all_have_the_message(rig: Rig) -> None:
    rig.listen("a", act=lambda number: rig.bus.publish(WORDS, f"after {number}"))
    rig.listen("b")
    rig.listen("c", WORDS)
    rig.bus.publish(NUMBERS, 1)
    rig.bus.publish(NUMBERS, 2)
    assert rig.got == [
        *[("a", 1), ("b", 1), ("c", "after 1")],
        *[("a", 2), ("b", 2), ("c", "after 2")],
    ]


def test_sinks_come_before_subscribers_and_in_order_of_their_names(rig: Rig) -> None:
    rig.listen("subscriber")
    for name in ("z", "a"):
        rig.bus.attach(Tape(lambda number, name=name: rig.got.append((name, number))), name=name)  # type: ignore[misc]  # mypy has no type for a lambda's defaults
    rig.bus.publish(NUMBERS, 7)
    assert rig.got == [("a", 7), ("z", 7), ("subscriber", 7)]


def test_what_nobody_hears_takes_a_number_too(rig: Rig) -> None:
    numbers: list[int] = []

    class Counter:
        def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
            del channel, message, stamp_ns
            numbers.append(sequence)

    rig.bus.publish(NUMBERS, 1)
    rig.bus.attach(Counter(), name="counter")
    rig.bus.publish(NUMBERS, 2)
    assert numbers == [1]


# The safety subscriber


@pytest.mark.parametrize("channel", [EVENTS, EVENTS.under("/vehicle/3")])
def test_an_alarm_reaches_safety_before_anybody_else_and_once(
    rig: Rig, channel: Channel[Event]
) -> None:
    rig.bus.attach(Tape(lambda alarm: rig.got.append(("sink", alarm.text))), name="sink")
    rig.bus.subscribe(channel, lambda alarm: rig.got.append(("a", alarm.text)), name="a")
    rig.guard()
    rig.bus.publish(channel, event(Severity.ERROR, "not yet"))
    rig.alarm("fire", channel)
    assert rig.got == [
        *[("sink", "not yet"), ("a", "not yet")],
        *[("safety", "fire"), ("sink", "fire"), ("a", "fire")],
    ]


def test_an_alarm_from_a_handler_or_a_sink_does_not_wait_for_its_turn(rig: Rig) -> None:
    def raise_alarm(number: int) -> None:
        rig.bus.publish(WORDS, "queued first")
        rig.alarm(f"fire {number}")
        rig.got.append(("a", "published"))

    rig.guard()
    rig.listen("a", act=raise_alarm)
    rig.listen("b")
    rig.listen("c", WORDS)
    rig.texts("d")
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [
        *[("a", 1), ("safety", "fire 1"), ("a", "published"), ("b", 1)],
        *[("c", "queued first"), ("d", "fire 1")],
    ]
    rig.got.clear()

    def raise_another(message: object) -> None:
        if message == 2:
            rig.alarm("smoke")

    rig.bus.attach(Tape(raise_another), name="sink")
    rig.bus.publish(NUMBERS, 2)
    assert rig.got[:2] == [("safety", "smoke"), ("a", 2)]
    assert rig.got.count(("safety", "smoke")) == 1


@pytest.mark.parametrize("from_handler", [False, True])
def test_an_alarm_from_safety_follows_unnested_before_publish_returns(
    rig: Rig, from_handler: bool
) -> None:
    steps: list[str] = []

    def escalate(alarm: Event) -> None:
        steps.append("in")
        for child in ("1", "2") if len(alarm.text) < 2 else ():
            rig.alarm(alarm.text + child)
        steps.append("out")

    def raise_alarm(_: object) -> None:
        rig.alarm("0")
        steps.append("published")

    rig.guard(escalate)
    rig.texts("a")
    if from_handler:
        rig.listen("numbers", act=raise_alarm)
        rig.bus.publish(NUMBERS, 1)
    else:
        raise_alarm(0)
    assert steps == [*["in", "out"] * 3, "published"]
    assert [text for name, text in rig.got if name == "safety"] == ["0", "01", "02"]
    assert rig.tape.sequences() == sorted(rig.tape.sequences())
    assert [text for name, text in rig.got if name == "a"] == ["0", "01", "02"]


def test_what_safety_publishes_follows_the_alarm(rig: Rig) -> None:
    rig.guard(lambda _: rig.bus.publish(WORDS, "motors off"))
    rig.alarm("fire")
    assert rig.tape.sequences() == [0, 1]
    assert [name for _, name, _ in rig.tape.rows] == [EVENTS.name, WORDS.name]


def test_without_safety_an_alarm_travels_like_any_event(rig: Rig) -> None:
    rig.texts("a")
    rig.alarm("fire")
    rig.guard()
    assert rig.got == [("a", "fire")]  # and is not kept for a later guard
    rig.alarm("smoke")
    assert rig.got == [("a", "fire"), ("safety", "smoke"), ("a", "smoke")]


def test_a_severity_that_is_a_plain_number_is_an_alarm_too(rig: Rig) -> None:
    rig.guard()
    rig.bus.publish(EVENTS, event(5, "from a careless decoder"))  # type: ignore[arg-type]  # on purpose
    assert rig.got == [("safety", "from a careless decoder")]


# Changes during a delivery


@pytest.mark.parametrize(
    ("cancelled", "expected"),
    [("a", ["a", "b", "c", "b", "c"]), ("b", ["a", "b", "c", "a", "c"]), ("c", list("abab"))],
)
def test_cancelling_in_a_callback_holds_at_once(
    rig: Rig, cancelled: str, expected: list[str]
) -> None:
    subscriptions: dict[str, Subscription] = {}
    subscriptions["a"] = rig.listen("a")
    subscriptions["b"] = rig.listen("b", act=lambda _: subscriptions[cancelled].cancel())
    subscriptions["c"] = rig.listen("c")
    rig.bus.publish(NUMBERS, 1)
    rig.bus.publish(NUMBERS, 2)
    assert [name for name, _ in rig.got] == expected
    assert rig.reports() == []


def test_cancelling_twice_is_harmless_and_frees_the_name_once(rig: Rig) -> None:
    first = rig.listen("a")
    first.cancel()
    first.cancel()
    second = rig.listen("a")
    first.cancel()
    assert (first.active, second.active) == (False, True)
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("a", 1)]


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_subscription_made_in_a_callback_begins_with_the_next_message(
    rig: Rig, name: str
) -> None:
    rig.listen("m", act=lambda number: number == 1 and rig.listen(name))
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("m", 1)]
    rig.bus.publish(NUMBERS, 2)
    assert rig.got[1:] == sorted([("m", 2), (name, 2)])


def test_a_handler_may_replace_itself(rig: Rig) -> None:
    def replace(_: int) -> None:
        old.cancel()
        rig.listen("a", act=lambda _: None)

    old = rig.listen("a", act=replace)
    for number in range(3):
        rig.bus.publish(NUMBERS, number)
    assert rig.got == [("a", 0), ("a", 1), ("a", 2)]


def test_sinks_may_come_and_go_in_a_callback(rig: Rig) -> None:
    late = Tape()

    def swap(number: int) -> None:
        if number == 1:
            rig.bus.detach("tape")
            rig.bus.attach(late, name="tape")
            rig.bus.publish(NUMBERS, 2)

    rig.listen("a", act=swap)
    rig.bus.publish(NUMBERS, 1)
    assert (rig.tape.messages(NUMBERS), late.messages(NUMBERS)) == ([1], [2])
    rig.bus.detach("tape")
    rig.bus.detach("tape")
    rig.bus.publish(NUMBERS, 3)
    assert late.messages(NUMBERS) == [2]


def test_a_sink_may_attach_another_and_detach_itself(rig: Rig) -> None:
    late = Tape()

    def hand_over(_: int) -> None:
        rig.bus.detach("once")
        rig.bus.attach(late, name="z")

    once = Tape(hand_over)
    rig.bus.attach(once, name="once")
    rig.bus.publish(NUMBERS, 1)
    rig.bus.publish(NUMBERS, 2)
    assert (once.messages(NUMBERS), late.messages(NUMBERS)) == ([1], [2])
    assert rig.tape.messages(NUMBERS) == [1, 2]


# Misuse


@pytest.mark.parametrize("message", ["1", 1.0, True, None])
def test_a_channel_carries_its_own_type_and_no_other(rig: Rig, message: Any) -> None:
    with pytest.raises(ChannelError, match=f"{type(message).__name__} published on /numbers"):
        rig.bus.publish(NUMBERS, message)
    rig.bus.publish(NUMBERS, 1)
    assert rig.tape.rows == [(0, "/numbers", 1)]


def test_a_channel_name_has_one_type(rig: Rig) -> None:
    rig.listen("a")
    impostor = Channel(NUMBERS.name, str)
    with pytest.raises(ChannelError, match="/numbers carries int, not str"):
        rig.listen("b", impostor)
    with pytest.raises(ChannelError, match="str published on /numbers, which carries int"):
        rig.bus.publish(impostor, "1")
    with pytest.raises(ChannelError, match="/events carries Event, not int"):
        rig.listen("a", Channel(EVENTS.name, int))


def test_names_are_unique_on_a_channel_and_among_sinks(rig: Rig) -> None:
    rig.listen("a")
    rig.listen("a", WORDS)
    with pytest.raises(BusError, match="'a' subscribes to /numbers twice"):
        rig.listen("a")
    with pytest.raises(BusError, match="a sink named 'tape' is attached already"):
        rig.bus.attach(Tape(), name="tape")
    rig.bus.publish(NUMBERS, 1)
    assert rig.got == [("a", 1)]


def test_there_is_one_safety_subscriber(rig: Rig) -> None:
    rig.guard()
    with pytest.raises(BusError, match="safety subscriber already"):
        rig.bus.guard(fail)
    rig.alarm("fire")
    assert rig.got == [("safety", "fire")]
    assert rig.reports() == []


def test_another_thread_may_not_publish(rig: Rig) -> None:
    errors: list[BusError] = []

    def publish() -> None:
        try:
            rig.bus.publish(NUMBERS, 1)
        except BusError as error:
            errors.append(error)

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join()
    assert [str(error) for error in errors] == [
        "/numbers published from another thread; the bus has one thread"
    ]
    rig.bus.publish(NUMBERS, 2)
    assert rig.tape.rows == [(0, "/numbers", 2)]
