"""The MAVLink face of the embedded autopilot: from outside, a small PX4."""

from ghost.sitl.face import Face
from ghost.sitl.identity import SIMULATED
from ghost.sitl.vehicle import SitlVehicle

__all__ = ["SIMULATED", "Face", "SitlVehicle"]
