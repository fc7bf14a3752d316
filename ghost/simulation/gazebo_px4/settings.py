"""What may follow gazebo_px4@ where a simulator is named."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError

MOST_SPEED = 50.0
_MOST_INSTANCE = 8
"""From the tenth on PX4s share a port, so that one can't be told from another."""
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_FORM = (
    "expected KEY=VALUE after commas, as in gazebo_px4@world=baylands,model=x500: physics=gazebo "
    "or sih, world=NAME, model=NAME, speed=FACTOR, instance=0 to 8, folder=DIR"
)


class Physics(StrEnum):
    GAZEBO = "gazebo"
    SIH = "sih"

    @property
    def shown(self) -> str:
        """For people."""
        return "Gazebo" if self is Physics.GAZEBO else "SIH"


@dataclass(frozen=True, slots=True)
class Settings:
    """None is what fits: the physics that is there, the model for the robot, a free instance, a
    folder that goes with the run. speed is how much faster than the wall clock, at most.
    """

    physics: Physics | None = None
    world: str | None = None
    model: str | None = None
    speed: float = 1.0
    instance: int | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.world is not None and self.physics is Physics.SIH:
            raise ConfigError(
                f"world is {self.world!r}, and SIH has only flat ground; leave physics=sih out to "
                "fly in Gazebo, or world"
            )
        if not 0.0 < self.speed <= MOST_SPEED:
            raise ConfigError(f"speed is {self.speed:g}; expected above 0, to {MOST_SPEED:g}")
        if self.instance is not None and not 0 <= self.instance <= _MOST_INSTANCE:
            raise ConfigError(f"instance is {self.instance}; expected 0 to {_MOST_INSTANCE}")


def read_settings(address: str) -> Settings:
    found: dict[str, Any] = {}
    for setting in filter(None, address.split(",")):
        key, _, value = setting.partition("=")
        if key not in _READERS or not value:
            raise ConfigError(f"{setting!r} is no setting of gazebo_px4; {_FORM}")
        if key in found:
            raise ConfigError(f"{key} is given twice; {_FORM}")
        found[key] = _READERS[key](key, value)
    return Settings(**found)


def _physics(key: str, value: str) -> Physics:
    if value not in tuple(Physics):
        raise ConfigError(f"{key} is {value!r}; expected gazebo or sih")
    return Physics(value)


def _name(key: str, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ConfigError(f"{key} is {value!r}; expected a name such as x500")
    return value


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ConfigError(f"{key} is {value!r}; {_FORM}") from None


def _integer(key: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 4):
        raise ConfigError(f"{key} is {value!r}; {_FORM}")
    return int(value)


_READERS: dict[str, Callable[[str, str], Any]] = {
    "physics": _physics,
    "world": _name,
    "model": _name,
    "speed": _number,
    "instance": _integer,
    "folder": lambda _, value: Path(value),
}
