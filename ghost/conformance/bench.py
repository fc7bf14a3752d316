"""A backend that steps by itself, held as one that is stepped: for checks that let time pass."""

from collections.abc import Mapping
from typing import Any

from ghost.core.clock import Clock
from ghost.core.errors import GhostError, RefusedError
from ghost.hal import (
    ActuatorSink,
    Capabilities,
    FlightController,
    GroundTruth,
    RuntimeBackend,
    Sample,
    ScenarioSpec,
    SensorKind,
    SensorProvider,
)


class Bench:
    """A reset connects anew; a step waits. Nothing here arms, and what is armed is left alone."""

    def __init__(self, backend: RuntimeBackend) -> None:
        self._backend = backend

    @property
    def capabilities(self) -> Capabilities:
        return self._backend.capabilities

    @property
    def clock(self) -> Clock:
        return self._backend.clock

    @property
    def sensors(self) -> Mapping[str, SensorProvider[Sample]]:
        return self._backend.sensors

    @property
    def actuators(self) -> ActuatorSink:
        return self._backend.actuators

    @property
    def flight_controller(self) -> FlightController:
        return self._backend.flight_controller

    def reset(self, scenario: ScenarioSpec, seed: int) -> None:
        del scenario, seed  # reality has its own
        self._backend.start()
        if self._is_armed():
            self._backend.stop()
            raise RefusedError("the vehicle is armed; conformance is tried on the bench")

    def step(self, dt_ns: int) -> None:
        self._backend.spin(self._backend.clock.now_ns() + dt_ns)

    def shutdown(self) -> None:
        self._backend.stop()

    def ground_truth(self) -> GroundTruth:
        raise GhostError("reality tells no ground truth")

    def _is_armed(self) -> bool:
        for spec in self._backend.capabilities.sensors:
            if spec.kind is SensorKind.STATUS:
                status: Any = self._backend.sensors[spec.name].poll()
                return status is not None and status.armed
        return False
