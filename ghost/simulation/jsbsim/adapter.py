"""JSBSim as an adapter: the robot's airframe, or a multirotor that JSBSim carries."""

from dataclasses import replace

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import FaultKind, SimulatorCapabilities, Vector, World
from ghost.simulation.flight import PhysicsAdapter
from ghost.simulation.jsbsim.carried import read_model
from ghost.simulation.jsbsim.physics import Vehicles

CAPABILITIES = SimulatorCapabilities(
    max_vehicles=None,
    deterministic=True,
    ground_truth=True,
    wind=True,
    disturbance=True,
    faults=tuple(FaultKind),
    in_process=True,
)


class JsbsimAdapter(PhysicsAdapter):
    """jsbsim flies the robot's own airframe. jsbsim@F450 flies JSBSim's F450 with the propellers,
    motors, drag and gear that it has there; the robot says what the autopilot has to know of it.
    """

    adapter_type = "jsbsim"

    def __init__(self, address: str = "") -> None:
        super().__init__()
        self._model = read_model(address) if address else None
        self.name = f"JSBSim's {self._model.name}" if self._model else "JSBSim"
        self.capabilities = replace(CAPABILITIES, disturbance=self._model is None)

    def build(self, world: World) -> Vehicles:
        return Vehicles(world, self._model)

    def disturb(self, vehicle: int, force_enu_n: Vector, torque_flu_nm: Vector) -> None:
        if self._model is not None and any((*force_enu_n, *torque_flu_nm)):
            raise ConfigError(f"{self.name} has nowhere to push; fly the airframe in plain jsbsim")
        super().disturb(vehicle, force_enu_n, torque_flu_nm)
