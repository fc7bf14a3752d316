"""Simulators that bring a flight controller of their own, and how all simulators are found.

An adapter is physics for whoever flies in it. A whole simulator is a backend as it stands: whoever
flies comes with it, and its time passes by itself. It is found through the entry-point group
`ghost.backends`, as adapters are through `ghost.simulators`.
"""

from typing import Protocol, cast, runtime_checkable

from ghost.hal import SafetyEnvelope, SimulationBackend
from ghost.simulation.adapter import (
    SimulatorAdapter,
    SimulatorCapabilities,
    VehicleSetup,
    is_whole,
    load_adapter,
    load_whole,
)


@runtime_checkable
class WholeSimulator(Protocol):
    @property
    def adapter_type(self) -> str:
        """The name in the entry point, such as gazebo_px4."""
        ...

    @property
    def capabilities(self) -> SimulatorCapabilities: ...

    def backend(self, vehicle: VehicleSetup, envelope: SafetyEnvelope) -> SimulationBackend:
        """One that has no run yet; ConfigError for a vehicle that can't be flown in it."""
        ...


Simulator = SimulatorAdapter | WholeSimulator


def load_simulator(name: str) -> Simulator:
    """Of either kind, by its name or by NAME@ADDRESS."""
    return cast("WholeSimulator", load_whole(name)) if is_whole(name) else load_adapter(name)
