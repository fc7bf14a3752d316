"""The lightweight simulator as an adapter: kernel physics, shared sensor models, gusty air."""

from ghost.simulation.adapter import FaultKind, SimulatorCapabilities, World
from ghost.simulation.flight import PhysicsAdapter
from ghost.simulation.lightweight.physics import Multirotors


class LightweightAdapter(PhysicsAdapter):
    """All vehicles are one batch. They don't touch each other; the ground is flat, at z = 0."""

    adapter_type = "lightweight"
    name = "Ghost's own physics"
    capabilities = SimulatorCapabilities(
        max_vehicles=None,
        deterministic=True,
        ground_truth=True,
        wind=True,
        disturbance=True,
        faults=tuple(FaultKind),
        in_process=True,
    )

    def build(self, world: World) -> Multirotors:
        return Multirotors(
            [vehicle.airframe for vehicle in world.vehicles],
            [vehicle.start for vehicle in world.vehicles],
            world.scenario.step_ns,
        )
