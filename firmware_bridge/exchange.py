"""Asking again. Every exchange with a flight controller loses a packet some day."""

from collections.abc import Callable

from firmware_bridge.hub import Hub, Received
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import StalledError


def persist(
    hub: Hub,
    ask: Callable[[], None],
    *,
    is_done: Callable[[], bool],
    progress: Callable[[], int],
    quiet_ns: int,
    retries: int,
    what: Callable[[], str],
    ask_first: bool = True,
) -> None:
    """Ask, and ask again each time that progress stands still for quiet_ns. StalledError, with
    what() as it is then, after so many retries in a row that moved nothing.
    """
    failures = 0
    if ask_first:
        ask()
    while not is_done():
        before = progress()

        def has_moved(before: int = before) -> bool:
            return is_done() or progress() != before

        try:
            hub.spin_until(has_moved, within_ns=quiet_ns, what="")
        except StalledError as error:
            if failures == retries:
                reason = str(error).removeprefix(": ")
                asked = f"asked again {retries} times"
                raise StalledError(f"{what()}: {asked}, {reason}") from None
            failures += 1
            ask()
        else:
            failures = 0


def is_to(hub: Hub, received: Received) -> bool:
    """Whether a message with a target is meant for us, or for everybody."""
    message = received.message
    return message.target_system in (0, hub.system) and message.target_component in (
        0,
        hub.component,
    )


def target_of(vehicle: Vehicle) -> tuple[int, int]:
    """Whom to ask: system and component."""
    if vehicle.system is None:
        raise StalledError("no flight controller was heard yet; call find first")
    return vehicle.system, vehicle.component
