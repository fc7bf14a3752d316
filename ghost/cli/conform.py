"""`ghost conform`: hold a robot's HAL to its promises."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from ghost.conformance import Factory, Outcome, Verdict, judge, select
from ghost.deploy.robots import load_robot

SKIPPED = 75


def add_parser(commands: Any) -> None:
    about = "check that a robot's HAL does what it declares"
    parser: argparse.ArgumentParser = commands.add_parser(
        "conform",
        help=about,
        description=f"{about[0].upper()}{about[1:]}: mandatory checks first, then those of the "
        "capabilities that it declares. The exit code is 0 when all hold, 1 when one fails, and "
        f"{SKIPPED} when all were skipped.",
    )
    parser.add_argument("robot", metavar="ROBOT", help="the name of a robot")
    parser.add_argument("--mode", choices=("sim",), default="sim", help="which HAL (default: sim)")
    parser.add_argument(
        "--simulator", metavar="NAME", help="instead of the one that the robot names"
    )
    parser.add_argument(
        "--robots", metavar="DIR", type=Path, action="append", help="look for the robot here, too"
    )
    parser.add_argument(
        "--only", metavar="PATTERN", help="the checks whose names hold this; * and ? may be used"
    )
    parser.set_defaults(run=_conform)


def _conform(options: argparse.Namespace) -> int:
    factory = Factory(load_robot(options.robot, options.robots or ()), options.simulator)
    checks = select(options.only)
    _ = factory.capabilities  # a HAL that can't be made is no failed check
    width = max(len(check.name) for check in checks)
    outcomes = []
    heading = ""
    for check in checks:
        group = "mandatory" if check.mandatory else "optional"
        if group != heading:
            heading = group
            print(f"{heading}:")
        outcome = judge(check, factory)
        print(f"  {check.name:<{width}}  [{outcome.verdict}]  {outcome.figure}", flush=True)
        outcomes.append(outcome)
    return _conclude(outcomes)


def _conclude(outcomes: list[Outcome]) -> int:
    counts = Counter(outcome.verdict for outcome in outcomes)
    passed, failed, skipped = (counts[verdict] for verdict in Verdict)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return 0 if passed else SKIPPED
