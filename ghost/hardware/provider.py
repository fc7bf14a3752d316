"""A stream of samples from a flight controller, and the moment at which it has stopped."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ghost.hal import EstimateHealth, Health, Sample, SensorSpec, Unsubscribe, VehicleState

STALE_PERIODS = 3
JUDGE_NS = 5_000_000
"""How often silence is looked for: it is told by the end of the third period, and not after it."""


class StreamProvider:
    """The newest sample to poll, and every one to whoever subscribed. A stream that stops says so
    once: its last sample again, OFFLINE.

    A vehicle's state says so at its own rate, LOST: a mission lives by states, and without any it
    would neither give up nor time out.
    """

    def __init__(self, spec: SensorSpec) -> None:
        self.spec = spec
        self.sequence = 0
        self._newest: Any = None
        self._heard_ns = 0
        self._told_ns = 0
        self._callbacks: dict[object, Callable[[Any], None]] = {}

    @property
    def is_heard(self) -> bool:
        return self._newest is not None

    @property
    def is_offline(self) -> bool:
        return self._newest is not None and self._newest.health is Health.OFFLINE

    def poll(self) -> Sample | None:
        newest: Sample | None = self._newest
        return newest

    def subscribe(self, callback: Callable[[Any], None]) -> Unsubscribe:
        ticket = object()  # the same callback may subscribe twice, and leave once
        # A new dict each time: a delivery under way keeps the old one.
        self._callbacks = {**self._callbacks, ticket: callback}

        def unsubscribe() -> None:
            kept = {key: value for key, value in self._callbacks.items() if key is not ticket}
            self._callbacks = kept

        return unsubscribe

    def slow_down(self, period_ns: int) -> None:
        """To what is really there, if that is less than what was asked for."""
        self.spec = replace(self.spec, period_ns=max(self.spec.period_ns, period_ns))

    def push(self, sample: Any, now_ns: int) -> None:
        """What is older than the newest is dropped: it was overtaken on its way."""
        self._heard_ns = now_ns
        if self._newest is None or sample.stamp_ns > self._newest.stamp_ns:
            self._deliver(sample)

    def is_silent(self, now_ns: int) -> bool:
        if self._newest is None:
            return False
        return now_ns - self._heard_ns > STALE_PERIODS * self.spec.period_ns - JUDGE_NS

    def judge(self, now_ns: int) -> None:
        """Tell silence."""
        newest, period_ns = self._newest, self.spec.period_ns
        if not self.is_silent(now_ns):
            return
        said: dict[str, Any] = {"stamp_ns": now_ns, "sequence": self.sequence}
        if isinstance(newest, VehicleState):
            if now_ns - self._told_ns >= period_ns:
                self._told_ns = now_ns
                self._deliver(replace(newest, **said, verdict=EstimateHealth.LOST))
        elif newest.health is not Health.OFFLINE:
            self._deliver(replace(newest, **said, health=Health.OFFLINE))

    def _deliver(self, sample: Any) -> None:
        self._newest = sample
        self.sequence += 1
        for callback in self._callbacks.values():
            callback(sample)
