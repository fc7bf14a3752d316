"""The steps of a swarm's mission, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from ghost.mission.steps import OnTimeout
from ghost.planning import Vector
from ghost.planning.formation import Shape


class Heading(StrEnum):
    """Where a formation looks on its way: along the legs, or where it looked before."""

    PATH = "path"
    KEEP = "keep"


class Places(StrEnum):
    """Which place a vehicle returns to: any that one of them took off from, or its own."""

    ANY = "any"
    OWN = "own"


class OnLoss(StrEnum):
    """What the others do when one is lost; all keep away from where it was."""

    CONTINUE = "continue"
    RETURN = "return"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Terms:
    """Without a timeout_ns the runner gives the step a generous one."""

    timeout_ns: int | None = None
    on_timeout: OnTimeout = OnTimeout.LAND


@dataclass(frozen=True, slots=True)
class Defaults:
    """separation_m is between any two, for true; margin_m is what the rule adds to it, because
    nobody is quite where it believes to be, or has been told to be.
    """

    separation_m: float = 3.0
    margin_m: float = 1.0
    speed_mps: float = 3.0
    climb_mps: float = 1.5
    acceleration_mps2: float = 2.0
    yaw_rate_dps: float = 60.0
    acceptance_m: float = 0.8

    @property
    def distance_m(self) -> float:
        """What the rule keeps."""
        return self.separation_m + self.margin_m


@dataclass(frozen=True, slots=True)
class Takeoff:
    """Each to so much above where it stands."""

    altitude_m: float
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Form:
    """Offsets are forward, left and up of the centre; None is by shape and spacing. A centre of
    None is where the middle of all is, a heading of None the one they have.
    """

    shape: Shape | None
    spacing_m: float = 0.0
    offsets_flu_m: tuple[Vector, ...] = ()
    centre_enu_m: Vector | None = None
    heading_rad: float | None = None
    speed_mps: float = 3.0
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Move:
    """The centre through the waypoints, and all with it."""

    waypoints_enu_m: tuple[Vector, ...]
    speed_mps: float
    heading: Heading | float = Heading.PATH
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class GoTo:
    """Each its own way. Without targets, to the place opposite, through the middle of all."""

    targets_enu_m: Mapping[int, Vector] | None
    speed_mps: float
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Hold:
    duration_ns: int
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Return:
    """At the height they have; then down, unless a step follows that lands."""

    places: Places = Places.ANY
    speed_mps: float = 3.0
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Land:
    terms: Terms = field(default_factory=Terms)


Step: TypeAlias = Takeoff | Form | Move | GoTo | Hold | Return | Land
Flown: TypeAlias = Form | Move | GoTo | Hold | Return

KINDS: dict[str, type[Step]] = {
    "takeoff": Takeoff,
    "form": Form,
    "move": Move,
    "goto": GoTo,
    "hold": Hold,
    "return": Return,
    "land": Land,
}


def kind_of(step: Step) -> str:
    return next(name for name, kind in KINDS.items() if kind is type(step))
