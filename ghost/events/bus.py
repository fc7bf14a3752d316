"""The bus: one global sequence, one order, for streams and events alike.

A publish is stamped with run time and the next sequence number. What is published from inside a
callback waits its turn, and the outermost publish drains the queue; so everybody sees everything
in order of (stamp_ns, sequence). Subscribers of one channel are called in order of their names,
not of their subscription: composing the same modules in another order gives the same run.
"""

import logging
from bisect import insort
from collections import deque
from collections.abc import Callable
from threading import get_ident
from traceback import walk_tb
from typing import Any, Protocol, TypeVar

from ghost.core.channels import Channel
from ghost.core.clock import Clock
from ghost.core.errors import BusError, ChannelError
from ghost.events.event import EVENTS, Event, EventKind, Severity

M = TypeVar("M")
Handler = Callable[[M], None]


class Sink(Protocol):
    """Takes every message of the bus, in order: a log, a recorder, a network bridge."""

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None: ...


class Subscription:
    """A handler on a channel. After cancel() returns, the handler is never called again."""

    __slots__ = ("_topic", "active", "handler", "name")

    def __init__(self, topic: "_Topic", name: str, handler: Handler[Any]) -> None:
        self._topic = topic
        self.name = name
        self.handler = handler
        self.active = True

    def cancel(self) -> None:
        if self.active:
            self.active = False
            topic = self._topic
            topic.subscriptions = [other for other in topic.subscriptions if other is not self]


class Bus:
    """In process and single-threaded: everything runs in the thread that made the bus."""

    __slots__ = (
        "_busy",
        "_critical",
        "_handling_critical",
        "_interrupted",
        "_pending",
        "_safety",
        "_sequence",
        "_sinks",
        "_thread",
        "_topics",
        "now_ns",
    )

    def __init__(self, clock: Clock) -> None:
        self.now_ns = clock.now_ns
        self._thread = get_ident()
        self._sequence = 0
        self._busy = False
        self._interrupted = False  # by a KeyboardInterrupt or the like; busy until the next publish
        self._topics: dict[str, _Topic] = {}
        self._sinks: list[tuple[str, Sink]] = []
        self._pending: deque[tuple[_Topic, Any, int, int]] = deque()
        self._safety: Handler[Event] = _unguarded
        self._handling_critical = False
        self._critical: deque[tuple[_Topic, Event, int]] = deque()
        self._topic(EVENTS)

    def subscribe(self, channel: Channel[M], handler: Handler[M], *, name: str) -> Subscription:
        """Call handler with every message on channel. The name says who, and gives the order."""
        topic = self._topic(channel)
        if any(other.name == name for other in topic.subscriptions):
            raise BusError(f"{name!r} subscribes to {channel.name} twice; give each its own name")
        subscription = Subscription(topic, name, handler)
        subscriptions = topic.subscriptions.copy()  # a delivery under way keeps the old list
        insort(subscriptions, subscription, key=lambda other: other.name)
        topic.subscriptions = subscriptions
        return subscription

    def attach(self, sink: Sink, *, name: str) -> None:
        """Give sink every message, before any subscriber: what caused a crash is in the log."""
        if any(other == name for other, _ in self._sinks):
            raise BusError(f"a sink named {name!r} is attached already; give each its own name")
        self._sinks = sorted([*self._sinks, (name, sink)], key=lambda entry: entry[0])

    def detach(self, name: str) -> None:
        self._sinks = [entry for entry in self._sinks if entry[0] != name]

    def guard(self, handler: Handler[Event]) -> None:
        """Make handler the safety subscriber: it gets CRITICAL events inside the publish call."""
        if self._safety is not _unguarded:
            raise BusError("there is a safety subscriber already; a bus has one")
        self._safety = handler

    def publish(self, channel: Channel[M], message: M) -> None:
        topic = self._topics.get(channel.name) or self._topic(channel)
        if message.__class__ is not topic.message_type:
            raise ChannelError(
                f"{type(message).__name__} published on {channel.name}, "
                f"which carries {topic.message_type.__name__}"
            )
        if get_ident() != self._thread:
            raise BusError(f"{channel.name} published from another thread; the bus has one thread")
        sequence = self._sequence
        self._sequence = sequence + 1
        stamp_ns = self.now_ns()
        if topic.message_type is Event and message.severity == Severity.CRITICAL:  # type: ignore[attr-defined]  # an Event
            self._publish_critical(topic, message, stamp_ns, sequence)
            return
        if not (topic.subscriptions or self._sinks or self._busy):
            return  # nobody hears it: most of what a vehicle of a swarm says
        if self._busy:
            self._pending.append((topic, message, stamp_ns, sequence))
            if self._interrupted:
                self._drain()
            return
        self._busy = True
        try:
            self._deliver(topic, message, stamp_ns, sequence)
            while self._pending:
                self._deliver(*self._pending.popleft())
        except BaseException:
            self._interrupted = True
            raise
        self._busy = False

    def _publish_critical(self, topic: "_Topic", event: Any, stamp_ns: int, sequence: int) -> None:
        """Queue event, so that it precedes what its handling publishes, and handle it now."""
        self._pending.append((topic, event, stamp_ns, sequence))
        self._critical.append((topic, event, sequence))
        if self._busy and not self._interrupted:
            self._alarm()
        else:
            self._drain()

    def _drain(self) -> None:
        """Handle and deliver what waits, what an interrupt such as Ctrl-C left over included."""
        self._busy = True
        self._interrupted = False
        try:
            self._alarm()
            while self._pending:
                self._deliver(*self._pending.popleft())
        except BaseException:
            self._interrupted = True
            raise
        self._busy = False

    def _deliver(self, topic: "_Topic", message: Any, stamp_ns: int, sequence: int) -> None:
        for name, sink in self._sinks:
            try:
                sink.write(topic.channel, message, stamp_ns, sequence)
            except Exception as error:  # noqa: BLE001 - reported below
                self._report(error, name, topic, message, sequence)
        if message.__class__ is Event and _reports_report(message):
            return
        for subscription in topic.subscriptions:
            if subscription.active:
                try:
                    subscription.handler(message)
                except Exception as error:  # noqa: BLE001 - reported below
                    self._report(error, subscription.name, topic, message, sequence)

    def _alarm(self) -> None:
        """Hand alarms to the safety subscriber; one raised meanwhile follows, not nested."""
        if self._handling_critical:
            return
        self._handling_critical = True
        try:
            while self._critical:
                topic, event, sequence = self._critical.popleft()
                try:
                    self._safety(event)
                except Exception as error:  # noqa: BLE001 - reported below
                    self._report(error, "safety", topic, event, sequence)
        finally:
            self._handling_critical = False

    def _report(
        self, error: Exception, name: str, topic: "_Topic", message: Any, sequence: int
    ) -> None:
        """A failing subscriber is an event. A failure on such a report is told to sinks alone,
        and a failure on that one to the Python log, so that reporting always ends.
        """
        reports_report = False
        if message.__class__ is Event and message.kind == EventKind.SUBSCRIBER_FAILED:
            if _reports_report(message):
                logging.getLogger(__name__).error("%s failed on a report", name, exc_info=error)
                return
            reports_report = True
        self.publish(
            EVENTS,
            Event(
                stamp_ns=self.now_ns(),
                severity=Severity.ERROR,
                kind=EventKind.SUBSCRIBER_FAILED,
                source=name,
                text=f"{name} failed on {topic.channel.name}: {_words(error)}",
                payload={
                    "channel": topic.channel.name,
                    "sequence": sequence,
                    "traceback": _frames(error),
                    "reports_report": reports_report,
                },
            ),
        )

    def _topic(self, channel: Channel[Any]) -> "_Topic":
        topic = self._topics.get(channel.name)
        if topic is None:
            topic = self._topics[channel.name] = _Topic(channel)
        elif topic.message_type is not channel.message_type:
            raise ChannelError(
                f"{channel.name} carries {topic.message_type.__name__}, "
                f"not {channel.message_type.__name__}; one channel has one type"
            )
        return topic


class _Topic:
    __slots__ = ("channel", "message_type", "subscriptions")

    def __init__(self, channel: Channel[Any]) -> None:
        self.channel = channel
        self.message_type = channel.message_type
        self.subscriptions: list[Subscription] = []


def _unguarded(_: Event) -> None:
    pass


def _reports_report(event: Event) -> bool:
    return event.kind == EventKind.SUBSCRIBER_FAILED and bool(event.payload.get("reports_report"))


def _words(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return type(error).__name__


def _frames(error: Exception) -> list[str]:
    """The traceback by module, not by file: the same text wherever Ghost is installed."""
    return [
        f"{frame.f_globals.get('__name__', '?')}:{line} in {frame.f_code.co_name}"
        for frame, line in walk_tb(error.__traceback__)
    ]
