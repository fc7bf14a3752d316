"""All checks, and how one is judged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from functools import partial

from ghost.conformance import (
    arming,
    axes,
    commands,
    delivery,
    determinism,
    lifecycle,
    physics,
    propulsion,
)
from ghost.conformance.check import Check, NotApplicableError
from ghost.conformance.factory import Factory
from ghost.conformance.limit import StalledError, within
from ghost.core.errors import ConfigError, GhostError

CHECKS: tuple[Check, ...] = (
    *lifecycle.CHECKS,
    *delivery.CHECKS,
    *commands.CHECKS,
    *arming.CHECKS,
    *determinism.CHECKS,
    *physics.CHECKS,
    *propulsion.CHECKS,
    *axes.CHECKS,
)


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True, slots=True)
class Outcome:
    """figure is what was measured, what broke, or why the check was skipped."""

    check: Check
    verdict: Verdict
    figure: str


def judge(check: Check, factory: Factory) -> Outcome:
    """Whatever a check raises is a verdict: one broken promise must not hide the next."""
    try:
        if lacking := check.missing(factory.capabilities, is_real=bool(factory.links)):
            return Outcome(check, Verdict.SKIP, lacking)
        return Outcome(check, Verdict.PASS, check.run(factory))
    except NotApplicableError as error:
        return Outcome(check, Verdict.SKIP, str(error))
    except GhostError as error:
        return Outcome(check, Verdict.FAIL, str(error))
    except Exception as error:  # noqa: BLE001 - a foreign backend may raise anything
        return Outcome(check, Verdict.FAIL, f"{type(error).__name__}: {error}")


def judge_all(checks: Iterable[Check], factory: Factory, limit_ns: int) -> Iterator[Outcome]:
    """One after the other, each within a limit of wall time. After one that took longer the rest is
    skipped: what it hangs in can't be stopped, only left alone.
    """
    stalled = ""
    for check in checks:
        if stalled:
            yield Outcome(check, Verdict.SKIP, f"the backend hangs since {stalled!r}")
            continue
        try:
            yield within(limit_ns, partial(judge, check, factory))
        except StalledError as error:
            stalled = check.name
            yield Outcome(check, Verdict.FAIL, str(error))


def select(pattern: str | None, checks: Iterable[Check] = CHECKS) -> tuple[Check, ...]:
    """Those whose names hold the pattern, mandatory ones first; * and ? stand for anything."""
    found = [check for check in checks if fnmatch(check.name, f"*{pattern or ''}*")]
    if not found:
        listed = ", ".join(check.name for check in checks)
        raise ConfigError(f"no check matches {pattern!r}; there are: {listed}")
    return tuple(sorted(found, key=lambda check: not check.mandatory))
