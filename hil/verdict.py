"""What became of a case."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True, slots=True)
class Verdict:
    """detail is the figure of a pass, what went wrong, or why it was skipped."""

    case: str
    subsystem: str
    outcome: Outcome
    detail: str
    took_s: float

    @property
    def line(self) -> str:
        return f"[{self.outcome}] {self.case}: {self.detail} ({self.took_s:.1f} s)"

    @property
    def plain(self) -> dict[str, Any]:
        return asdict(self)
