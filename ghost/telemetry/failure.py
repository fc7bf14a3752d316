"""How a log says that it can't be written any more."""

from ghost.events import EVENTS, Bus, Event, EventKind, Severity


def tell_failure(bus: Bus, error: BaseException) -> None:
    bus.publish(
        EVENTS,
        Event(
            stamp_ns=bus.now_ns(),
            severity=Severity.ERROR,
            kind=EventKind.LOG_FAILED,
            source="log",
            text=f"the flight log stopped: {error}; nothing after this is recorded",
        ),
    )
