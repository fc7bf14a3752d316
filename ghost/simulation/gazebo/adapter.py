"""Gazebo as an adapter: its bodies, contacts and IMU; our GPS, barometer, compass and battery."""

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import FaultKind, SimulatorCapabilities, Vector, Wind, World
from ghost.simulation.flight import PhysicsAdapter
from ghost.simulation.gazebo.physics import Models
from ghost.simulation.gazebo.server import read_server


class GazeboAdapter(PhysicsAdapter):
    """A frame of ArduPilot's plugin is a step, so time stands still between steps. Two runs differ
    all the same. There is no way through the plugin to wind, to push, or to see and touch things.
    """

    adapter_type = "gazebo"
    capabilities = SimulatorCapabilities(
        max_vehicles=None,
        deterministic=False,
        ground_truth=True,
        wind=False,
        disturbance=False,
        faults=tuple(FaultKind),
        any_start=False,
    )

    def __init__(self, address: str = "") -> None:
        super().__init__()
        self._server = read_server(address)
        self.name = f"Gazebo at {self._server.host}:{self._server.port}"

    def build(self, world: World) -> Models:
        if world.scenery.solids:
            raise ConfigError(
                f"world {world.scenery.name} has solid things, and Gazebo has a world of its own; "
                "put them there"
            )
        _refuse_wind(world.wind)
        return Models(world, self._server)

    def set_wind(self, wind: Wind) -> None:
        _refuse_wind(wind)
        super().set_wind(wind)

    def disturb(self, vehicle: int, force_enu_n: Vector, torque_flu_nm: Vector) -> None:
        if any((*force_enu_n, *torque_flu_nm)):
            raise ConfigError("Gazebo's vehicles can't be pushed through ArduPilot's plugin")
        super().disturb(vehicle, force_enu_n, torque_flu_nm)


def _refuse_wind(wind: Wind) -> None:
    if wind.gust_mps or any(wind.mean_enu_mps):
        raise ConfigError("simulator gazebo has no wind of ours; set it in Gazebo's world")
