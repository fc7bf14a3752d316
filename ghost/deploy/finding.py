"""One line of what the doctor says."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105 - no password
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """advice is what to do about it; empty when nothing is."""

    name: str
    verdict: Verdict
    detail: str
    advice: str = ""
