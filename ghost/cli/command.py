"""The `ghost` command itself: its subcommands, and what becomes of their failures."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import ghost
from ghost.cli import conform, deploy, doctor, fc, log, render, robots, router, sitl
from ghost.core.errors import GhostError


def run(arguments: Sequence[str] | None) -> int:
    """Every failure is one line on standard error and exit code 1."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path may be in no encoding at all
    try:
        try:
            return _parse_and_run(arguments)
        finally:
            print(end="", flush=True)  # here, not at exit, where Python would tell of it at length
    except BrokenPipeError:
        _discard_output()
        return 128 + signal.SIGPIPE  # as of any command whose reader, such as head, has had enough
    except GhostError as error:
        return _fail(str(error))
    except OSError as error:
        _discard_output()
        return _fail(f"{error.filename or 'input/output'}: {error.strerror}")


def _parse_and_run(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="ghost",
        description="Drone companion software: fly, inspect and repair flights.",
        epilog="Every command explains itself: ghost COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"ghost {ghost.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    deploy.add_parser(commands)
    robots.add_parser(commands)
    conform.add_parser(commands)
    log.add_parser(commands)
    doctor.add_parser(commands)
    render.add_parser(commands)
    sitl.add_parser(commands)
    router.add_parser(commands)
    fc.add_parser(commands)
    options = parser.parse_args(arguments)
    result: int = options.run(options)
    return result


def _fail(reason: str) -> int:
    print(f"ghost: {' '.join(reason.split())}", file=sys.stderr)
    return 1


def _discard_output() -> None:
    """What can't be printed is not tried again at exit."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
