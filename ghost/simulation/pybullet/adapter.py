"""PyBullet as an adapter: solid worlds, vehicles that can collide, cameras."""

from ghost.simulation.adapter import FaultKind, SimulatorCapabilities, World
from ghost.simulation.flight import PhysicsAdapter
from ghost.simulation.pybullet.physics import Bodies


class PyBulletAdapter(PhysicsAdapter):
    """The same airframes, rotors and sensors as everywhere; Bullet moves the bodies."""

    adapter_type = "pybullet"
    name = "PyBullet"
    capabilities = SimulatorCapabilities(
        max_vehicles=None,
        deterministic=True,
        ground_truth=True,
        wind=True,
        disturbance=True,
        faults=tuple(FaultKind),
        in_process=True,
        scenery=True,
        cameras=True,
        contacts=True,
        view=True,
    )

    def build(self, world: World) -> Bodies:
        return Bodies(world)
