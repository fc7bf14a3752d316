"""PX4 with a world under it, as a simulator that is chosen by name."""

from ghost.hal import SafetyEnvelope
from ghost.simulation.adapter import SimulatorCapabilities, VehicleSetup
from ghost.simulation.gazebo_px4.backend import GazeboPx4Backend
from ghost.simulation.gazebo_px4.model import model_for, refuse_unflyable
from ghost.simulation.gazebo_px4.play import Script
from ghost.simulation.gazebo_px4.settings import read_settings
from ghost.simulation.gazebo_px4.stage import find_stage


class GazeboPx4Simulator:
    """See WholeSimulator."""

    adapter_type = "gazebo_px4"
    capabilities = SimulatorCapabilities(
        max_vehicles=1,
        deterministic=False,
        ground_truth=True,
        wind=False,
        disturbance=False,
        faults=(),
        any_start=False,
    )

    def __init__(self, address: str = "") -> None:
        self._settings = read_settings(address)

    def backend(self, vehicle: VehicleSetup, envelope: SafetyEnvelope) -> GazeboPx4Backend:
        refuse_unflyable(vehicle)
        stage = find_stage(self._settings)
        model = model_for(vehicle.airframe, self._settings.model, stage.physics)
        return GazeboPx4Backend(Script(stage, model, self._settings, vehicle, envelope))
