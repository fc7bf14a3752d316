"""The simulators of a bridge, by name."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ghost.core.errors import ConfigError
from ghost.simulation.adapter import SimulatorAdapter

STEP_TIMEOUT_NS = 1_000_000_000


class Unlockstepped(StrEnum):
    """What to do in lockstep with a simulator whose time can't be held.

    REFUSE says so before anything moves. FOLLOW lets it run: the others wait for its steps, and the
    run is no longer deterministic.
    """

    REFUSE = "refuse"
    FOLLOW = "follow"


@dataclass(frozen=True, slots=True)
class Registration:
    name: str
    adapter: SimulatorAdapter
    timeout_ns: int = STEP_TIMEOUT_NS
    """How long a step may take, by the wall clock, until the simulator is given up."""
    unlockstepped: Unlockstepped = Unlockstepped.REFUSE


class AdapterRegistry:
    """Names are unique. An iteration is in their order, not in that of registration."""

    def __init__(self) -> None:
        self._entries: dict[str, Registration] = {}

    def register(
        self,
        name: str,
        adapter: SimulatorAdapter,
        *,
        timeout_ns: int = STEP_TIMEOUT_NS,
        unlockstepped: Unlockstepped = Unlockstepped.REFUSE,
    ) -> Registration:
        if not name:
            raise ConfigError("a simulator's name is empty; expected one such as lightweight")
        if name in self._entries:
            raise ConfigError(f"a simulator named {name!r} is registered already; choose another")
        for other in self._entries.values():
            if other.adapter is adapter:
                raise ConfigError(
                    f"simulator {name!r} is the one that is registered as {other.name!r}; "
                    "give each name an adapter of its own"
                )
        if type(timeout_ns) is not int or timeout_ns <= 0:
            raise ConfigError(f"timeout_ns of {name} is {timeout_ns!r}; expected an int above 0")
        entry = Registration(name, adapter, timeout_ns, Unlockstepped(unlockstepped))
        self._entries = dict(sorted([*self._entries.items(), (name, entry)]))
        return entry

    def unregister(self, name: str) -> SimulatorAdapter:
        entry = self[name]
        del self._entries[name]
        return entry.adapter

    def __getitem__(self, name: str) -> Registration:
        if name not in self._entries:
            listed = ", ".join(self._entries) or "none"
            raise ConfigError(f"no simulator registered as {name!r}; registered: {listed}")
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Registration]:
        return iter(tuple(self._entries.values()))
