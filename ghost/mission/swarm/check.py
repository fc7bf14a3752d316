"""Whether a swarm can fly its mission, asked before take-off."""

from collections.abc import Mapping, Sequence

from ghost.core.errors import ConfigError
from ghost.hal.envelope import SafetyEnvelope
from ghost.mission.swarm.parts import Marching, Part, Scene, Shift, plan_part
from ghost.mission.swarm.steps import (
    Defaults,
    Form,
    GoTo,
    Land,
    Move,
    Return,
    Step,
    Takeoff,
    kind_of,
)
from ghost.planning import Vector
from ghost.planning.formation import nearest_pair

_LOOK_NS = 200_000_000
_TOLERANCE_M = 1e-6
CATCH_UP = 1.5
"""How much faster than its step's speed one may fly, to keep its slot or get back to it."""


def check_steps(
    steps: Sequence[Step],
    defaults: Defaults,
    homes_enu_m: Mapping[int, Vector],
    envelopes: Mapping[int, SafetyEnvelope],
    *,
    vehicles: int | None,
    keeps_apart: bool,
) -> None:
    """Raise ConfigError at the first value that can't be flown. Steps are in the run's frame."""
    numbers = sorted(homes_enu_m)
    if not numbers or (vehicles is not None and len(numbers) != vehicles):
        wanted = "1 or more" if vehicles is None else f"{vehicles}, as the mission's vehicles says"
        raise ConfigError(f"the swarm has {len(numbers)} vehicles; expected {wanted}")
    judge = _Judge(envelopes, defaults.separation_m if keeps_apart else 0.0)
    judge.step = "take-off places"
    judge.apart(homes_enu_m)
    if keeps_apart:
        judge.least_m = defaults.distance_m
    scene = Scene(dict(homes_enu_m), dict.fromkeys(numbers, 0.0), 0.0)
    for index, step in enumerate(steps):
        judge.step = f"step {index} ({kind_of(step)})"
        if isinstance(step, Takeoff):
            places = {
                number: (*homes_enu_m[number][:2], homes_enu_m[number][2] + step.altitude_m)
                for number in numbers
            }
            scene = Scene(places, scene.yaws_rad, scene.heading_rad)
            judge.places(places, "altitude_m")
        elif isinstance(step, Land):
            return  # where they are then; a swarm takes off once
        else:
            _check_fits(judge.step, step, numbers)
            part = plan_part(step, scene, defaults, homes_enu_m)
            if isinstance(step, Form | Move | GoTo | Return):
                judge.speed(CATCH_UP * step.speed_mps)
            judge.part(part, numbers)
            scene = part.ending
            if isinstance(step, Form | GoTo):
                judge.apart(scene.places_enu_m)


class _Judge:
    def __init__(self, envelopes: Mapping[int, SafetyEnvelope], least_m: float) -> None:
        self.step = ""
        self.least_m = least_m
        self._envelopes = envelopes

    def apart(self, places_enu_m: Mapping[int, Vector]) -> None:
        numbers = sorted(places_enu_m)
        pair = nearest_pair([places_enu_m[number] for number in numbers])
        if pair is not None and pair[2] < self.least_m - _TOLERANCE_M:
            first, second, away_m = numbers[pair[0]], numbers[pair[1]], pair[2]
            raise ConfigError(
                f"{self.step}: vehicles {first} and {second} are {away_m:.2f} m apart, seen from "
                f"above, and {self.least_m:g} m are kept; space them wider, or lower separation_m "
                "or margin_m"
            )

    def speed(self, speed_mps: float) -> None:
        for number in sorted(self._envelopes):
            limit_mps = self._envelopes[number].max_speed_mps
            if speed_mps > limit_mps:
                raise ConfigError(
                    f"{self.step}: speed_mps may take up to {speed_mps:g} m/s to keep up, above "
                    f"the envelope's {limit_mps:g} of vehicle {number}; lower it"
                )

    def part(self, part: Part, numbers: Sequence[int]) -> None:
        if isinstance(part, Shift | Marching):
            for at_ns in range(0, part.duration_ns + _LOOK_NS, _LOOK_NS):
                places = {number: part.point(number, at_ns).position_enu_m for number in numbers}
                self.places(places, f"the way {at_ns / 1e9:.1f} s on")
        self.places(part.ending.places_enu_m, "the end")

    def places(self, places_enu_m: Mapping[int, Vector], what: str) -> None:
        for number in sorted(places_enu_m):
            east_m, north_m, up_m = places_enu_m[number]
            envelope = self._envelopes[number]
            where = (
                f"{self.step}: {what} of vehicle {number}, at ({east_m:.1f}, {north_m:.1f}, "
                f"{up_m:.1f}),"
            )
            outside_m = envelope.outside_fence_m(east_m, north_m)
            if outside_m > _TOLERANCE_M:
                raise ConfigError(
                    f"{where} is {outside_m:.1f} m outside the fence; move it inside, or widen the "
                    "fence"
                )
            low_m, high_m = envelope.min_altitude_m, envelope.max_altitude_m
            if not low_m - _TOLERANCE_M <= up_m <= high_m + _TOLERANCE_M:
                raise ConfigError(
                    f"{where} is outside the altitudes {low_m:g} to {high_m:g} m; change its "
                    "altitude or the envelope"
                )


def _check_fits(where: str, step: Step, numbers: Sequence[int]) -> None:
    if isinstance(step, Form) and step.shape is None and len(step.offsets_flu_m) < len(numbers):
        raise ConfigError(
            f"{where}: {len(step.offsets_flu_m)} offsets for {len(numbers)} vehicles; expected at "
            "least as many"
        )
    if isinstance(step, GoTo) and step.targets_enu_m is not None:
        for number in sorted(step.targets_enu_m):
            if number not in numbers:
                known = ", ".join(map(str, numbers))
                raise ConfigError(f"{where}: no vehicle {number}; the swarm has {known}")
