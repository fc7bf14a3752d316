"""PX4 as a program on this machine: where it is, how an instance of it starts and ends."""

from ghost.px4.installation import Installation, Px4Container, Px4Folder, find_px4
from ghost.px4.instance import Px4Instance
from ghost.px4.process import Px4Process

__all__ = [
    "Installation",
    "Px4Container",
    "Px4Folder",
    "Px4Instance",
    "Px4Process",
    "find_px4",
]
