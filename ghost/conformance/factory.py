"""Makes the backend under test, as often as a check likes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd
from typing import Any, cast

from ghost.conformance.bench import Bench
from ghost.core.errors import ConfigError
from ghost.deploy.hal import build_hal
from ghost.deploy.robot import RobotDescription
from ghost.hal import Capabilities, SafetyEnvelope, ScenarioSpec, SimulationBackend
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import SimulatorCapabilities, is_whole
from ghost.simulation.whole import load_simulator

LONGEST_STEP_NS = 1_000_000


@dataclass(frozen=True)
class Factory:
    """Call it for a fresh backend: a simulated one, or with links the real one. simulator None is
    the robot's own choice. given goes to every one of them.
    """

    robot: RobotDescription
    simulator: str | None = None
    links: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    _only: list[SimulationBackend] = field(default_factory=list, init=False, compare=False)
    """The backend that holds what there is only one of: a vehicle, or a simulator's process."""

    def __call__(
        self, *, envelope: SafetyEnvelope | None = None, **arguments: Any
    ) -> SimulationBackend:
        """What else is given goes to the backend, such as start or wind."""
        robot = self.robot if envelope is None else replace(self.robot, envelope=envelope)
        arguments = {**self.given, **arguments}
        if self.links:
            real = Bench(build_hal(robot, mode="real", links=self.links, **arguments))
            return self._alone(real)
        chosen = {} if self.simulator is None else {"simulator": self.simulator}
        backend = cast("SimulationBackend", build_hal(robot, mode="sim", **chosen, **arguments))
        return self._alone(backend) if is_whole(self._simulator) else backend

    def _alone(self, backend: SimulationBackend) -> SimulationBackend:
        """Whoever had it before lets go of it."""
        self.close()
        self._only.append(backend)
        return backend

    def close(self) -> None:
        """Let go of links and processes, if there are any."""
        while self._only:
            self._only.pop().shutdown()

    def takes(self, **arguments: Any) -> bool:
        """Whether the backend can be started with these; a robot's own HAL may not."""
        try:
            self(**arguments)
        except ConfigError:
            return False
        return True

    @property
    def airframe(self) -> Airframe:
        """What is physically there; a robot without one can't be simulated."""
        if self.robot.airframe is None:
            raise ConfigError(f"robot {self.robot.name} has no airframe to judge by")
        return self.robot.airframe

    @property
    def simulated(self) -> SimulatorCapabilities | None:
        """What the simulator says of itself; None for a HAL that isn't made of an adapter."""
        return load_simulator(self._simulator).capabilities if self._simulator else None

    @property
    def _simulator(self) -> str:
        """Empty for a HAL of the robot's own, or none."""
        if self.robot.hal.sim is not None or self.robot.sim is None:
            return ""
        return self.simulator or self.robot.sim.simulator

    @cached_property
    def capabilities(self) -> Capabilities:
        """A backend may know them only once it has a run."""
        backend = self()
        backend.reset(self.scenario(0), 0)
        try:
            return backend.capabilities
        finally:
            backend.shutdown()

    @cached_property
    def step_ns(self) -> int:
        """A physics step that ends wherever a sensor is due."""
        step_ns = gcd(LONGEST_STEP_NS, self.robot.autopilot.control_period_ns)
        for model in self.robot.sensors:
            step_ns = gcd(step_ns, model.period_ns, model.latency_ns)
        return step_ns

    def scenario(self, seed: int) -> ScenarioSpec:
        return ScenarioSpec("conformance", seed, self.step_ns, 600_000_000_000)
