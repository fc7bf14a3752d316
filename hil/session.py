"""A session of the rig: cases side by side, each in a process of its own with a limit."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hil.case import Case
from hil.need import Need
from hil.process import end, spawn
from hil.survey import Survey
from hil.targets import make_target
from hil.verdict import Outcome, Verdict

GRACE_S = 15.0
"""For a case that is told to end, to take its vehicle off the stage."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What was asked for, and allowed."""

    target: str
    out: Path
    link: str | None = None
    seed: int = 0
    jobs: int = 1
    allow_arming: bool = False


@dataclass(slots=True)
class _Playing:
    case: Case
    folder: Path
    process: "subprocess.Popen[str]"
    began_s: float = field(default_factory=time.monotonic)


class Session:
    def __init__(
        self, terms: Terms, on_verdict: Callable[[Verdict], None] = lambda _: None
    ) -> None:
        self.terms = terms
        self.verdicts: list[Verdict] = []
        self.survey: Survey | None = None
        """None where there is nobody to be surveyed."""
        self.put_back: list[str] = []
        """Parameters of a bench that were not as before."""
        self._on_verdict = on_verdict
        self._target = make_target(terms.target, terms.link)
        self._playing: list[_Playing] = []
        self._jobs = min(terms.jobs, self._target.most_jobs or terms.jobs)

    def identify(self) -> Survey | None:
        """Who flies, before anything else; None where the target is missing here."""
        if not self._target.missing:
            self.survey = self._target.survey(self.terms.out)
        return self.survey

    def run(self, cases: Sequence[Case]) -> list[Verdict]:
        """Verdicts in the order of the cases."""
        waiting = list(cases)
        try:
            while waiting or self._playing:
                while waiting and len(self._playing) < self._jobs:
                    self._begin(waiting.pop(0))
                for one in tuple(self._playing):
                    self._look_at(one)
                time.sleep(0.05)
        finally:
            for one in self._playing:
                self._end(one)
            if self.survey is not None:
                self.put_back = self._target.put_back(self.terms.out)
        order = {case.name: index for index, case in enumerate(cases)}
        self.verdicts.sort(key=lambda verdict: order[verdict.case])
        return self.verdicts

    def _begin(self, case: Case) -> None:
        if reason := self._unfit(case):
            self._tell(Verdict(case.name, case.subsystem, Outcome.SKIP, reason, 0.0))
            return
        folder = self.terms.out / case.name.replace(" ", "-")
        folder.mkdir(parents=True)
        order = {
            "case": case.name,
            "target": self.terms.target,
            "link": self.terms.link,
            "seed": self.terms.seed,
            "allow_arming": self.terms.allow_arming,
            "survey": None if self.survey is None else self.survey.plain,
        }
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        with (folder / "case.txt").open("w", encoding="utf-8") as output:
            process = spawn(
                (sys.executable, "-m", "hil.one", str(folder)), stdout=output, stderr=output
            )
        self._playing.append(_Playing(case, folder, process))

    def _unfit(self, case: Case) -> str:
        if self._target.missing:
            return self._target.missing
        missing = sorted(need.value for need in case.needs - self._target.offers)
        if missing:
            return f"target {self._target.name} has not {', nor '.join(missing)}"
        if Need.FLIGHT in case.needs and not self.terms.allow_arming:
            return "arming is not allowed; see --allow-arming"
        return ""

    def _look_at(self, one: _Playing) -> None:
        took_s = time.monotonic() - one.began_s
        is_late = took_s > self._limit_s(one.case)
        if one.process.poll() is None and not is_late:
            return
        if is_late and one.process.poll() is None:
            self._end(one)
        self._playing.remove(one)
        self._tell(self._read(one, took_s, is_late=is_late))

    def _read(self, one: _Playing, took_s: float, *, is_late: bool) -> Verdict:
        case, path = one.case, one.folder / "verdict.json"
        if is_late:
            stalled = f"not over after {self._limit_s(case):g} s; see {one.folder}"
            return Verdict(case.name, case.subsystem, Outcome.FAIL, stalled, took_s)
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            died = f"its process died with {one.process.returncode}; see {one.folder / 'case.txt'}"
            return Verdict(case.name, case.subsystem, Outcome.FAIL, died, took_s)
        return Verdict(**{**plain, "outcome": Outcome(plain["outcome"])})

    def _end(self, one: _Playing) -> None:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(GRACE_S)
        end(one.process, signal.SIGKILL)

    def _limit_s(self, case: Case) -> float:
        return case.limit_s * self._target.slowness

    def _tell(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)
        self._on_verdict(verdict)
