"""Any simulator adapter and the embedded autopilot make a HAL backend."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghost.autopilot import Autopilot
from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, GhostError
from ghost.core.random import RandomSource
from ghost.hal import (
    Capabilities,
    EnvelopeGate,
    GroundTruth,
    SafetyEnvelope,
    ScenarioSpec,
    SensorSpec,
)
from ghost.simulation.adapter import (
    Fault,
    SimulatorAdapter,
    VehicleSetup,
    Wind,
    World,
)
from ghost.simulation.embedded import EmbeddedVehicle, Provider
from ghost.simulation.scenery import NOTHING, Scenery

VEHICLE = 0

AutopilotFactory = Callable[[ScenarioSpec], Autopilot]


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that befalls the vehicle at a time: a fault, or another wind."""

    at_ns: int
    what: Fault | Wind


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
            sensors=tuple(provider.spec for provider in self._current().vehicle.providers.values()),
            command_levels=self._current().vehicle.autopilot.spec.levels,
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
        return self._current().vehicle.providers

    @property
    def actuators(self) -> EnvelopeGate:
        return self._current().vehicle.gate

    @property
    def flight_controller(self) -> EmbeddedVehicle:
        return self._current().vehicle

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
        at_ns = -(-happening.at_ns // run.vehicle.tick_ns) * run.vehicle.tick_ns
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
        control_period_ns: int,
    ) -> None:
        self.clock = SimClock()
        self._adapter = adapter
        self._step_ns = step_ns
        self.vehicle = EmbeddedVehicle(
            autopilot,
            envelope,
            specs,
            self.clock,
            step_ns=step_ns,
            control_period_ns=control_period_ns,
            feels_contacts=adapter.capabilities.contacts,
        )

    def step(self, dt_ns: int) -> None:
        if type(dt_ns) is not int or dt_ns < 0 or dt_ns % self._step_ns:
            raise ConfigError(
                f"step of {dt_ns!r} ns; expected an int of 0 or more, a multiple of the "
                f"scenario's {self._step_ns} ns"
            )
        clock, vehicle, adapter, tick_ns = (
            self.clock,
            self.vehicle,
            self._adapter,
            self.vehicle.tick_ns,
        )
        end_ns = clock.now_ns() + dt_ns
        while (now_ns := clock.now_ns()) < end_ns:
            stretch_ns = min(tick_ns - now_ns % tick_ns, end_ns - now_ns)
            adapter.step(stretch_ns)
            clock.advance(stretch_ns)
            now_ns += stretch_ns
            if now_ns % tick_ns == 0:
                vehicle.give(now_ns, adapter.receive_sensors(VEHICLE))
                motors = vehicle.take(now_ns)
                if motors is not None:
                    adapter.send_motors(VEHICLE, motors)
