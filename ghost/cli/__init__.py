"""The `ghost` command: thin. Each subcommand parses, calls one function, prints."""

import argparse
import sys
from collections.abc import Sequence

import ghost
from ghost.cli import log
from ghost.core.errors import GhostError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="ghost",
        description="Drone companion software: fly, inspect and repair flights.",
        epilog="Every command explains itself: ghost COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"ghost {ghost.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    log.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        result: int = options.run(options)
    except GhostError as error:
        print(f"ghost: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"ghost: {error.filename or 'input/output'}: {error.strerror}", file=sys.stderr)
        return 1
    return result
