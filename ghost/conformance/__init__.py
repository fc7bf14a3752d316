"""What every HAL backend must do, as checks that a test or a command can run."""

from ghost.conformance.check import Check, ConformanceError, Need, NotApplicableError
from ghost.conformance.factory import Factory
from ghost.conformance.limit import StalledError, within
from ghost.conformance.suite import CHECKS, Outcome, Verdict, judge, judge_all, select

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "Factory",
    "Need",
    "NotApplicableError",
    "Outcome",
    "StalledError",
    "Verdict",
    "judge",
    "judge_all",
    "select",
    "within",
]
