"""The frame of one run: everything that must be the same for two runs to be the same."""

from dataclasses import dataclass

from ghost.core.errors import ConfigError
from ghost.core.frames import Geodetic

ZURICH = Geodetic(47.397742, 8.545594, 488.0)  # where PX4's simulators start, too


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """A seed, a fixed physics step, and the place on Earth where ENU is (0, 0, 0)."""

    name: str
    seed: int
    step_ns: int
    duration_ns: int
    origin: Geodetic = ZURICH

    def __post_init__(self) -> None:
        for key in ("seed", "step_ns", "duration_ns"):
            value = getattr(self, key)
            if type(value) is not int:
                raise ConfigError(f"scenario {self.name}: {key} is {value!r}; expected an int")
        if not 0 <= self.seed < 2**64:
            raise ConfigError(f"scenario {self.name}: seed is {self.seed}; expected 0 to 2**64 - 1")
        if self.step_ns <= 0:
            raise ConfigError(f"scenario {self.name}: step_ns is {self.step_ns}; expected above 0")
        if self.duration_ns < self.step_ns:
            raise ConfigError(
                f"scenario {self.name}: duration_ns is {self.duration_ns}; "
                f"expected at least one step of {self.step_ns}"
            )
