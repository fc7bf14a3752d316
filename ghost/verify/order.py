"""One sequence for all, and time that never goes back."""

from collections import deque

from ghost.events import EventKind
from ghost.verify.reading import EVENT
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

COMMANDS = "/cmd/"
"""A command's stamp is its sender's; whether one that was taken is fresh is judged by itself."""
_WRAP = 1 << 32
_MOST_GAPS = 1000


class Order:
    """The bus's sequence rises by one from message to message, but for what was reported as
    dropped before it was missed; log times never fall, and no stamp is of the future, but for those
    that commands came with.
    """

    name = "order"

    def __init__(self) -> None:
        self._offences = Offences()
        self._last: Heard | None = None
        self._expected = 0
        self._count = self._dropped = 0
        self._gaps: deque[tuple[int, Heard]] = deque()
        """Missing and not explained yet: how many, and the message behind."""

    def wants(self, channel: str) -> bool:
        del channel
        return True

    def hear(self, heard: Heard) -> None:
        last, self._last = self._last, heard
        self._count += 1
        if last is not None and heard.log_ns < last.log_ns:
            back_ns = last.log_ns - heard.log_ns
            self._offences.add(heard, f"log time goes back by {back_ns} ns")
        if heard.publish_ns > heard.log_ns and not heard.channel.startswith(COMMANDS):
            ahead_ns = heard.publish_ns - heard.log_ns
            self._offences.add(heard, f"stamped {ahead_ns} ns after it was logged")
        if heard.is_derived and last is not None and heard.sequence == last.sequence:
            return
        self._follow(heard)
        if heard.channel == EVENT:
            self._hear_report(heard)

    def verdict(self) -> Verdict:
        if self._last is None:
            return skipped(self.name, "the log is empty")
        missing = sum(count for count, _ in self._gaps)
        if self._gaps and (self._offences.first is None or self._is_first(self._gaps[0][1])):
            self._offences.count = len(self._gaps)
            self._offences.first = self._gaps[0][1]
            self._offences.text = f"{missing} messages are missing, and nothing says why"
        figure = f"{self._count} messages in sequence, {self._dropped} dropped as reported"
        return self._offences.verdict(self.name, figure)

    def _is_first(self, heard: Heard) -> bool:
        first = self._offences.first
        return first is not None and heard.log_ns < first.log_ns

    def _follow(self, heard: Heard) -> None:
        ahead = (heard.sequence - self._expected) % _WRAP
        if ahead >= _WRAP // 2:
            text = f"sequence {heard.sequence} where {self._expected} or more was due"
            self._offences.add(heard, text)
            return
        self._expected = (heard.sequence + 1) % _WRAP
        if not ahead:
            return
        if len(self._gaps) < _MOST_GAPS:
            self._gaps.append((ahead, heard))
        else:
            count, first = self._gaps.pop()
            self._gaps.append((count + ahead, first))

    def _hear_report(self, heard: Heard) -> None:
        """What is reported was lost before, so a report excuses no later gap."""
        told = reported_lost(heard)
        while told and self._gaps:
            count, behind = self._gaps.popleft()
            explained = min(count, told)
            told -= explained
            self._dropped += explained
            if count > explained:
                self._gaps.appendleft((count - explained, behind))


def reported_lost(heard: Heard) -> int:
    """How many messages an event reports as missing from the log."""
    return sum(reported_by_channel(heard).values())


def reported_by_channel(heard: Heard) -> dict[str, int]:
    event = heard.message
    if event.source != "log":
        return {}
    if event.kind == EventKind.SUBSCRIBER_FAILED:  # one that the writer could not encode
        return {str(event.payload.get("channel")): 1}
    if event.kind != EventKind.TELEMETRY_BACKPRESSURE:
        return {}
    dropped = event.payload.get("dropped")
    if not isinstance(dropped, dict):
        return {}
    return {name: count for name, count in dropped.items() if type(count) is int and count > 0}
