"""A safety case: what is done to a flight, and what has to come of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ghost.core.errors import ConfigError, GhostError
from hil.need import Need

if TYPE_CHECKING:
    from hil.stage import Stage

LIMIT_S = 60.0


class Failed(GhostError):  # noqa: N818 - what a verdict says
    """The vehicle, or the unit under test, did what it must not."""


class Skipped(GhostError):  # noqa: N818
    """The case can't be hosted here; the text says why."""


Play = Callable[["Stage"], str]
"""Plays the case; gives its figure."""


@dataclass(frozen=True, slots=True)
class Case:
    """looks_like is what failure looks like to whoever sees it fly, and remedy what to do."""

    name: str
    subsystem: str
    play: Play
    limit_s: float
    needs: frozenset[Need]
    looks_like: str
    remedy: str


CASES: dict[str, Case] = {}


@dataclass(frozen=True, slots=True)
class case:  # noqa: N801 - a decorator
    """Makes a function a case. Its name is the case's, with spaces."""

    subsystem: str
    looks_like: str
    remedy: str
    needs: frozenset[Need] = field(default_factory=frozenset)
    limit_s: float = LIMIT_S

    def __call__(self, play: Play) -> Play:
        name = play.__name__.replace("_", " ")
        if name in CASES:
            raise ConfigError(f"two cases are named {name!r}; give each its own")
        CASES[name] = Case(
            name, self.subsystem, play, self.limit_s, self.needs, self.looks_like, self.remedy
        )
        return play


def check(is_so: bool, text: str) -> None:
    """Fail the case, in these words, unless it is so."""
    if not is_so:
        raise Failed(text)
