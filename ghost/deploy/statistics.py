"""What a flight came to, gathered while it is flown."""

from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import BatterySample, GroundTruth, VehicleState, VehicleStatus
from ghost.hal.channels import BATTERY
from ghost.report.summary import Summary
from ghost.report.tally import COUNTED, Tally

__all__ = ["FlightStatistics", "Summary"]


class FlightStatistics:
    """Listens to truth, estimate and set-points; the truth serves to judge, and nothing else."""

    def __init__(self, bus: Bus) -> None:
        self.news: list[Event] = []
        self.charge: float | None = None
        self._tally = Tally()
        for channel in COUNTED:
            hearer = self._on_event if channel is EVENTS else self._tally.hear
            bus.subscribe(channel, hearer, name="statistics")
        bus.subscribe(BATTERY, self._on_battery, name="statistics")

    @property
    def truth(self) -> GroundTruth | None:
        return self._tally.truth

    @property
    def state(self) -> VehicleState | None:
        return self._tally.state

    @property
    def status(self) -> VehicleStatus | None:
        return self._tally.status

    def summary(self) -> Summary:
        return self._tally.summary()

    def _on_battery(self, sample: BatterySample) -> None:
        self.charge = sample.remaining

    def _on_event(self, event: Event) -> None:
        self._tally.hear(event)
        if event.severity > Severity.DEBUG:
            self.news.append(event)
