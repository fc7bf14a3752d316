"""Keeps the newest estimate and status, and says how old they are."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ghost.core.channels import Channel
from ghost.core.clock import Clock
from ghost.hal.channels import STATUS, VEHICLE
from ghost.hal.vehicle import VehicleState, VehicleStatus

M = TypeVar("M")


class Cancellable(Protocol):
    def cancel(self) -> None: ...


class Subscribable(Protocol):
    """What the tracker needs of a bus; state stands below the bus and can't name it."""

    def subscribe(
        self, channel: Channel[M], handler: Callable[[M], None], *, name: str
    ) -> Cancellable: ...


class VehicleTracker:
    """Age counts from the moment of measurement, so a late message is old when it arrives."""

    __slots__ = ("_clock", "_subscriptions", "state", "status")

    def __init__(self, bus: Subscribable, clock: Clock, *, name: str = "tracker") -> None:
        self.state: VehicleState | None = None
        self.status: VehicleStatus | None = None
        self._clock = clock
        self._subscriptions = (
            bus.subscribe(VEHICLE, self._on_state, name=name),
            bus.subscribe(STATUS, self._on_status, name=name),
        )

    @property
    def state_age_ns(self) -> int | None:
        """None before the first state."""
        return None if self.state is None else self._clock.now_ns() - self.state.stamp_ns

    @property
    def status_age_ns(self) -> int | None:
        """None before the first status."""
        return None if self.status is None else self._clock.now_ns() - self.status.stamp_ns

    def fresh(self, max_age_ns: int) -> bool:
        """Whether both are known and neither is older than max_age_ns."""
        ages_ns = (self.state_age_ns, self.status_age_ns)
        return all(age_ns is not None and age_ns <= max_age_ns for age_ns in ages_ns)

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.cancel()

    def _on_state(self, state: VehicleState) -> None:
        self.state = state

    def _on_status(self, status: VehicleStatus) -> None:
        self.status = status
