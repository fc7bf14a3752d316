"""One link: a transport that is opened again when it fails, and frames with their statistics."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from firmware_bridge.endpoint import Endpoint, Lookup, Scheme
from firmware_bridge.frame import Frame, Framer, FramerCounts, is_checked
from firmware_bridge.sequence import Sequence
from firmware_bridge.signing import Signer
from firmware_bridge.transport import TcpListener, Transport, UdpTransport, open_transport

FIRST_RETRY_NS = 100_000_000
LONGEST_RETRY_NS = 2_000_000_000
SILENCE_NS = 5_000_000_000
"""What says nothing for so long is down. A serial port or a connection is opened anew: some
adapters need that, and a peer that lost its power never hangs up.
"""
PEER_NS = 3_000_000_000
"""Who has brought no good frame for so long may be replaced by another."""
BACKLOG_NS = 40_000_000
"""How long a link may have more to send than it can: a burst is gone by then."""
AWAY_NS = 1_000_000_000
"""Who looks after a link no more often than that can't tell silence from not having listened."""
CONNECT_NS = 3_000_000_000
MOST_WAITING_BYTES = 65_536

News = Callable[["Link", bool, str], None]
"""Told when a link comes up or goes down, and why."""
Result = TypeVar("Result")
_HUNG_UP = "the other side hung up"


@dataclass(slots=True)
class LinkCounts:
    """Since the link was made. lost is what the sequence numbers say never arrived."""

    received_bytes: int = 0
    sent_bytes: int = 0
    sent: int = 0
    unsent: int = 0
    """Frames that the transport had no room for, or lost when it failed."""
    lost: int = 0
    refused: int = 0
    """Frames with no signature, or a wrong one, where one is asked for."""
    unjudged: int = 0
    """Signed frames where there is no key to judge them by."""
    strangers: int = 0
    """Datagrams and connections of others that were turned away while the peer was alive."""
    opened: int = 0
    framer: FramerCounts = field(default_factory=FramerCounts)

    def __str__(self) -> str:
        framer = self.framer
        return (
            f"{framer.frames} frames in {self.received_bytes} bytes heard, {self.lost} lost, "
            f"{framer.bad_crc} damaged, {self.refused} refused; {self.sent} sent in "
            f"{self.sent_bytes} bytes, {self.unsent} not; opened {self.opened} times"
        )

    def rates(self, duration_ns: int) -> str:
        """On the average over that time."""
        seconds = max(duration_ns, 1) / 1e9
        heard, sent = self.framer.frames / seconds, self.sent / seconds
        kb_heard, kb_sent = self.received_bytes / seconds / 1e3, self.sent_bytes / seconds / 1e3
        return (
            f"{heard:.1f} frames/s and {kb_heard:.1f} kB/s heard, "
            f"{sent:.1f} frames/s and {kb_sent:.1f} kB/s sent"
        )


class Link:
    """Nothing here waits, and nothing raises for what the other side does."""

    def __init__(self, endpoint: Endpoint, *, on_news: News, signer: Signer | None = None) -> None:
        self.endpoint = endpoint
        self.signer = signer
        self.counts = LinkCounts()
        self.is_up = False
        self.problem = "not opened yet"
        self.heard_ns: int | None = None
        self._on_news = on_news
        self._lookup = Lookup(endpoint)
        self._transport: Transport | None = None
        self._framer = Framer()
        self._framer.counts = self.counts.framer
        self._sequences: dict[tuple[int, int], Sequence] = {}
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._retry_ns = 0
        self._backoff_ns = FIRST_RETRY_NS
        self._opened_ns = 0
        self._up_ns = 0
        self._clear_ns = 0
        self._looked_ns = 0
        self._peer_ns: int | None = None
        """When the peer showed last that it is one."""
        self._sent_sequence = 0
        self._is_closed = False

    @property
    def numbers(self) -> tuple[int, ...]:
        return self._transport.numbers if self._transport is not None else ()

    @property
    def trouble(self) -> str:
        """A reason why nothing may come over it; empty where none is known."""
        if not self.is_up:
            return f"is down: {self.problem}"
        if self.signer is None:
            is_signed = self.counts.unjudged > 0
            return "brings signed frames, and no signing key is given" if is_signed else ""
        refused = self.counts.refused
        return f"had {refused} frames refused: not signed with this key" if refused else ""

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def is_clear(self) -> bool:
        """Whether nothing waits, here or in the system, but for a frame."""
        return not self._waiting and (self._transport is None or self._transport.has_room)

    @property
    def can_send(self) -> bool:
        """Whether it is up, or speaks first to whom it would hear."""
        return self._transport is not None and (self.is_up or not self._is_stream)

    def has_room(self, now_ns: int) -> bool:
        """Whether what is sent now leaves now: for what is worth nothing later."""
        if self._transport is None:
            return False
        if not self._waiting and self._transport.has_room:
            self._clear_ns = now_ns
        return now_ns - self._clear_ns <= BACKLOG_NS

    def maintain(self, now_ns: int) -> None:
        """Open what is closed and due, give up on what doesn't come about or says nothing."""
        if self._is_closed:
            return
        if self._transport is None:
            if now_ns >= self._retry_ns:
                self._open(now_ns)
            return
        transport = self._transport
        self._excuse_if_away(now_ns)
        self._hold(now_ns)
        self._attempt(transport.settle, now_ns)
        if self._transport is not transport:
            return
        if not transport.is_ready:
            if self.endpoint.scheme is Scheme.TCP_OUT and now_ns - self._opened_ns > CONNECT_NS:
                self._fail(now_ns, f"no answer in {CONNECT_NS / 1e9:g} s")
        elif now_ns - self._last_sign_ns(now_ns) > SILENCE_NS:
            why = f"silent for {SILENCE_NS / 1e9:g} s"
            if isinstance(transport, UdpTransport):
                transport.forget()
                self._turn(now_ns, up=False, why=why)
            else:
                self._fail(now_ns, why)

    def receive(self, now_ns: int) -> list[Frame]:
        """What has arrived by now, refused frames left out."""
        if self._transport is None:
            return []
        self._hold(now_ns)
        data = self._attempt(self._transport.read, now_ns)
        if not data:
            return []
        self.heard_ns = now_ns
        self.counts.received_bytes += len(data)
        found = self._framer.feed(data) if self._is_stream else self._framer.feed_datagram(data)
        admitted = [frame for frame in found if self._admits(frame)]
        self._know_peer(admitted, now_ns)
        return admitted

    def send(self, raw: bytes, now_ns: int) -> bool:
        """Now, or as soon as there is room; whether it was taken. What finds no room is counted."""
        if not self.can_send or self._waiting_bytes + len(raw) > MOST_WAITING_BYTES:
            self.counts.unsent += 1
            return False
        unsent = self.counts.unsent
        self._waiting.append(raw)
        self._waiting_bytes += len(raw)
        self.flush(now_ns)
        return self.counts.unsent == unsent

    def next_sequence(self) -> int:
        sequence, self._sent_sequence = self._sent_sequence, (self._sent_sequence + 1) & 0xFF
        return sequence

    def flush(self, now_ns: int) -> None:
        while self._waiting and self._transport is not None:
            data = self._waiting[0]
            taken = self._attempt(partial(self._transport.write, data), now_ns)
            if taken is None or not self._waiting:  # the other side went meanwhile
                return
            self.counts.sent_bytes += taken
            if taken < len(data) and self._is_stream:
                self._waiting[0] = data[taken:]
                self._waiting_bytes -= taken
                return
            self._waiting.popleft()
            self._waiting_bytes -= len(data)
            if taken:
                self.counts.sent += 1
            else:  # a datagram goes whole, or not at all
                self.counts.unsent += 1

    def close(self) -> None:
        """For good."""
        self._is_closed = True
        if self.signer is not None:
            self.signer.close()
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self._forget()
        self.is_up = False
        self.problem = "closed"

    @property
    def _is_stream(self) -> bool:
        return self.endpoint.scheme not in (Scheme.UDP_IN, Scheme.UDP_OUT)

    def _admits(self, frame: Frame) -> bool:
        if self.signer is None:
            self.counts.unjudged += bool(frame.signature)
        elif not self.signer.accepts(frame):
            self.counts.refused += 1
            return False
        source = (frame.system, frame.component)
        sequence = self._sequences.get(source)
        if sequence is None:
            self._sequences[source] = Sequence(frame.sequence)
        else:
            self.counts.lost += sequence.lost(frame.sequence)
        return True

    def _excuse_if_away(self, now_ns: int) -> None:
        """What came meanwhile is not read yet, so nobody was silent."""
        was_away, self._looked_ns = now_ns - self._looked_ns > AWAY_NS, now_ns
        if was_away and self.endpoint.scheme is not Scheme.SERIAL:  # which costs little to reopen
            self._up_ns = now_ns
            if self._peer_ns is not None:
                self._peer_ns = now_ns

    def _hold(self, now_ns: int) -> None:
        """Let nobody take the place of a peer that is alive."""
        if isinstance(self._transport, UdpTransport | TcpListener):
            peer_ns = self._peer_ns
            self._transport.is_held = peer_ns is not None and now_ns - peer_ns < PEER_NS

    def _know_peer(self, admitted: list[Frame], now_ns: int) -> None:
        """By its frames. Where signatures are asked for, one that has none may be answered, but
        keeps nobody from its place.
        """
        checked = [frame for frame in admitted if is_checked(frame)]
        if not checked:
            return
        if self.signer is None or any(frame.signature for frame in checked):
            self._peer_ns = now_ns
        if isinstance(self._transport, UdpTransport):
            self._transport.adopt()
            if not self.is_up:
                self._turn(now_ns, up=True, why="")

    def _last_sign_ns(self, now_ns: int) -> int:
        """Of life. Over UDP one may speak for long before anybody is there: that is no silence."""
        if self._is_stream:
            return max(self._up_ns, self.heard_ns or 0)
        return now_ns if self._peer_ns is None else self._peer_ns

    def _attempt(self, act: Callable[[], Result], now_ns: int) -> Result | None:
        """Do what may show that somebody came, went, or took another's place; None if it failed."""
        if self._transport is None:
            return None
        before = self._transport.numbers
        try:
            result = act()
        except OSError as error:
            self._fail(now_ns, error.strerror or str(error))
            return None
        if result:  # bytes went: only that is a success, opening a port is none
            self._backoff_ns = FIRST_RETRY_NS
        is_ready = self._transport.is_ready
        if self.is_up and self._transport.numbers != before:
            self._turn(now_ns, up=False, why="another took its place" if is_ready else _HUNG_UP)
        if is_ready and not self.is_up and not self._is_closed:
            self._turn(now_ns, up=True, why="")
        return result

    def _open(self, now_ns: int) -> None:
        try:
            self._transport = open_transport(self.endpoint, self._lookup, self._on_stranger)
        except (OSError, ValueError) as error:
            self._fail(now_ns, getattr(error, "strerror", None) or str(error))
            return
        self.counts.opened += 1
        self._opened_ns = self._looked_ns = now_ns
        self.problem = "nobody is connected yet"
        if self._transport.is_ready:
            self._turn(now_ns, up=True, why="")

    def _fail(self, now_ns: int, why: str) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        self._retry_ns = now_ns + self._backoff_ns
        self._backoff_ns = min(2 * self._backoff_ns, LONGEST_RETRY_NS)
        was_up, self.problem = self.is_up, why
        if was_up:
            self._turn(now_ns, up=False, why=why)

    def _on_stranger(self) -> None:
        self.counts.strangers += 1

    def _turn(self, now_ns: int, *, up: bool, why: str) -> None:
        self.is_up = up
        self.problem = why
        if up:
            self._up_ns = now_ns
            if self._is_stream:  # who has just connected is given time to speak
                self._peer_ns = now_ns
        else:
            self._peer_ns = None
            self._forget()
        self._on_news(self, up, why)

    def _forget(self) -> None:
        """What was meant for one that went is not for the one that comes, nor goes with its half
        frames.
        """
        self.counts.unsent += len(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        self._framer = Framer()
        self._framer.counts = self.counts.framer
