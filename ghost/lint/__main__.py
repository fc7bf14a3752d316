"""The command: exit 0 clean, 1 findings, 2 usage."""

import argparse
import sys
from pathlib import Path

from ghost.lint import LintError, lint_paths
from ghost.lint.policy import POLICY
from ghost.lint.rules import ALL_RULES

_TEACH = """\
A simulation run with the same seed must give the same log, byte for byte, on any machine.
These rules catch what breaks that: the wall clock, global randomness, float time, unordered
iteration, arithmetic that each machine rounds its own way.

  python -m ghost.lint ghost firmware_bridge hil    our packages, as `make lint` does
  python -m ghost.lint my_adapter.py                your own code: every rule holds
  python -m ghost.lint --list                       the rules, and where they hold

Excuse one line, with its reason, where the rule is wrong:

  now = time.monotonic_ns()  # determinism: allow GD101 the hardware clock reads it once

exit codes: 0 clean, 1 findings, 2 a path that is missing or not Python
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ghost.lint",
        description="Find what makes a simulation run differ from its twin.",
        epilog=_TEACH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a file or a folder")
    parser.add_argument("--list", action="store_true", help="print the rules and stop")
    options = parser.parse_args(argv)
    if options.list:
        sys.stdout.write(_rule_list())
        return 0
    if not options.paths:
        parser.error("name at least one file or folder, e.g. `python -m ghost.lint ghost`")
    try:
        findings = lint_paths(options.paths)
    except LintError as error:
        sys.stderr.write(f"ghost.lint: {error}\n")
        return 2
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    return 1 if findings else 0


def _rule_list() -> str:
    rules = [f"{rule.code}  {rule.title}; use {rule.instead}" for rule in ALL_RULES]
    places = [f"{package:<20}{' '.join(codes)}" for package, codes in POLICY.items()]
    return "\n".join([*rules, "", "where they hold (anything else: all of them):", *places, ""])


if __name__ == "__main__":
    sys.exit(main())
