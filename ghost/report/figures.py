"""How a flight went, in a word and a few numbers: those that a deployment prints at its end."""

from dataclasses import dataclass

from ghost.events import EventKind
from ghost.report.flight import Flight
from ghost.report.summary import Summary

_ENDINGS = {
    EventKind.MISSION_FINISHED: "completed",
    EventKind.MISSION_ABORTED: "aborted",
    EventKind.MISSION_INTERRUPTED: "interrupted",
    EventKind.MISSION_FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Figures:
    outcome: str
    reason: str
    summary: Summary


def summarize(flight: Flight) -> Figures:
    said = [event for event in flight.events if event.kind.startswith("MISSION_")]
    if not said:
        return Figures("no mission", "", flight.summary)
    last = said[-1]
    ending = next((word for kind, word in _ENDINGS.items() if kind == last.kind), "unfinished")
    reason = last.payload.get("reason", "")
    return Figures(ending, reason if isinstance(reason, str) else "", flight.summary)
