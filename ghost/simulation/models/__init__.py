"""What simulators share: rotors, batteries and air as kernels, sensors with their errors."""

from ghost.simulation.models.rays import in_world
from ghost.simulation.models.sensors import Truth
from ghost.simulation.models.suite import SensorSuite

__all__ = ["SensorSuite", "Truth", "in_world"]
