"""One line of what the doctor says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105 - no password
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """advice is what to do about it; empty when nothing is. figures are what the detail sums up,
    for machines.
    """

    name: str
    verdict: Verdict
    detail: str
    advice: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
