"""PX4 in the loop: a real PX4 flies a simulated vehicle in lockstep (docs/px4-sitl.md)."""

from ghost.sitl.px4.firmware import Px4Firmware
from ghost.sitl.px4.installation import Installation, Px4Container, Px4Folder, find_px4
from ghost.sitl.px4.instance import Px4Instance
from ghost.sitl.px4.launch import launch
from ghost.sitl.px4.link import SimulatorLink
from ghost.sitl.px4.process import Px4Process

__all__ = [
    "Installation",
    "Px4Container",
    "Px4Firmware",
    "Px4Folder",
    "Px4Instance",
    "Px4Process",
    "SimulatorLink",
    "find_px4",
    "launch",
]
