"""A kill holds."""

from ghost.events import EventKind
from ghost.hal import Action, Health
from ghost.verify.reading import ACK, ACTION, ACTION_ACK, EVENT, STATUS
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_DISARMED_WITHIN_NS = 1_000_000_000
"""Of the kill, told by a status: ten heartbeats behind a link."""


class Kill:
    """Once a kill was asked for, or is told of, no command is accepted and nothing armed any more;
    and where it was granted, the vehicle says soon that it is disarmed.
    """

    name = "kill"

    def __init__(self) -> None:
        self._offences = Offences()
        self._killed: Heard | None = None
        self._granted_ns: int | None = None
        self._disarmed_ns: int | None = None
        self._refused = 0

    def wants(self, channel: str) -> bool:
        return channel in (ACK, ACTION, ACTION_ACK, EVENT, STATUS)

    def hear(self, heard: Heard) -> None:
        if heard.channel == STATUS:
            self._hear_status(heard)
        elif heard.channel == EVENT:
            if heard.message.kind == EventKind.KILL:
                self._latch(heard)
        elif heard.channel == ACTION:
            if heard.message.action is Action.KILL:
                self._latch(heard)
        elif heard.channel == ACTION_ACK:
            self._hear_answer(heard)
        elif not heard.message.accepted:
            self._refused += self._killed is not None
        else:
            self._refuse(heard, f"command {heard.message.command_sequence} was accepted")

    def verdict(self) -> Verdict:
        if self._killed is None:
            return skipped(self.name, "nobody killed it")
        figure = f"killed at {self._killed.log_ns / 1e9:.3f} s, {self._refused} commands refused"
        if self._granted_ns is not None and self._disarmed_ns is not None:
            took_ms = (self._disarmed_ns - self._granted_ns) / 1e6
            figure += f", disarmed {took_ms:.0f} ms later"
        return self._offences.verdict(self.name, figure)

    def _hear_answer(self, heard: Heard) -> None:
        answer = heard.message
        if not answer.accepted:
            return
        if answer.action is Action.KILL:
            self._latch(heard)
            self._granted_ns = heard.log_ns if self._granted_ns is None else self._granted_ns
        elif answer.action is Action.ARM:
            self._refuse(heard, "arming was granted")

    def _hear_status(self, heard: Heard) -> None:
        status = heard.message
        if status.killed:
            self._latch(heard)
        if self._granted_ns is None or status.health is Health.OFFLINE:
            return
        if not status.armed:
            self._disarmed_ns = heard.log_ns if self._disarmed_ns is None else self._disarmed_ns
        elif self._disarmed_ns is not None or (
            heard.log_ns - self._granted_ns > _DISARMED_WITHIN_NS
        ):
            self._refuse(heard, "armed")

    def _latch(self, heard: Heard) -> None:
        self._killed = self._killed or heard

    def _refuse(self, heard: Heard, what: str) -> None:
        """Unless nobody killed it."""
        if self._killed is not None:
            after_s = (heard.log_ns - self._killed.log_ns) / 1e9
            self._offences.add(heard, f"{what} {after_s:.3f} s after the kill")
