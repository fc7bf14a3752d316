"""Faults of the companion computer, done to the unit's process."""

from hil.companion.errors import NotPossibleHereError, UnitGoneError
from hil.companion.inside import Inside
from hil.companion.run_disk import RunDisk
from hil.companion.scheduling import Starvation, crowded, kill, starved, stop_for, stopped
from hil.companion.unit import Unit, family_of

__all__ = [
    "Inside",
    "NotPossibleHereError",
    "RunDisk",
    "Starvation",
    "Unit",
    "UnitGoneError",
    "crowded",
    "family_of",
    "kill",
    "starved",
    "stop_for",
    "stopped",
]
