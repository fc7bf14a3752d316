"""Any simulator adapter and the embedded autopilot make a HAL backend."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot import Autopilot
from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, GhostError
from ghost.core.random import RandomSource
from ghost.hal import (
    Action,
    ActionAck,
    Capabilities,
    EnvelopeGate,
    GroundTruth,
    SafetyEnvelope,
    Sample,
    ScenarioSpec,
    SensorKind,
    SensorSpec,
    Unsubscribe,
)
from ghost.simulation.adapter import (
    CONTACT,
    Fault,
    SimulatorAdapter,
    VehicleSetup,
    Wind,
    World,
)
from ghost.simulation.scenery import NOTHING, Scenery

STATE_PERIOD_NS = 20_000_000
STATUS_PERIOD_NS = 100_000_000
VEHICLE = 0

AutopilotFactory = Callable[[ScenarioSpec], Autopilot]


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that befalls the vehicle at a time: a fault, or another wind."""

    at_ns: int
    what: Fault | Wind


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


class AdapterBackend:
    """One vehicle in a simulator. reset() begins a run, with a clock of its own."""

    def __init__(
        self,
        adapter: SimulatorAdapter,
        vehicle: VehicleSetup,
        envelope: SafetyEnvelope,
        make_autopilot: AutopilotFactory,
        *,
        control_period_ns: int,
        wind: Wind = Wind(),  # noqa: B008 - frozen
        happenings: tuple[Happening, ...] = (),
        scenery: Scenery = NOTHING,
        view: bool = False,
    ) -> None:
        self._adapter = adapter
        self._vehicle = vehicle
        self._envelope = envelope
        self._make_autopilot = make_autopilot
        self._control_period_ns = control_period_ns
        self._wind = wind
        self._happenings = happenings
        self._scenery = scenery
        self._view = view
        self._run: _Run | None = None

    @property
    def capabilities(self) -> Capabilities:
        known = self._adapter.capabilities
        return Capabilities(
            sensors=tuple(provider.spec for provider in self._current().providers.values()),
            command_levels=self._current().autopilot.spec.levels,
            ground_truth=known.ground_truth,
            synchronous_step=self._adapter.supports_lockstep,
            replay=False,
            deterministic=known.deterministic,
        )

    @property
    def clock(self) -> SimClock:
        return self._current().clock

    @property
    def sensors(self) -> Mapping[str, Provider]:
        return self._current().providers

    @property
    def actuators(self) -> EnvelopeGate:
        return self._current().gate

    @property
    def flight_controller(self) -> "_Run":
        return self._current()

    def reset(self, scenario: ScenarioSpec, seed: int) -> None:
        self.shutdown()
        random = RandomSource(seed).child("simulator")
        world = World(
            scenario, (self._vehicle,), random, self._wind, self._scenery, view=self._view
        )
        self._adapter.connect(world)
        specs = tuple(model.spec for model in self._vehicle.sensors)
        self._run = _Run(
            self._adapter,
            self._make_autopilot(scenario),
            self._envelope,
            specs,
            step_ns=scenario.step_ns,
            tick_ns=_tick_ns(specs, self._control_period_ns, scenario.step_ns),
            control_period_ns=self._control_period_ns,
        )
        for happening in self._happenings:
            self._schedule(happening)

    def step(self, dt_ns: int) -> None:
        self._current().step(dt_ns)

    def shutdown(self) -> None:
        self._adapter.disconnect()
        self._run = None

    def ground_truth(self) -> GroundTruth:
        self._current()
        return self._adapter.ground_truth(VEHICLE)

    def disturb(
        self, force_enu_n: tuple[float, float, float], torque_flu_nm: tuple[float, float, float]
    ) -> None:
        self._adapter.disturb(VEHICLE, force_enu_n, torque_flu_nm)

    def _schedule(self, happening: Happening) -> None:
        what, run = happening.what, self._current()
        # Physics runs in stretches that end at ticks; only there does it not matter how the
        # caller cuts up time.
        at_ns = -(-happening.at_ns // run.tick_ns) * run.tick_ns
        if isinstance(what, Wind):
            run.clock.call_at(at_ns, lambda: self._adapter.set_wind(what))
        else:
            run.clock.call_at(at_ns, lambda: self._adapter.inject(VEHICLE, what))

    def _current(self) -> "_Run":
        if self._run is None:
            raise GhostError("the backend has no run; call reset first")
        return self._run


class _Run:
    """From one reset to the next."""

    def __init__(
        self,
        adapter: SimulatorAdapter,
        autopilot: Autopilot,
        envelope: SafetyEnvelope,
        specs: tuple[SensorSpec, ...],
        *,
        step_ns: int,
        tick_ns: int,
        control_period_ns: int,
    ) -> None:
        self.clock = SimClock()
        self.autopilot = autopilot
        self._adapter = adapter
        self._step_ns = step_ns
        self.tick_ns = tick_ns
        self._control_period_ns = control_period_ns
        self.gate = EnvelopeGate(autopilot, envelope, self.clock, position=self._position)
        self.providers = {spec.name: Provider(spec) for spec in specs}
        self._vehicle = self._added("vehicle", SensorKind.VEHICLE, STATE_PERIOD_NS)
        self._control = self._added("control", SensorKind.CONTROL, STATE_PERIOD_NS)
        self._status = self._added("status", SensorKind.STATUS, STATUS_PERIOD_NS)
        if adapter.capabilities.contacts:
            self._added(CONTACT, SensorKind.CONTACT, step_ns)
        self._told = autopilot.status()

    def step(self, dt_ns: int) -> None:
        if type(dt_ns) is not int or dt_ns < 0 or dt_ns % self._step_ns:
            raise ConfigError(
                f"step of {dt_ns!r} ns; expected an int of 0 or more, a multiple of the "
                f"scenario's {self._step_ns} ns"
            )
        clock, tick_ns = self.clock, self.tick_ns
        end_ns = clock.now_ns() + dt_ns
        while (now_ns := clock.now_ns()) < end_ns:
            stretch_ns = min(tick_ns - now_ns % tick_ns, end_ns - now_ns)
            self._adapter.step(stretch_ns)
            clock.advance(stretch_ns)
            now_ns += stretch_ns
            if now_ns % tick_ns == 0:
                self._tick(now_ns)

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        ack = self.autopilot.request(action, altitude_m=altitude_m)
        self._follow()
        return replace(ack, stamp_ns=self.clock.now_ns())  # the autopilot's is of its last period

    def _tick(self, now_ns: int) -> None:
        autopilot, providers = self.autopilot, self.providers
        arrived = self._adapter.receive_sensors(VEHICLE)
        for _, sample in arrived:
            autopilot.sense(sample)
        for name, sample in arrived:
            providers[name].push(sample)
        if now_ns % self._control_period_ns:
            return
        self._adapter.send_motors(VEHICLE, autopilot.update(now_ns))
        self._follow()
        if now_ns % STATE_PERIOD_NS == 0 and autopilot.estimator.ready:
            self._vehicle.push(autopilot.state())
            self._control.push(autopilot.control())
        if now_ns % STATUS_PERIOD_NS == 0 or self._has_news():
            self._told = autopilot.status()
            self._status.push(self._told)

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

    def _position(self) -> NDArray[np.float64] | None:
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
