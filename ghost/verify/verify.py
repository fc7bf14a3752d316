"""A flight's log, judged property by property, in one pass, with no trust in who wrote it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ghost.core.errors import LogError
from ghost.telemetry import LogReader, Manifest
from ghost.telemetry.reader import LOG_NAME, log_path
from ghost.verify.answers import Answers
from ghost.verify.authority import Authority
from ghost.verify.estimate import Consistency
from ghost.verify.failsafe import FailsafeTimes
from ghost.verify.freshness import Fresh, Streamed
from ghost.verify.hashes import Hashes
from ghost.verify.kill import Kill
from ghost.verify.limits import Limits
from ghost.verify.numbers import Numbers
from ghost.verify.order import Order
from ghost.verify.reading import read
from ghost.verify.samples import Samples
from ghost.verify.terms import Terms
from ghost.verify.verdict import Heard, Property, Result, Verdict


@dataclass(frozen=True, slots=True)
class Verification:
    """A verdict per property, in a fixed order."""

    verdicts: tuple[Verdict, ...]
    message_count: int

    @property
    def passed(self) -> bool:
        return all(verdict.result is not Result.FAIL for verdict in self.verdicts)


def run_folder(path: Path) -> Path:
    """The folder of a run, given it or the log in it: a log alone can't be judged."""
    found = log_path(path)
    if found.name != LOG_NAME:
        raise LogError(f"{found} is no run's {LOG_NAME}; give a run folder")
    return found.parent


def verify(folder: Path, manifest: Manifest, terms: Terms) -> Verification:
    reader = LogReader(folder)
    properties: tuple[Property, ...] = (Hashes(reader, manifest), *of_flight(terms))
    count = judge(read(reader), properties)
    return Verification(tuple(one.verdict() for one in properties), count)


def of_flight(terms: Terms) -> tuple[Property, ...]:
    """The properties that rest on the messages alone."""
    return (
        Order(),
        Samples(),
        Answers(),
        Numbers(),
        Limits(terms),
        Fresh(terms),
        Streamed(terms),
        Kill(),
        Authority(),
        FailsafeTimes(terms),
        Consistency(terms),
    )


def judge(records: Iterable[Heard], properties: Iterable[Property]) -> int:
    """Let each property hear what it wants; how many messages there were."""
    every = tuple(properties)
    hearers: dict[str, tuple[Callable[[Heard], None], ...]] = {}
    count = 0
    for heard in records:
        count += 1
        found = hearers.get(heard.channel)
        if found is None:
            found = tuple(one.hear for one in every if one.wants(heard.channel))
            hearers[heard.channel] = found
        for hear in found:
            hear(heard)
    return count
