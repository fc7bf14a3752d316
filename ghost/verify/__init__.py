"""Whether a flight kept its promises, judged from its log and nothing else."""

from ghost.verify.terms import Terms, terms_of
from ghost.verify.verdict import Heard, Property, Result, Verdict
from ghost.verify.verify import Verification, judge, of_flight, run_folder, verify

__all__ = [
    "Heard",
    "Property",
    "Result",
    "Terms",
    "Verdict",
    "Verification",
    "judge",
    "of_flight",
    "run_folder",
    "terms_of",
    "verify",
]
