"""The proxy's own process: `python -m hil.proxy NUMBER`, where NUMBER is the pipe to the rig. It
ends when the rig says so, closes the pipe, or is gone.
"""

import contextlib
import gc
import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ghost.core.errors import GhostError, LinkError
from hil.proxy.ends import open_end
from hil.proxy.journal import Journal
from hil.proxy.pump import Pump

_PRIORITY = -10


def serve(rig: "Connection[Any, Any]") -> None:
    parent = os.getppid()
    settings = rig.recv()
    try:
        unit = open_end(settings["unit"], Path(settings["folder"]), "unit")
        vehicle = open_end(settings["vehicle"], Path(settings["folder"]), "vehicle")
        journal = Journal(Path(settings["journal"]))
        pump = Pump(unit, vehicle, seed=settings["seed"], journal=journal)
    except GhostError as error:
        rig.send(error)
        return
    except OSError as error:
        rig.send(LinkError(f"the proxy can't start: {error}"))
        return
    rig.send((unit.url, vehicle.url))
    gc.freeze()
    try:
        _run(pump, journal, rig, parent)
    finally:
        journal.close()
        pump.close()


def _run(pump: Pump, journal: Journal, rig: "Connection[Any, Any]", parent: int) -> None:
    while os.getppid() == parent:
        pump.turn(time.monotonic_ns())
        ready = pump.wait(time.monotonic_ns(), [rig.fileno()])
        pump.read(ready, time.monotonic_ns())
        if rig.fileno() in ready:
            try:
                verb, *values = rig.recv()
                if verb == "stop":
                    return
                rig.send(_obey(pump, journal, verb, values))
            except (EOFError, OSError):
                return


def _obey(pump: Pump, journal: Journal, verb: str, values: list[Any]) -> Any:
    now_ns = time.monotonic_ns()
    match verb, values:
        case "play", [schedule]:
            return pump.play(schedule, now_ns)
        case "clear", [numbers]:
            return pump.clear(numbers, now_ns)
        case "unfinished", [numbers]:
            return pump.unfinished(numbers)
        case "counts", []:
            return pump.counts
        case "recorded", [direction, patterns]:
            return pump.recorded(direction, patterns)
        case "flush", []:
            return journal.flush()
    return LinkError(f"the proxy knows no order {verb!r}")


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # as root only: what the link adds is then the fault's
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the rig's: it lands with this link
    serve(Connection(int(sys.argv[1])))
