"""Everything that goes on over all links, in one thread and one call: spin().

Messages are handled where they are read, at once, and nothing is sent but by whoever calls. So a
program that hangs falls silent: nothing here keeps a dead controller looking alive.
"""

import select
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firmware_bridge.endpoint import Endpoint
from firmware_bridge.frame import Frame
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, decode, encode, id_of
from firmware_bridge.signing import Signer
from ghost.core.errors import ConfigError, StalledError

UPKEEP_NS = 50_000_000

Handler = Callable[["Received"], None]
Cancel = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Received:
    """A message, from whom, over which link, and when it was read, in run time."""

    message: Message
    frame: Frame
    link: Link
    at_ns: int


@dataclass(slots=True, eq=False)
class _Listener:
    call: Callable[..., None]
    is_cancelled: bool = False


@dataclass(slots=True)
class _Timer:
    due_ns: int
    period_ns: int
    call: Callable[[int], None]
    is_cancelled: bool = False


class Hub:
    """Speaks as one system and component over any number of links."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        *,
        system: int,
        component: int,
        on_news: Callable[[Link, bool, str], None] = lambda *_: None,
    ) -> None:
        self.now_ns = now_ns
        self.system, self.component = system, component
        self.links: list[Link] = []
        self._on_news = on_news
        self._listeners: dict[int, tuple[_Listener, ...]] = {}
        self._frame_listeners: tuple[_Listener, ...] = ()
        self._timers: list[_Timer] = []
        self._upkeep_ns = 0
        self._inbox: deque[tuple[Frame, Link, int]] = deque()

    def add(self, endpoint: Endpoint, *, signer: Signer | None = None) -> Link:
        link = Link(endpoint, on_news=self._on_news, signer=signer)
        self.links.append(link)
        link.maintain(self.now_ns())
        return link

    def remove(self, link: Link) -> None:
        link.close()
        self.links = [kept for kept in self.links if kept is not link]

    def on(self, name: str, handler: Handler) -> Cancel:
        """Call handler with each message of that name, from anybody. Only what somebody listens to
        is decoded.
        """
        number, listener = id_of(name), _Listener(handler)
        self._listeners[number] = (*self._listeners.get(number, ()), listener)

        def cancel() -> None:
            listener.is_cancelled = True
            kept = tuple(one for one in self._listeners[number] if one is not listener)
            self._listeners[number] = kept

        return cancel

    def on_frame(self, handler: Callable[[Frame, Link, int], None]) -> Cancel:
        """Call handler with each frame as it is, decoded by nobody."""
        listener = _Listener(handler)
        self._frame_listeners = (*self._frame_listeners, listener)

        def cancel() -> None:
            listener.is_cancelled = True
            kept = tuple(one for one in self._frame_listeners if one is not listener)
            self._frame_listeners = kept

        return cancel

    def every(self, period_ns: int, call: Callable[[int], None]) -> Cancel:
        """Call with the time, now and then each period, while spinning; what was missed is left
        out.
        """
        if period_ns <= 0:
            raise ConfigError(f"a timer has a period of {period_ns} ns; expected more than 0")
        timer = _Timer(self.now_ns(), period_ns, call)
        self._timers.append(timer)

        def cancel() -> None:
            timer.is_cancelled = True
            self._timers = [kept for kept in self._timers if kept is not timer]

        return cancel

    def send(self, message: Message, link: Link | None = None) -> None:
        """Over one link, or over all that are up."""
        now_ns = self.now_ns()
        for one in (link,) if link is not None else self.links:
            if not one.can_send:
                one.counts.unsent += 1
                continue
            raw = encode(
                message,
                system=self.system,
                component=self.component,
                sequence=one.next_sequence(),
                signed=one.signer is not None,
            )
            one.send(raw if one.signer is None else one.signer.sign(raw), now_ns)

    def has_unread(self) -> bool:
        """Whether something has come that nobody has seen yet."""
        numbers = [number for link in self.links for number in link.numbers]
        return bool(self._inbox or select.select(numbers, [], [], 0.0)[0])

    def spin(self, until_ns: int) -> None:
        """Let messages and timers happen until then; at least once, even if that is past."""
        self._step(until_ns)
        while self.now_ns() < until_ns:
            self._step(until_ns)

    def wait_for(
        self,
        name: str,
        fits: Callable[[Received], bool],
        *,
        within_ns: int,
        what: str,
    ) -> Received:
        """The first message of that name that fits; StalledError naming what was waited for."""
        found: list[Received] = []

        def take(received: Received) -> None:
            if not found and fits(received):
                found.append(received)

        cancel = self.on(name, take)
        try:
            self.spin_until(lambda: bool(found), within_ns=within_ns, what=what)
        finally:
            cancel()
        return found[0]

    def spin_until(self, is_done: Callable[[], bool], *, within_ns: int, what: str) -> None:
        end_ns = self.now_ns() + within_ns
        while not is_done():
            if self.now_ns() >= end_ns:
                raise StalledError(f"{what}: nothing in {within_ns / 1e9:g} s{self._troubles()}")
            self._step(end_ns)

    def close(self) -> None:
        for link in self.links:
            link.close()

    def take_in(self, link: Link, now_ns: int) -> None:
        """What has arrived on a link that is readable; deliver() hands it on."""
        self._inbox.extend((frame, link, now_ns) for frame in link.receive(now_ns))

    def hear(self, frame: Frame, link: Link, now_ns: int) -> None:
        """A frame that another hub has read; deliver() hands it on."""
        self._inbox.append((frame, link, now_ns))

    def deliver(self) -> None:
        while self._inbox:
            self._deliver(*self._inbox.popleft())

    def tend(self, until_ns: int) -> int:
        """Do all that needs no waiting; when something is due again."""
        self.deliver()
        now_ns = self.now_ns()
        self._upkeep(now_ns)
        return min(self._run_timers(now_ns), until_ns, self._upkeep_ns)

    def _troubles(self) -> str:
        told = [f"{link.endpoint} {link.trouble}" for link in self.links if link.trouble]
        return f" ({'; '.join(told)})" if told else ""

    def _step(self, until_ns: int) -> None:
        """Until something has happened, and not longer than that."""
        if self._inbox:  # a handler waits: what came before comes before what it waits for
            self._deliver(*self._inbox.popleft())
            return
        wake_ns = self.tend(until_ns)
        self._wait((wake_ns - self.now_ns()) / 1e9)

    def _upkeep(self, now_ns: int) -> None:
        if now_ns < self._upkeep_ns:
            return
        self._upkeep_ns = now_ns + UPKEEP_NS
        for link in self.links:
            link.maintain(now_ns)
            if link.has_waiting:
                link.flush(now_ns)

    def _run_timers(self, now_ns: int) -> int:
        """Run what is due; when the next one is."""
        for timer in self._timers:
            if now_ns >= timer.due_ns and not timer.is_cancelled:
                missed = (now_ns - timer.due_ns) // timer.period_ns
                timer.due_ns += (missed + 1) * timer.period_ns
                timer.call(now_ns)
        return min((timer.due_ns for timer in self._timers), default=now_ns + UPKEEP_NS)

    def _wait(self, seconds: float) -> None:
        _wait_for((self,), seconds)

    def _deliver(self, frame: Frame, link: Link, now_ns: int) -> None:
        for relay in self._frame_listeners:
            if not relay.is_cancelled:
                relay.call(frame, link, now_ns)
        listeners = self._listeners.get(frame.message_id)
        if not listeners:
            return
        received = Received(decode(frame), frame, link, now_ns)
        for listener in listeners:
            if not listener.is_cancelled:
                listener.call(received)


def spin_together(hubs: Sequence[Hub], until_ns: int) -> None:
    """What spin() is to one hub, for several of one clock: they wait side by side."""
    while hubs:
        wake_ns = min(hub.tend(until_ns) for hub in hubs)
        _wait_for(hubs, (wake_ns - hubs[0].now_ns()) / 1e9)
        if hubs[0].now_ns() >= until_ns:
            return


def _wait_for(hubs: Sequence[Hub], seconds: float) -> None:
    # select, not epoll: its time-out is exact to the microsecond.
    by_number = {
        number: (hub, link) for hub in hubs for link in hub.links for number in link.numbers
    }
    writing = [
        number
        for hub in hubs
        for link in hub.links
        if link.has_waiting
        for number in link.numbers[-1:]
    ]
    readable, writable, _ = select.select(by_number, writing, [], max(seconds, 0.0))
    now_ns = hubs[0].now_ns()
    for number in writable:
        by_number[number][1].flush(now_ns)
    for hub, link in dict.fromkeys(map(by_number.__getitem__, readable)):
        hub.take_in(link, now_ns)
    for hub in hubs:
        hub.deliver()
