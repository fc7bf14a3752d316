"""A check: one promise of the HAL, tried on backends made afresh."""

from collections.abc import Callable
from dataclasses import dataclass

from ghost.conformance.factory import Factory
from ghost.core.errors import GhostError
from ghost.hal import Capabilities, CommandLevel, SensorKind


class ConformanceError(GhostError):
    """The backend broke a promise."""

    def __init__(self, seen: str, expected: str) -> None:
        super().__init__(f"{seen}; expected {expected}")


class NotApplicableError(GhostError):
    """The check can't be tried here, through no fault of the backend."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a backend must have declared; features are the names of flags in Capabilities."""

    features: tuple[str, ...] = ()
    sensors: tuple[SensorKind, ...] = ()
    levels: tuple[CommandLevel, ...] = ()

    def missing(self, capabilities: Capabilities) -> str:
        """What isn't declared, or nothing."""
        declared = {spec.kind for spec in capabilities.sensors}
        lacks = [name for name in self.features if not getattr(capabilities, name)]
        lacks += [kind.name for kind in self.sensors if kind not in declared]
        lacks += [level.name for level in self.levels if level not in capabilities.command_levels]
        return f"not declared: {', '.join(lacks)}" if lacks else ""


@dataclass(frozen=True, slots=True)
class Check:
    """run returns the figure that it found, or raises ConformanceError. A check that needs nothing
    is mandatory for every backend; one that needs something holds those who declare it to it. Where
    time passes by itself only those are tried that don't count nanoseconds: in_flight where it is
    simulated, on_bench in reality, too, because they don't arm.
    """

    name: str
    run: Callable[[Factory], str]
    needs: Need = Need()
    on_bench: bool = False
    in_flight: bool = False

    def missing(self, capabilities: Capabilities, *, is_real: bool) -> str:
        """Why it can't be tried; empty when it can."""
        if not (capabilities.synchronous_step or self.on_bench):
            if is_real:
                return "flies, or counts nanoseconds: for a backend that is stepped"
            if not self.in_flight:
                return "counts nanoseconds, or knows the modes of Ghost's own autopilot"
        return self.needs.missing(capabilities)

    @property
    def mandatory(self) -> bool:
        return self.needs == Need()


def require(condition: object, seen: str, expected: str) -> None:
    if not condition:
        raise ConformanceError(seen, expected)
