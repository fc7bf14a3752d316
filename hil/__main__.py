"""`python -m hil`: the rig. `make hil` calls it."""

import argparse
import fnmatch
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ghost.core.errors import ConfigError, GhostError
from hil import cases
from hil.bench import refuse_unsafe
from hil.case import CASES, Case
from hil.evidence import write_evidence
from hil.session import Session, Terms
from hil.targets import NAMES
from hil.verdict import Outcome

__all__ = ["cases", "main"]

SKIPPED = 75


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    try:
        return _run(options)
    except GhostError as error:
        print(f"hil: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hil",
        description="Fly `ghost deploy run` against a simulated or bench-mounted vehicle, break "
        "things, and see whether it stays safe. A line for each case, with its figure.",
        epilog="Exit code: 0 all passed, 1 one failed, 75 all were skipped.",
    )
    parser.add_argument("--target", choices=NAMES, default="embedded", help="default: embedded")
    parser.add_argument(
        "--link", metavar="URL", help="of a bench, such as serial:///dev/ttyACM0:921600"
    )
    parser.add_argument(
        "--cases",
        action="append",
        default=[],
        metavar="PATTERN",
        help="play only these, such as 'gps*'; may be given again",
    )
    parser.add_argument("--list", action="store_true", help="say what there is to play, and end")
    parser.add_argument("--out", type=Path, metavar="DIR", help="evidence (default: in runs/)")
    parser.add_argument("--seed", type=int, default=0, help="of noise and faults (default: 0)")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="cases side by side (default: two a core; bench: 1)"
    )
    parser.add_argument(
        "--allow-arming", action="store_true", help="let motors be armed; without it nothing flies"
    )
    parser.add_argument(
        "--propellers-off",
        action="store_true",
        help="say that the bench's propellers are off, or that the board is bare",
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = _chosen(options.cases)
    if options.list:
        for case in chosen:
            print(f"{case.name:<40} {case.subsystem:<14} {case.limit_s:3.0f} s")
        return 0
    if options.target == "bench":
        refuse_unsafe(
            options.link,
            allow_arming=options.allow_arming,
            propellers_off=options.propellers_off,
        )
    jobs = options.jobs or (1 if options.target == "bench" else 2 * (os.cpu_count() or 1))
    out = options.out or Path("runs") / f"hil-{options.target}-{time.strftime('%Y%m%d-%H%M%S')}"
    if out.exists():
        raise ConfigError(f"{out} exists already; give each session a folder of its own")
    terms = Terms(
        options.target, out, options.link, options.seed, jobs, allow_arming=options.allow_arming
    )
    session = Session(terms, lambda verdict: print(verdict.line, flush=True))
    signal.signal(signal.SIGTERM, _interrupt)
    began_s = time.monotonic()
    try:
        found = session.identify()
        print(f"flight controller: {found.line if found else 'none'}", flush=True)
        session.run(chosen)
    except KeyboardInterrupt:
        print("\nhil: aborted; what flew was taken down", file=sys.stderr)
    for line in session.put_back:
        print(f"parameter {line}")
    took_s = time.monotonic() - began_s
    report = write_evidence(session, took_s)
    counts = dict.fromkeys(Outcome, 0)
    for verdict in session.verdicts:
        counts[verdict.outcome] += 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"{told} in {took_s:.0f} s; evidence: {report}")
    if counts[Outcome.FAIL] or len(session.verdicts) < len(chosen):
        return 1
    return 0 if counts[Outcome.PASS] else SKIPPED


def _chosen(patterns: Sequence[str]) -> list[Case]:
    if not patterns:
        return list(CASES.values())
    for pattern in patterns:
        if not fnmatch.filter(CASES, pattern):
            raise ConfigError(f"no case fits {pattern!r}; --list lists them")
    return [
        case
        for name, case in CASES.items()
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]


def _interrupt(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
