"""One ordered bus for streams and events."""

from ghost.events.bus import Bus, Sink, Subscription
from ghost.events.event import EVENTS, Event, EventKind, Severity

__all__ = ["EVENTS", "Bus", "Event", "EventKind", "Severity", "Sink", "Subscription"]
