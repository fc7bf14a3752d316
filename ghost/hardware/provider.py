"""A stream of samples from a flight controller, and the moment at which it has stopped."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ghost.hal import Health, Sample, SensorSpec, Unsubscribe

STALE_PERIODS = 3


class StreamProvider:
    """The newest sample to poll, and every one to whoever subscribed. A stream that stops says so
    once: its last sample again, OFFLINE.
    """

    def __init__(self, spec: SensorSpec) -> None:
        self.spec = spec
        self.sequence = 0
        self._newest: Any = None
        self._heard_ns = 0
        self._callbacks: dict[object, Callable[[Any], None]] = {}

    @property
    def is_heard(self) -> bool:
        return self._newest is not None

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

    def push(self, sample: Any, now_ns: int) -> None:
        self._heard_ns = now_ns
        self._deliver(sample)

    def judge(self, now_ns: int) -> None:
        """Notice silence."""
        newest = self._newest
        if newest is None or newest.health is Health.OFFLINE:
            return
        if now_ns - self._heard_ns > STALE_PERIODS * self.spec.period_ns:
            offline = {"health": Health.OFFLINE} if "health" in newest.__dataclass_fields__ else {}
            if offline:
                self._deliver(replace(newest, stamp_ns=now_ns, sequence=self.sequence, **offline))

    def _deliver(self, sample: Any) -> None:
        self._newest = sample
        self.sequence += 1
        for callback in self._callbacks.values():
            callback(sample)
