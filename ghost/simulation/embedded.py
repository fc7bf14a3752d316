"""The embedded autopilot in a vehicle: behind the envelope gate, with what it senses and says."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot import Autopilot
from ghost.core.clock import Clock
from ghost.core.errors import ConfigError
from ghost.hal import (
    Action,
    ActionAck,
    EnvelopeGate,
    SafetyEnvelope,
    Sample,
    SensorKind,
    SensorSpec,
    Unsubscribe,
)
from ghost.simulation.adapter import CONTACT

FloatArray = NDArray[np.float64]

STATE_PERIOD_NS = 20_000_000
STATUS_PERIOD_NS = 100_000_000


class Provider:
    """One source of samples: the newest to poll, and every one to whoever subscribed."""

    def __init__(self, spec: SensorSpec) -> None:
        self.spec = spec
        self._newest: Sample | None = None
        self._callbacks: dict[object, Callable[[Sample], None]] = {}

    def poll(self) -> Sample | None:
        return self._newest

    def subscribe(self, callback: Callable[[Sample], None]) -> Unsubscribe:
        ticket = object()  # the same callback may subscribe twice, and leave once
        # A new dict each time: a delivery under way keeps the old one.
        self._callbacks = {**self._callbacks, ticket: callback}

        def unsubscribe() -> None:
            kept = {key: value for key, value in self._callbacks.items() if key is not ticket}
            self._callbacks = kept

        return unsubscribe

    def push(self, sample: Sample) -> None:
        self._newest = sample
        for callback in self._callbacks.values():
            callback(sample)


class EmbeddedVehicle:
    """Each tick_ns, give() it what its sensors said, and take() what its motors do."""

    def __init__(
        self,
        autopilot: Autopilot,
        envelope: SafetyEnvelope,
        specs: tuple[SensorSpec, ...],
        clock: Clock,
        *,
        step_ns: int,
        control_period_ns: int,
        feels_contacts: bool,
    ) -> None:
        self.autopilot = autopilot
        self.tick_ns = _tick_ns(specs, control_period_ns, step_ns)
        self.gate = EnvelopeGate(autopilot, envelope, clock, position=self._position)
        self.providers = {spec.name: Provider(spec) for spec in specs}
        self._now_ns = clock.now_ns
        self._control_period_ns = control_period_ns
        self._vehicle = self._added("vehicle", SensorKind.VEHICLE, STATE_PERIOD_NS)
        self._control = self._added("control", SensorKind.CONTROL, STATE_PERIOD_NS)
        self._status = self._added("status", SensorKind.STATUS, STATUS_PERIOD_NS)
        if feels_contacts:
            self._added(CONTACT, SensorKind.CONTACT, step_ns)
        self._told = autopilot.status()

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        ack = self.autopilot.request(action, altitude_m=altitude_m)
        self._follow()
        return replace(ack, stamp_ns=self._now_ns())  # the autopilot's is of its last period

    def give(self, now_ns: int, arrived: Sequence[tuple[str, Sample]]) -> None:
        del now_ns  # samples carry their own time
        autopilot, providers = self.autopilot, self.providers
        for _, sample in arrived:
            autopilot.sense(sample)
        for name, sample in arrived:
            providers[name].push(sample)

    def take(self, now_ns: int) -> FloatArray | None:
        """None in between two control periods."""
        if now_ns % self._control_period_ns:
            return None
        autopilot = self.autopilot
        motors = autopilot.update(now_ns)
        self._follow()
        if now_ns % STATE_PERIOD_NS == 0 and autopilot.estimator.ready:
            self._vehicle.push(autopilot.state())
            self._control.push(autopilot.control())
        if now_ns % STATUS_PERIOD_NS == 0 or self._has_news():
            self._told = autopilot.status()
            self._status.push(self._told)
        return motors

    def close(self) -> None:
        """There is nothing to let go of."""

    def _has_news(self) -> bool:
        told, now = self._told, self.autopilot
        return (told.mode, told.armed, told.failsafe) != (now.mode, now.armed, now.failsafe)

    def _follow(self) -> None:
        """The gate's arming is the autopilot's: it may disarm by itself, as after landing. A kill
        of either is one of both.
        """
        if self.gate.killed and not self.autopilot.killed:
            self.autopilot.request(Action.KILL)
        if self.autopilot.killed:
            self.gate.kill()
        elif self.autopilot.armed != self.gate.armed:
            if self.autopilot.armed:
                self.gate.arm()
            else:
                self.gate.disarm()

    def _position(self) -> FloatArray | None:
        estimator = self.autopilot.estimator
        return estimator.nominal[:3] if estimator.ready else None

    def _added(self, name: str, kind: SensorKind, period_ns: int) -> Provider:
        self.providers[name] = Provider(SensorSpec(name, kind, period_ns))
        return self.providers[name]


def _tick_ns(specs: tuple[SensorSpec, ...], control_period_ns: int, step_ns: int) -> int:
    """The longest stretch that ends wherever something is due."""
    if control_period_ns % step_ns:
        raise ConfigError(
            f"the control period of {control_period_ns} ns is no multiple of the scenario's step "
            f"of {step_ns} ns; choose a step that divides it"
        )
    tick_ns = control_period_ns
    for spec in specs:
        tick_ns = gcd(tick_ns, spec.period_ns, spec.latency_ns)
    return tick_ns
