"""Nothing old is flown: neither accepted, nor sent late, nor sent again."""

from ghost.hal import CommandAck
from ghost.verify.reading import ACK, COMMANDS, STATUS
from ghost.verify.terms import Terms
from ghost.verify.verdict import Heard, Offences, Verdict, skipped


class Fresh:
    """At the gate, each accepted command was younger than the envelope allows, and not of the
    future.
    """

    name = "fresh"

    def __init__(self, terms: Terms) -> None:
        self._limit_ns = terms.envelope.max_command_age_ns if terms.envelope else None
        self._offences = Offences()
        self._gate = _Gate()
        self._count = self._oldest_ns = 0

    def wants(self, channel: str) -> bool:
        return channel in COMMANDS or channel == ACK

    def hear(self, heard: Heard) -> None:
        if heard.channel != ACK:
            self._gate.hear(heard)
            return
        ack = heard.message
        if not ack.accepted:
            return
        self._count += 1
        if self._limit_ns is None:
            return
        age_ns = self._gate.age_ns(ack)
        self._oldest_ns = max(self._oldest_ns, age_ns)
        if age_ns > self._limit_ns:
            limit = _ms(self._limit_ns)
            self._offences.add(heard, f"accepted {_ms(age_ns)} old; the limit is {limit}")
        elif age_ns < 0:
            self._offences.add(heard, f"accepted {_ms(-age_ns)} before it was stamped")

    def verdict(self) -> Verdict:
        if not self._count:
            return skipped(self.name, "no command was accepted")
        if self._limit_ns is None:
            return skipped(self.name, "the manifest has no envelope that says how old one may be")
        figure = f"{self._count} accepted, the oldest {_ms(self._oldest_ns)} old"
        return self._offences.verdict(self.name, figure)


class Streamed:
    """What was fresh at the gate still was when it had gone, and is no earlier set-point again."""

    name = "streamed"

    def __init__(self, terms: Terms) -> None:
        self._limit_ns = terms.envelope.max_command_age_ns if terms.envelope else None
        self._offences = Offences()
        self._gate = _Gate()
        self._last: tuple[int, int] | None = None
        self._is_armed = False
        self._count = self._slowest_ns = 0

    def wants(self, channel: str) -> bool:
        return channel in COMMANDS or channel in (ACK, STATUS)

    def hear(self, heard: Heard) -> None:
        if heard.channel in COMMANDS:
            self._gate.hear(heard)
            return
        if heard.channel == STATUS:
            if heard.message.armed and not self._is_armed:
                self._last = None  # whoever arms may begin to count anew
            self._is_armed = heard.message.armed
            return
        ack = heard.message
        if not ack.accepted:
            return
        self._count += 1
        now, last = (ack.command_stamp_ns, ack.command_sequence), self._last
        self._last = now
        if last is not None and now[1] <= last[1]:
            self._offences.add(heard, f"set-point {now[1]} went out after set-point {last[1]}")
        elif last is not None and now[0] < last[0]:
            back = _ms(last[0] - now[0])
            self._offences.add(heard, f"set-point {now[1]} is {back} older than the one before")
        self._slowest_ns = max(self._slowest_ns, heard.log_ns - ack.stamp_ns)
        if self._limit_ns is None:
            return
        was_fresh = self._gate.age_ns(ack) <= self._limit_ns
        age_ns = heard.log_ns - now[0]
        if was_fresh and age_ns > self._limit_ns:
            limit = _ms(self._limit_ns)
            self._offences.add(heard, f"{_ms(age_ns)} old when it had gone; the limit is {limit}")

    def verdict(self) -> Verdict:
        if not self._count:
            return skipped(self.name, "nothing was streamed")
        slowest = _ms(self._slowest_ns)
        figure = f"{self._count} set-points, each once; from gate to log in {slowest} at most"
        return self._offences.verdict(self.name, figure)


class _Gate:
    """When a command was judged: when its ack says, but not before it was logged itself."""

    __slots__ = ("_logged",)

    def __init__(self) -> None:
        self._logged: tuple[int, int, int] | None = None

    def hear(self, heard: Heard) -> None:
        self._logged = (heard.message.stamp_ns, heard.message.sequence, heard.log_ns)

    def age_ns(self, ack: CommandAck) -> int:
        judged_ns, logged = ack.stamp_ns, self._logged
        if logged is not None and logged[:2] == (ack.command_stamp_ns, ack.command_sequence):
            judged_ns = max(judged_ns, logged[2])
        return judged_ns - ack.command_stamp_ns


def _ms(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:.1f} ms"
