"""HALs of a robot's own, as a robot.yaml may name them."""

from collections.abc import Mapping
from typing import Any

from ghost.core.clock import Clock
from ghost.deploy import RobotDescription
from ghost.deploy.hal import derive_simulation
from ghost.hal import (
    ActuatorSink,
    Capabilities,
    FlightController,
    GroundTruth,
    Sample,
    ScenarioSpec,
    SensorProvider,
)
from ghost.simulation.adapter import Start


class OwnSim:
    """A simulation that can be started anywhere and knows no wind."""

    def __init__(self, description: RobotDescription, *, start: Start = Start()) -> None:  # noqa: B008 - frozen
        self.start_place = start.position_enu_m
        self._inner = derive_simulation(description, start=start)

    @property
    def capabilities(self) -> Capabilities:
        return self._inner.capabilities

    @property
    def clock(self) -> Clock:
        return self._inner.clock

    @property
    def sensors(self) -> Mapping[str, SensorProvider[Sample]]:
        return self._inner.sensors

    @property
    def actuators(self) -> ActuatorSink:
        return self._inner.actuators

    @property
    def flight_controller(self) -> FlightController:
        return self._inner.flight_controller

    def reset(self, scenario: ScenarioSpec, seed: int) -> None:
        self._inner.reset(scenario, seed)

    def step(self, dt_ns: int) -> None:
        self._inner.step(dt_ns)

    def shutdown(self) -> None:
        self._inner.shutdown()

    def ground_truth(self) -> GroundTruth:
        return self._inner.ground_truth()


class OwnReal:
    """Made without touching anything; hardware comes with start()."""

    def __init__(self, description: RobotDescription, **transport: Any) -> None:
        self.description = description
        self.transport = transport

    def start(self) -> None:
        raise OSError("no such port")

    def stop(self) -> None: ...


class Wired(OwnReal):
    def __init__(self, description: RobotDescription, port: str) -> None:
        super().__init__(description, port=port)


NOTHING = None
