"""PX4 in the loop: a real PX4 flies a simulated vehicle in lockstep (docs/px4-sitl.md)."""

from ghost.sitl.px4.firmware import Px4Firmware
from ghost.sitl.px4.launch import launch
from ghost.sitl.px4.link import SimulatorLink

__all__ = ["Px4Firmware", "SimulatorLink", "launch"]
