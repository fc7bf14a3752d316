"""What flies one simulated vehicle: the embedded autopilot, or a real PX4 that takes the simulation
for its sensors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ghost.core.clock import Clock
from ghost.hal import GroundTruth, Sample, ScenarioSpec
from ghost.simulation.adapter import VehicleSetup

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Seat:
    """The vehicle that a firmware is to fly. truth is that of the moment at which it is asked;
    feels_contacts is whether contacts come among the sensors.
    """

    vehicle_id: int
    setup: VehicleSetup
    scenario: ScenarioSpec
    clock: Clock
    truth: Callable[[], GroundTruth]
    feels_contacts: bool = False


class Firmware(Protocol):
    """Each tick it is given what arrived, and then asked for the motors. All vehicles are given
    theirs before the first is asked, so that those outside of this process work side by side.
    """

    @property
    def tick_ns(self) -> int:
        """The time from one give to the next. Physics runs in stretches of it."""
        ...

    def give(self, now_ns: int, arrived: Sequence[tuple[str, Sample]]) -> None: ...

    def take(self, now_ns: int) -> FloatArray | None:
        """One value per rotor, 0 to 1; None leaves them as they were. Whoever waits in here for a
        process has a time-out, and raises a StalledError that says what stalled.
        """
        ...

    def close(self) -> None:
        """Let go of everything. Harmless when closed."""
        ...


MakeFirmware = Callable[[Seat], Firmware]
