"""A mission: what `load_mission` makes of a YAML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ghost.hal.envelope import SafetyEnvelope
from ghost.mission.check import check_steps
from ghost.mission.steps import Defaults, Frame, GoTo, Step, Survey, looks_out
from ghost.planning import Vector
from ghost.planning.vectors import plus


@dataclass(frozen=True, slots=True)
class Mission:
    name: str
    steps: tuple[Step, ...]
    defaults: Defaults = field(default_factory=Defaults)
    frame: Frame = Frame.WORLD
    plain: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """As it stood in the file, for the manifest."""

    def at(self, home_enu_m: Vector) -> "Mission":
        """The same mission in the frame of the run, for a vehicle that takes off from there."""
        if self.frame is Frame.WORLD:
            return self
        steps = tuple(_moved(step, home_enu_m) for step in self.steps)
        return replace(self, steps=steps, frame=Frame.WORLD)

    @property
    def looks_out(self) -> bool:
        """Whether a step of it has to see obstacles."""
        return any(looks_out(step) for step in self.steps)

    def check(
        self,
        envelope: SafetyEnvelope,
        home_enu_m: Vector = (0.0, 0.0, 0.0),
        start_enu_m: Vector | None = None,
        *,
        reach_m: float = 2000.0,
        sees: bool | None = None,
    ) -> None:
        """Raise ConfigError if it can't be flown: which step, which value, and the way out.

        sees is whether the vehicle has a sensor that finds obstacles; None where nobody knows.
        """
        check_steps(
            self.at(home_enu_m).steps,
            self.defaults,
            envelope,
            home_enu_m,
            start_enu_m or home_enu_m,
            reach_m=reach_m,
            sees=sees,
        )


def _moved(step: Step, by_m: Vector) -> Step:
    if isinstance(step, GoTo):
        return replace(
            step, waypoints_enu_m=tuple(plus(place, by_m) for place in step.waypoints_enu_m)
        )
    if isinstance(step, Survey):
        return replace(
            step,
            polygon_enu_m=tuple((e + by_m[0], n + by_m[1]) for e, n in step.polygon_enu_m),
            altitude_m=step.altitude_m + by_m[2],
        )
    return step
