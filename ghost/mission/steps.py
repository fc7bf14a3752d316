"""The steps of a mission, as data."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from ghost.planning import Vector, survey_pattern
from ghost.planning.polygon import Point


class OnTimeout(StrEnum):
    """CONTINUE goes on with the next step. RETURN and LAND see the vehicle to the ground; ABORT
    lets go of it as soon as the flight controller is landing.
    """

    CONTINUE = "continue"
    RETURN = "return"
    LAND = "land"
    ABORT = "abort"


class Frame(StrEnum):
    """What positions and altitudes count from: the origin of the run, or where it took off."""

    WORLD = "world"
    HOME = "home"


@dataclass(frozen=True, slots=True)
class Until:
    """What ends a step early; any one of them does."""

    battery_below: float | None = None
    altitude_above_m: float | None = None
    elapsed_ns: int | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What every step has. Without a timeout_ns the runner gives the step a generous one."""

    timeout_ns: int | None = None
    on_timeout: OnTimeout = OnTimeout.LAND
    until: Until = field(default_factory=Until)


@dataclass(frozen=True, slots=True)
class Defaults:
    speed_mps: float = 3.0
    climb_mps: float = 1.5
    acceleration_mps2: float = 2.0
    yaw_rate_dps: float = 60.0
    acceptance_m: float = 0.5


@dataclass(frozen=True, slots=True)
class Takeoff:
    """altitude_m is above home, whatever the mission's frame."""

    altitude_m: float
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class GoTo:
    """yaw_rad None looks along the path; stop_before_obstacle_m None looks for no obstacles."""

    waypoints_enu_m: tuple[Vector, ...]
    speed_mps: float
    yaw_rad: float | None = None
    stop: bool = False
    stop_before_obstacle_m: float | None = None
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Hold:
    duration_ns: int
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Survey:
    polygon_enu_m: tuple[Point, ...]
    spacing_m: float
    altitude_m: float
    speed_mps: float
    heading_rad: float = 0.0
    yaw_rad: float | None = None
    stop: bool = False
    stop_before_obstacle_m: float | None = None
    terms: Terms = field(default_factory=Terms)

    @property
    def waypoints_enu_m(self) -> tuple[Vector, ...]:
        return survey_pattern(self.polygon_enu_m, self.spacing_m, self.altitude_m, self.heading_rad)


@dataclass(frozen=True, slots=True)
class Return:
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True, slots=True)
class Land:
    terms: Terms = field(default_factory=Terms)


Step: TypeAlias = Takeoff | GoTo | Hold | Survey | Return | Land

KINDS: dict[str, type[Step]] = {
    "takeoff": Takeoff,
    "goto": GoTo,
    "hold": Hold,
    "survey": Survey,
    "return": Return,
    "land": Land,
}


def kind_of(step: Step) -> str:
    return next(name for name, kind in KINDS.items() if kind is type(step))


def looks_out(step: Step) -> bool:
    return isinstance(step, GoTo | Survey) and step.stop_before_obstacle_m is not None
