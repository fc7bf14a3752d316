"""`ghost conform`: hold a robot's HAL to its promises."""

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from ghost.conformance import Factory, Outcome, Verdict, judge_all, select, within
from ghost.core.errors import ConfigError
from ghost.deploy.robots import load_robot

SKIPPED = 75
LONGEST_TIMEOUT_S = 86_400


def add_parser(commands: Any) -> None:
    about = "check that a robot's HAL keeps its promises"
    parser: argparse.ArgumentParser = commands.add_parser(
        "conform",
        help=about,
        description="Check that a robot's HAL, the layer between Ghost and a simulator or the "
        "hardware, keeps its promises: first those that hold for every HAL, then those of the "
        "sensors and features that it declares. Prints a line for each check: [PASS] with what "
        "was measured, or [FAIL] with what was seen and expected; at the end, a [SKIP] for each "
        "reason why checks could not be tried.",
        epilog="Exit code: 0 no check failed; 1 at least one failed, or none was tried because the "
        "HAL could not be made or its hardware not be reached, which one line on standard error "
        f"says; {SKIPPED} all were skipped.",
    )
    parser.add_argument("robot", metavar="ROBOT", help="such as x500; see `ghost robots list`")
    parser.add_argument(
        "--mode",
        choices=("sim", "real"),
        default="sim",
        help="which of the robot's HALs (default: sim); of real hardware, what can be checked "
        "without arming it",
    )
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="URL",
        help="to the hardware, as in `ghost deploy run`; with --mode real, may be given again",
    )
    parser.add_argument(
        "--signing-key",
        type=Path,
        metavar="FILE",
        help="with --mode real: sign with this key, and hear nothing that isn't",
    )
    parser.add_argument(
        "--system",
        type=int,
        metavar="ID",
        help="with --mode real: of the flight controller, where several are heard",
    )
    parser.add_argument(
        "--simulator", metavar="NAME", help="simulate with this one (default: the robot's own)"
    )
    parser.add_argument(
        "--robots",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="look for robots in this folder, too; may be given again",
    )
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="run only the checks with this in their names, such as axes; "
        "* stands for any characters, ? for any one (default: all)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=120.0,
        help="of wall time for each check; one that takes longer fails, and those after it are "
        "skipped (default: 120)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print a line for each skipped check, too"
    )
    parser.set_defaults(run=_conform)


def _conform(options: argparse.Namespace) -> int:
    if not 0.0 < options.timeout <= LONGEST_TIMEOUT_S:
        raise ConfigError(
            f"--timeout is {options.timeout:g}; expected above 0, to {LONGEST_TIMEOUT_S} s"
        )
    limit_ns = round(options.timeout * 1e9)
    if (options.mode == "real") != bool(options.link):
        raise ConfigError("--mode real and --link go together")
    given = {
        name: getattr(options, name)
        for name in ("signing_key", "system")
        if getattr(options, name) is not None
    }
    if given and options.mode != "real":
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{flags} without hardware; expected --mode real, or leave it out")
    robot = load_robot(options.robot, options.robots)
    factory = Factory(robot, options.simulator, tuple(options.link), given)
    checks = select(options.only)
    within(limit_ns, lambda: factory.capabilities)  # a HAL that can't be made is no failed check
    width = max(len(check.name) for check in checks)
    outcomes = []
    heading = ""
    for outcome in judge_all(checks, factory, limit_ns):
        outcomes.append(outcome)
        if outcome.verdict is Verdict.SKIP and not options.verbose:
            continue
        group = "mandatory" if outcome.check.mandatory else "optional"
        if group != heading:
            heading = group
            print(f"{heading}:", flush=True)
        _show(f"{outcome.check.name:<{width}}", outcome.verdict, outcome.figure)
    factory.close()
    if not options.verbose:
        _sum_up_skips(outcomes, width)
    return _conclude(outcomes)


def _sum_up_skips(outcomes: list[Outcome], width: int) -> None:
    names: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.verdict is Verdict.SKIP:
            names[outcome.figure].append(outcome.check.name)
    if names:
        print("skipped:")
    for reason, skipped in names.items():
        who = skipped[0] if len(skipped) == 1 else f"{len(skipped)} checks (-v names them)"
        _show(f"{who:<{width}}", Verdict.SKIP, reason)


def _show(name: str, verdict: Verdict, figure: str) -> None:
    print(f"  {name}  [{verdict}]  {figure}", flush=True)


def _conclude(outcomes: list[Outcome]) -> int:
    counts = Counter(outcome.verdict for outcome in outcomes)
    passed, failed, skipped = (counts[verdict] for verdict in Verdict)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return 0 if passed else SKIPPED
