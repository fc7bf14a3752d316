"""What flies in a rig, behind real MAVLink links, and what may be done to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hil.need import Need
from hil.survey import Survey, survey


@dataclass(frozen=True, slots=True)
class Links:
    """Where each of them listens. unit is a URL for whoever is under test, or for a proxy before
    it; the station is the pilot's, and the referee has a link that nobody else has.
    """

    unit: str
    station: str
    referee: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What a case wants its vehicle to be."""

    robot: str = "x500"
    scenario: str = "calm"
    seed: int = 0
    system: int = 1
    signing_key: Path | None = None
    firmware_settings: Sequence[tuple[str, float]] = ()


class Vehicle(Protocol):
    """One that runs."""

    @property
    def links(self) -> Links: ...
    @property
    def system(self) -> int: ...

    def truth(self) -> dict[str, Any]:
        """position_enu_m, velocity_enu_mps, rotor_speed_rps; needs TRUTH."""
        ...

    def fault(self, target: str, kind: str, *values: float) -> None:
        """As in a scenario's events; needs FAULTS."""
        ...

    def wind(self, mean_enu_mps: Sequence[float], gust_mps: float = 0.0) -> None: ...
    def reboot(self) -> None: ...
    def close(self) -> None: ...


class Target(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def missing(self) -> str:
        """What it lacks on this machine, so that it can host nothing; empty where it is there."""
        ...

    @property
    def offers(self) -> frozenset[Need]: ...
    @property
    def most_jobs(self) -> int | None:
        """How many cases it can host side by side; None is any number."""
        ...

    @property
    def command_timeout_s(self) -> float:
        """How long its set-points may stay away in OFFBOARD."""
        ...

    @property
    def slowness(self) -> float:
        """How many times the limit of a case it may take: PX4 boots for some ten seconds."""
        ...

    def survey(self, folder: Path) -> Survey:
        """Its flight controller, before the first case; what was read is kept in folder."""
        ...

    def put_back(self, folder: Path) -> list[str]:
        """Its parameters, after the last case, as the survey in folder found them: a line for each
        that differed.
        """
        ...

    def start(self, folder: Path, setting: Setting) -> Vehicle:
        """A vehicle at rest, with its own side of the evidence in folder."""
        ...


def surveyed(target: Target, folder: Path) -> Survey:
    """A vehicle of its own, only to be read."""
    folder.mkdir(parents=True, exist_ok=True)
    vehicle = target.start(folder, Setting())
    try:
        return survey(vehicle.links.station, folder)
    finally:
        vehicle.close()
