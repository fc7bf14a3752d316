"""How simulated time passes beside the wall clock's."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ghost.core.errors import ConfigError

LOCKSTEP_NS = 20_000_000
"""The cycle of missions, and what a bridge steps by itself."""
MAVLINK_STEP_NS = 4_000_000
"""With links: how long a message may wait until it is heard."""
MOST_BEHIND_NS = 200_000_000
"""More than this is not made up for: time then runs slower than asked."""


class TimeMode(StrEnum):
    """LOCKSTEP: everybody waits for the slowest, nobody for the wall clock; repeatable.
    FREE_RUNNING: by the wall clock, simulators that keep their own time among them.
    SCALED: by the wall clock, times a factor.
    """

    LOCKSTEP = "lockstep"
    FREE_RUNNING = "realtime"
    SCALED = "scaled"


@dataclass(frozen=True, slots=True)
class TimePlan:
    mode: TimeMode = TimeMode.LOCKSTEP
    factor: float = 1.0
    step_ns: int = LOCKSTEP_NS
    """How much passes between two looks at commands, missions and links."""

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < float("inf"):
            raise ConfigError(f"a time factor of {self.factor}; expected above 0")
        if self.factor != 1.0 and self.mode is not TimeMode.SCALED:
            raise ConfigError(f"{self.mode} has no factor, and {self.factor:g} is given")
        if type(self.step_ns) is not int or self.step_ns <= 0:
            raise ConfigError(f"step_ns is {self.step_ns!r}; expected an int above 0")

    @property
    def is_paced(self) -> bool:
        return self.mode is not TimeMode.LOCKSTEP


def parse_time(text: str, *, has_links: bool = True) -> TimePlan:
    """lockstep, realtime, or scaled:F. has_links is whether somebody is to be heard meanwhile."""
    step_ns = MAVLINK_STEP_NS if has_links else LOCKSTEP_NS
    mode, colon, factor = text.partition(":")
    forms = "expected lockstep, realtime or scaled:F, as scaled:5"
    if mode not in tuple(TimeMode) or bool(colon) != (mode == TimeMode.SCALED):
        raise ConfigError(f"time is {text!r}; {forms}")
    try:
        return TimePlan(TimeMode(mode), float(factor) if colon else 1.0, step_ns)
    except ValueError:
        raise ConfigError(f"time is {text!r}; {forms}") from None


class Pace:
    """Holds simulated time back to the wall clock's, times a factor."""

    def __init__(self, now_ns: Callable[[], int], factor: float) -> None:
        self._now_ns = now_ns
        self._factor = factor
        self._began_ns: int | None = None
        self.lost_ns = 0
        """How much wall time the simulation could not keep up with."""

    def wait(self, simulated_ns: int, idle: Callable[[int], None]) -> None:
        """Until it is time for simulated_ns; idle(until_ns) is where the wait is spent, and is
        called once even where there is none.
        """
        wall_ns, now_ns = round(simulated_ns / self._factor), self._now_ns()
        if self._began_ns is None:
            self._began_ns = now_ns - wall_ns
        due_ns = self._began_ns + wall_ns
        behind_ns = now_ns - due_ns
        if behind_ns > MOST_BEHIND_NS:
            self._began_ns += behind_ns
            self.lost_ns += behind_ns
        idle(due_ns)
