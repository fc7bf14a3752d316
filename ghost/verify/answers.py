"""Every command has one answer, and what was applied is what was asked for."""

from typing import Any

from ghost.hal import AckStatus
from ghost.verify.order import reported_by_channel
from ghost.verify.reading import ACK, COMMANDS, EVENT
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_LONGEST_NS = 1_000_000_000
"""An ack is given in the call that sends; only a process that was stopped there takes longer."""
_NOBODY = -1
"""What an ack names that answers no command at all."""


class Answers:
    """Acks are believed of nothing: the command that one answers must be in the log before it."""

    name = "answers"

    def __init__(self) -> None:
        self._offences = Offences()
        self._unanswered, self._unasked = Offences(), Offences()
        self._waiting: dict[tuple[int, int], Heard] = {}
        self._dropped_acks = self._dropped_commands = 0
        self._accepted = self._saturated = self._refused = 0

    def wants(self, channel: str) -> bool:
        return channel in COMMANDS or channel in (ACK, EVENT)

    def hear(self, heard: Heard) -> None:
        self._give_up(heard.log_ns)
        if heard.channel == EVENT:
            dropped = reported_by_channel(heard)
            self._dropped_acks += dropped.get(ACK, 0)
            self._dropped_commands += sum(dropped.get(name, 0) for name in COMMANDS)
        elif heard.channel == ACK:
            self._hear_ack(heard)
        else:
            command = heard.message
            self._waiting[command.stamp_ns, command.sequence] = heard

    def verdict(self) -> Verdict:
        for lost, dropped in (
            (self._unanswered, self._dropped_acks),
            (self._unasked, self._dropped_commands),
        ):
            if lost.first is not None and lost.count > dropped:
                self._offences.add(lost.first, lost.text)
        total = self._accepted + self._saturated + self._refused
        if not total and not self._waiting and self._offences.first is None:
            return skipped(self.name, "the log holds no commands")
        figure = (
            f"{total} answered: {self._accepted} accepted, {self._saturated} saturated, "
            f"{self._refused} refused"
        )
        return self._offences.verdict(self.name, figure)

    def _hear_ack(self, heard: Heard) -> None:
        ack = heard.message
        asked = self._waiting.pop((ack.command_stamp_ns, ack.command_sequence), None)
        if ack.status is AckStatus.REJECTED:
            self._refused += 1
        elif ack.status is AckStatus.SATURATED:
            self._saturated += 1
        else:
            self._accepted += 1
        if asked is None:
            if ack.accepted or ack.command_sequence != _NOBODY:
                self._unasked.add(heard, f"it answers {_named(ack)}, which the log doesn't hold")
        elif wrong := _wrong(ack, asked.message):
            self._offences.add(heard, wrong)

    def _give_up(self, now_ns: int) -> None:
        while self._waiting:
            key, oldest = next(iter(self._waiting.items()))
            if now_ns - oldest.log_ns <= _LONGEST_NS:
                return
            del self._waiting[key]
            self._unanswered.add(oldest, f"command {oldest.message.sequence} was never answered")


def _named(ack: Any) -> str:
    return f"command {ack.command_sequence} of {ack.command_stamp_ns} ns"


def _wrong(ack: Any, command: Any) -> str:
    """How the ack doesn't fit the command; empty if it does."""
    applied = ack.applied
    if not ack.accepted:
        return "" if applied is None else f"{_named(ack)} was refused and applied"
    if applied is None:
        return f"{_named(ack)} was accepted, and nothing was applied"
    if type(applied) is not type(command):
        kinds = f"{type(command).__name__} became {type(applied).__name__}"
        return f"{_named(ack)}: {kinds}"
    if (applied.stamp_ns, applied.sequence) != (command.stamp_ns, command.sequence):
        return f"{_named(ack)}: what was applied is command {applied.sequence}"
    if ack.status is AckStatus.ACCEPTED and applied != command:
        return f"{_named(ack)} was accepted as it was, and something else was applied"
    return ""
