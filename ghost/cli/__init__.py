"""The `ghost` command: thin. Each subcommand parses, calls one function, prints."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

INTERRUPTED = "ghost: interrupted"
INTERRUPTED_CODE = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Ctrl-C is one line on standard error, where nothing else answers it."""
    before = signal.signal(signal.SIGINT, _leave)
    # Not at the top: it takes 0.2 s, in which Ctrl-C may come. An exception wouldn't do there:
    # numpy 2.4 makes an ImportError of it.
    from ghost.cli.command import run  # noqa: PLC0415

    signal.signal(signal.SIGINT, before)
    try:
        return run(arguments)
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return INTERRUPTED_CODE


def _leave(*_: Any) -> NoReturn:
    """Nothing is open yet that would have to be closed."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(INTERRUPTED_CODE)
