"""A swarm's mission: what `load_swarm_mission` makes of a YAML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ghost.hal.envelope import SafetyEnvelope
from ghost.mission.steps import Frame
from ghost.mission.swarm.check import check_steps
from ghost.mission.swarm.steps import Defaults, Form, GoTo, Move, OnLoss, Step
from ghost.planning import Vector
from ghost.planning.formation import mean_of
from ghost.planning.vectors import plus


@dataclass(frozen=True, slots=True)
class SwarmMission:
    """vehicles is how many it is made for, None any number. keeps_apart is whether the rule of
    separation has a say in what is flown.
    """

    name: str
    steps: tuple[Step, ...]
    defaults: Defaults = field(default_factory=Defaults)
    frame: Frame = Frame.HOME
    vehicles: int | None = None
    keeps_apart: bool = True
    on_loss: OnLoss = OnLoss.CONTINUE
    plain: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """As it stood in the file, for the manifest."""

    def at(self, homes_enu_m: Mapping[int, Vector]) -> "SwarmMission":
        """The same mission in the frame of the run; home is the middle of where they stand."""
        if self.frame is Frame.WORLD:
            return self
        middle = mean_of([homes_enu_m[number] for number in sorted(homes_enu_m)])
        steps = tuple(_moved(step, middle) for step in self.steps)
        return replace(self, steps=steps, frame=Frame.WORLD)

    def check(
        self, homes_enu_m: Mapping[int, Vector], envelopes: Mapping[int, SafetyEnvelope]
    ) -> None:
        """Raise ConfigError if these vehicles can't fly it: which step, which value, and the way
        out.
        """
        check_steps(
            self.at(homes_enu_m).steps,
            self.defaults,
            homes_enu_m,
            envelopes,
            vehicles=self.vehicles,
            keeps_apart=self.keeps_apart,
        )


def _moved(step: Step, by_m: Vector) -> Step:
    if isinstance(step, Form) and step.centre_enu_m is not None:
        return replace(step, centre_enu_m=plus(step.centre_enu_m, by_m))
    if isinstance(step, Move):
        return replace(
            step, waypoints_enu_m=tuple(plus(place, by_m) for place in step.waypoints_enu_m)
        )
    if isinstance(step, GoTo) and step.targets_enu_m is not None:
        targets = {number: plus(place, by_m) for number, place in step.targets_enu_m.items()}
        return replace(step, targets_enu_m=targets)
    return step
