"""The contract between the autonomy stack and whatever flies. Protocols, no base classes."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from ghost.core.clock import Clock
from ghost.hal.capabilities import ActuatorSpec, Capabilities, SensorSpec
from ghost.hal.commands import Command, CommandAck
from ghost.hal.samples import GroundTruth, Sample
from ghost.hal.scenario import ScenarioSpec
from ghost.hal.vehicle import Action, ActionAck

S_co = TypeVar("S_co", bound=Sample, covariant=True)
Unsubscribe = Callable[[], None]


class SensorProvider(Protocol[S_co]):
    @property
    def spec(self) -> SensorSpec: ...

    def poll(self) -> S_co | None:
        """The newest sample, or None before the first. Broken sensors report health."""
        ...

    def subscribe(self, callback: Callable[[S_co], None]) -> Unsubscribe: ...


class ActuatorSink(Protocol):
    @property
    def spec(self) -> ActuatorSpec: ...

    def send(self, command: Command) -> CommandAck:
        """Always answers; never raises for bad input."""
        ...


class FlightController(Protocol):
    """Whatever closes the inner loops: PX4, or the embedded autopilot."""

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        """Always answers; never raises for what can't be done now."""
        ...


class SimulationBackend(Protocol):
    """A world that can be stepped."""

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def sensors(self) -> Mapping[str, SensorProvider[Sample]]: ...
    @property
    def actuators(self) -> ActuatorSink: ...

    @property
    def flight_controller(self) -> FlightController: ...

    def reset(self, scenario: ScenarioSpec, seed: int) -> None: ...
    def step(self, dt_ns: int) -> None: ...
    def shutdown(self) -> None: ...
    def ground_truth(self) -> GroundTruth: ...


class RuntimeBackend(Protocol):
    """The real world, which steps by itself."""

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def sensors(self) -> Mapping[str, SensorProvider[Sample]]: ...
    @property
    def actuators(self) -> ActuatorSink: ...

    @property
    def flight_controller(self) -> FlightController: ...

    def start(self) -> None: ...
    def spin(self, until_ns: int) -> None:
        """Let the world happen until then. Samples reach their subscribers inside of this call and
        nowhere else, so nothing above needs a lock, and what hangs falls silent.
        """
        ...

    def stop(self) -> None: ...
