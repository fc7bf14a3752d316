"""`ghost doctor`: whether everything is well on this bench."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ghost.deploy.doctor import examine
from ghost.deploy.finding import Verdict


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="check this computer, its ports and its flight controller",
        description="Check what a bench engineer checks first. Nothing is changed, and nothing is "
        "armed.",
        epilog="Exit code: 0 nothing failed, 1 something did. A warning is no failure.",
    )
    parser.add_argument("--link", metavar="URL", help="also ask the flight controller behind it")
    parser.add_argument(
        "--signing-key", type=Path, metavar="FILE", help="that the flight controller has, if any"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="where logs will go (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document for machines")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    found = []
    for finding in examine(options.link, options.out, signing_key=options.signing_key):
        found.append(finding)
        if not options.json:
            print(f"[{finding.verdict}] {finding.name}: {finding.detail}", flush=True)
            if finding.advice:
                print(f"       {finding.advice}", flush=True)
    if options.json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
    return int(any(finding.verdict is Verdict.FAIL for finding in found))
