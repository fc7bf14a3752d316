"""Set-points go out while they were asked for, and not a cycle longer than the vehicle is ours."""

from enum import Enum

from ghost.events import EventKind
from ghost.hal import Action, ActionAck, Failsafe, FlightMode, Health, VehicleStatus
from ghost.verify.reading import ACK, ACTION, ACTION_ACK, EVENT, STATUS
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_YIELD_NS = 20_000_000
"""One cycle of the mission."""
_ASKED_NS = 5_000_000_000
"""Set-points go before the mode that takes them; a request that is older was not granted."""
_BLIND_NS = 2_500_000_000
"""A mission gives up after two seconds without a status."""

_FOLLOWING = {Action.OFFBOARD: FlightMode.OFFBOARD, Action.MANUAL: FlightMode.MANUAL}
_GIVING_UP = (
    Action.DISARM,
    Action.KILL,
    Action.HOLD,
    Action.TAKEOFF,
    Action.LAND,
    Action.RETURN,
)
_LETTING_GO = (EventKind.LET_GO, EventKind.MISSION_INTERRUPTED)


class _Right(Enum):
    """ASKED: a mode was asked for that follows set-points. HELD: and it has shown."""

    NONE = "it was never asked for"
    ASKED = "it was asked for"
    HELD = "it is held"
    LOST = "it was lost"


class Authority:
    """The right to stream begins with a request. It ends when the mode that shows is another, by
    whosever doing, with a failsafe, with disarming, and when Ghost itself lets go.
    """

    name = "authority"

    def __init__(self) -> None:
        self._offences = Offences()
        self._right = _Right.NONE
        self._since_ns = 0
        self._why = "nobody asked for a mode that follows set-points"
        self._mode = FlightMode.OTHER
        self._before = FlightMode.OTHER
        self._was_armed = False
        self._status: VehicleStatus | None = None
        self._status_ns: int | None = None
        self._count = self._times_lost = 0
        self._slowest_ns = 0

    def wants(self, channel: str) -> bool:
        return channel in (ACK, ACTION, ACTION_ACK, EVENT, STATUS)

    def hear(self, heard: Heard) -> None:
        message = heard.message
        if heard.channel == STATUS:
            self._hear_status(heard)
        elif heard.channel == ACTION:
            if message.action in _FOLLOWING:
                self._ask(heard)
        elif heard.channel == ACTION_ACK:
            self._hear_answer(message, heard.log_ns)
        elif heard.channel == EVENT:
            if message.kind in _LETTING_GO:
                self._lose(f"it let go ({message.kind})", heard.log_ns)
        elif message.accepted:
            self._judge(heard)

    def verdict(self) -> Verdict:
        if not self._count:
            return skipped(self.name, "no command was accepted")
        figure = f"{self._count} commands with leave, which ended {self._times_lost} times"
        if self._slowest_ns:
            figure += f"; at most {self._slowest_ns / 1e6:.0f} ms longer"
        return self._offences.verdict(self.name, figure)

    def _ask(self, heard: Heard) -> None:
        mode = _FOLLOWING[heard.message.action]
        if self._right is _Right.HELD and mode is self._mode:
            return
        self._mode = mode
        self._before = self._status.mode if self._status else FlightMode.OTHER
        self._was_armed = self._status is not None and self._status.armed
        self._right, self._since_ns = _Right.ASKED, heard.log_ns

    def _hear_answer(self, answer: ActionAck, log_ns: int) -> None:
        if answer.accepted and answer.action in _GIVING_UP:
            self._lose(f"{answer.action.name} was asked for and granted", log_ns)

    def _hear_status(self, heard: Heard) -> None:
        status = heard.message
        if status.health is Health.OFFLINE:
            return
        self._status, self._status_ns = status, heard.log_ns
        if self._right is _Right.HELD or self._right is _Right.ASKED:
            self._compare(status, heard.log_ns)

    def _compare(self, status: VehicleStatus, log_ns: int) -> None:
        if status.killed:
            self._lose("it was killed", log_ns)
        elif status.failsafe is not Failsafe.NONE:
            self._lose(f"failsafe {status.failsafe.name}", log_ns)
        elif not status.armed:
            if self._was_armed:
                self._lose("it was disarmed", log_ns)
        elif status.mode is self._mode:
            self._right, self._was_armed = _Right.HELD, True
        elif self._right is _Right.HELD or status.mode not in (self._before, FlightMode.HOLD):
            self._lose(f"the mode became {status.mode.name}", log_ns)

    def _lose(self, why: str, log_ns: int) -> None:
        if self._right is _Right.HELD or self._right is _Right.ASKED:
            self._right, self._since_ns, self._why = _Right.LOST, log_ns, why
            self._times_lost += 1

    def _judge(self, heard: Heard) -> None:
        self._count += 1
        after_ns = heard.log_ns - self._since_ns
        if self._right is _Right.LOST:
            if after_ns <= _YIELD_NS:
                self._slowest_ns = max(self._slowest_ns, after_ns)
                return
            self._offences.add(heard, f"accepted {_s(after_ns)} after {self._why}")
        elif self._right is _Right.NONE:
            self._offences.add(heard, f"accepted, though {self._why}")
        elif self._right is _Right.ASKED and after_ns > _ASKED_NS:
            text = f"accepted {_s(after_ns)} after {self._mode.name} was asked for in vain"
            self._offences.add(heard, text)
        elif self._status_ns is None or heard.log_ns - self._status_ns > _BLIND_NS:
            since = _s(heard.log_ns - (self._status_ns or 0))
            self._offences.add(heard, f"accepted after {since} without a status")


def _s(duration_ns: int) -> str:
    return f"{duration_ns / 1e9:.3f} s"
