"""What the tests of the bus share: a bus with a sink that remembers, and handlers that do too."""

from collections.abc import Callable
from typing import Any, NoReturn

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, EventKind, Severity, Subscription

NUMBERS = Channel("/numbers", int)
WORDS = Channel("/words", str)
Received = list[tuple[str, Any]]


class Tape:
    """A sink that keeps what it gets, and may do something about it."""

    def __init__(self, act: Callable[[Any], object] = lambda _: None) -> None:
        self.rows: list[tuple[int, str, Any]] = []
        self._act = act

    def write(self, channel: Channel[Any], message: Any, _: int, sequence: int) -> None:
        self.rows.append((sequence, channel.name, message))
        self._act(message)

    def messages(self, channel: Channel[Any]) -> list[Any]:
        return [message for _, name, message in self.rows if name == channel.name]

    def sequences(self) -> list[int]:
        return [sequence for sequence, _, _ in self.rows]


class Rig:
    def __init__(self) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.tape = Tape()
        self.bus.attach(self.tape, name="tape")
        self.got: Received = []

    def listen(
        self,
        name: str,
        channel: Channel[Any] = NUMBERS,
        act: Callable[[Any], object] = lambda _: None,
    ) -> Subscription:
        """Subscribe a handler that notes each message and then acts on it."""

        def handler(message: Any) -> None:
            self.got.append((name, message))
            act(message)

        return self.bus.subscribe(channel, handler, name=name)

    def guard(self, act: Callable[[Event], object] = lambda _: None) -> None:
        def handler(event: Event) -> None:
            self.got.append(("safety", event.text))
            act(event)

        self.bus.guard(handler)

    def texts(self, name: str) -> None:
        self.bus.subscribe(EVENTS, lambda event: self.got.append((name, event.text)), name=name)

    def alarm(self, text: str, channel: Channel[Event] = EVENTS) -> None:
        self.bus.publish(channel, event(Severity.CRITICAL, text))

    def reports(self) -> list[Event]:
        return [e for e in self.tape.messages(EVENTS) if e.kind == EventKind.SUBSCRIBER_FAILED]


def event(severity: Severity, text: str, **payload: Any) -> Event:
    return Event(0, severity, "TEST", "tests", text, payload)


def fail(_: object) -> NoReturn:
    raise ValueError("no")


def interrupt(_: object) -> NoReturn:
    raise KeyboardInterrupt
