"""A vehicle that is told nothing, or knows nothing, acts by itself, and in time."""

from ghost.hal import EstimateHealth, Failsafe, FlightMode, Health, VehicleStatus
from ghost.verify.reading import ACK, STATE, STATUS
from ghost.verify.terms import Terms
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_AWAY_NS = 350_000_000
"""Acks, states and statuses come fifty times a second, each and all."""


class FailsafeTimes:
    """While a status says armed, in OFFBOARD and no failsafe, the newest accepted set-point is no
    older than the time-out; and the embedded autopilot flies on no estimate that isn't GOOD.
    """

    name = "failsafe"

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._offences = Offences()
        self._status: VehicleStatus | None = None
        self._heard_ns = 0
        """When that status was."""
        self._last_ns = 0
        self._fed_ns: int | None = None
        """Since when OFFBOARD waits for the next set-point; None where nothing waits."""
        self._unsure_ns: int | None = None
        self._was_offboard = False
        self._longest_ns = 0
        self._raised: list[str] = []

    def wants(self, channel: str) -> bool:
        return channel in (ACK, STATE, STATUS)

    def hear(self, heard: Heard) -> None:
        if heard.log_ns - self._last_ns > _AWAY_NS:
            self._fed_ns = None  # whoever logs was stopped: what came meanwhile is read late
        self._last_ns = heard.log_ns
        if heard.channel == ACK:
            if heard.message.accepted and self._fed_ns is not None:
                self._wait(heard, heard.log_ns - self._fed_ns)
                self._fed_ns = heard.log_ns
        elif heard.channel == STATE:
            self._hear_state(heard)
        elif heard.message.health is not Health.OFFLINE:
            self._hear_status(heard)

    def verdict(self) -> Verdict:
        if not self._was_offboard and not self._raised and self._offences.first is None:
            return skipped(self.name, "it never followed set-points, and no failsafe came")
        terms = self._terms
        limit = f"{_s(terms.loss_ns + terms.margin_ns)} by {terms.loss_from}"
        raised = ", ".join(self._raised) or "none raised"
        figure = f"{_s(self._longest_ns)} without a set-point at most, of {limit}; {raised}"
        return self._offences.verdict(self.name, figure)

    def _hear_status(self, heard: Heard) -> None:
        before, status = self._status, heard.message
        before_ns, self._status, self._heard_ns = self._heard_ns, status, heard.log_ns
        raised = status.failsafe is not Failsafe.NONE
        if raised and (before is None or before.failsafe is not status.failsafe):
            self._tell(heard)
        follows = status.armed and status.mode is FlightMode.OFFBOARD and not raised
        if self._fed_ns is not None:
            # It acted somewhen after the status before: where a link was cut, long before this one.
            self._wait(heard, (heard.log_ns if follows else before_ns) - self._fed_ns)
        if not follows:
            self._fed_ns = None
        elif self._fed_ns is None:
            self._was_offboard = True
            self._fed_ns = heard.log_ns
        if not _must_act(status):
            self._unsure_ns = None
        self._doubt(heard)

    def _hear_state(self, heard: Heard) -> None:
        if not self._terms.is_embedded:
            return  # a flight controller has its own idea of what is good enough
        status = self._status
        if heard.message.verdict is EstimateHealth.GOOD:
            self._unsure_ns = None
        elif self._unsure_ns is None and status is not None and _must_act(status):
            self._unsure_ns = heard.log_ns
        self._doubt(heard)

    def _wait(self, heard: Heard, waited_ns: int) -> None:
        self._longest_ns = max(self._longest_ns, waited_ns)
        terms = self._terms
        if waited_ns > terms.loss_ns + terms.margin_ns:
            limit = f"{terms.loss_from} says {_s(terms.loss_ns)}"
            self._offences.add(heard, f"no failsafe {_s(waited_ns)} after a set-point; {limit}")

    def _doubt(self, heard: Heard) -> None:
        if self._unsure_ns is None:
            return
        flown_ns = heard.log_ns - self._unsure_ns
        if flown_ns > self._terms.margin_ns:
            text = f"no failsafe {_s(flown_ns)} after the estimate was GOOD"
            self._offences.add(heard, text)
            self._unsure_ns = None

    def _tell(self, heard: Heard) -> None:
        name = heard.message.failsafe.name
        if self._fed_ns is not None and heard.message.failsafe is Failsafe.COMMAND_LOSS:
            name += f" after {_s(heard.log_ns - self._fed_ns)}"
        self._raised = [*self._raised, name][:8]


def _must_act(status: VehicleStatus) -> bool:
    """Whether the embedded autopilot would raise a failsafe, if it had a reason."""
    is_quiet = status.armed and status.failsafe is Failsafe.NONE
    return is_quiet and status.mode is not FlightMode.MANUAL


def _s(duration_ns: int) -> str:
    return f"{duration_ns / 1e9:.3f} s"
