"""The referee: MAVSDK on a link of its own, in a process of its own (hil.watch). What it saw is
what happened, whatever the unit under test says.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hil.process import Servant, wait_until

FIND_S = 30.0


@dataclass(frozen=True, slots=True)
class Sight:
    """at_s is of the machine's monotonic clock."""

    at_s: float
    armed: bool
    mode: str
    in_air: bool
    north_m: float
    east_m: float
    down_m: float
    health: bool


class Referee:
    """Asks the process that watches."""

    def __init__(self, link: str, folder: Path) -> None:
        self._journal = folder / "referee.jsonl"
        words = [sys.executable, "-m", "hil.watch", link, "--journal", str(self._journal)]
        self._servant = Servant(words, folder / "referee.txt", ready_s=FIND_S + 10.0)

    def look(self) -> Sight:
        return Sight(**self._servant.ask("sight", do="look"))

    def until(self, fits: Callable[[Sight], bool], *, within_s: float, what: str) -> float:
        """Seconds until it saw that."""
        return wait_until(lambda: fits(self.look()), within_s=within_s, what=f"referee: {what}")

    def history(self) -> list[Sight]:
        """Everything that it saw."""
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        return [Sight(**json.loads(line)) for line in lines if line.startswith('{"at_s"')]

    def texts(self) -> list[str]:
        """What the vehicle told its ground stations."""
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["text"] for line in lines if line.startswith('{"text"')]

    def close(self) -> None:
        self._servant.close()
