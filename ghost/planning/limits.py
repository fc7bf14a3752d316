"""How hard a trajectory may be flown."""

import math
from dataclasses import dataclass, fields

from ghost.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Limits:
    """max_speed_mps is horizontal, max_climb_mps vertical, up and down; the acceleration is the
    length of the whole vector. max_deviation_m is how far a corner that is flown through may bulge
    out of the straight legs beside it.
    """

    max_speed_mps: float = 3.0
    max_climb_mps: float = 1.5
    max_acceleration_mps2: float = 2.0
    max_yaw_rate_rps: float = 1.0
    max_deviation_m: float = 0.5

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not 0.0 < value < math.inf:
                raise ConfigError(f"{entry.name} is {value}; expected a finite number above 0")
