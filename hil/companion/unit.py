"""The process of the unit under test and its children, as /proc shows them."""

import os
import signal
import subprocess
import time
from pathlib import Path

from ghost.core.errors import StalledError
from hil.companion.errors import NotPossibleHereError, UnitGoneError

Unit = subprocess.Popen[str] | subprocess.Popen[bytes] | int
"""Or a pid, as of a container's process."""

_PROC = Path("/proc")


def pid_of(unit: Unit) -> int:
    """Of one that lives."""
    pid = unit if isinstance(unit, int) else unit.pid
    has_ended = not isinstance(unit, int) and unit.poll() is not None
    if has_ended or is_gone(pid):
        raise UnitGoneError(f"the unit (pid {pid}) has ended already")
    return pid


def family_of(unit: Unit) -> tuple[int, ...]:
    """Its pid, and those of all below it."""
    first = pid_of(unit)
    children: dict[int, list[int]] = {}
    for entry in sorted(_PROC.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        fields = _stat(int(entry.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    family = [first]
    for pid in family:
        family.extend(children.get(pid, []))
    return tuple(family)


def is_gone(pid: int) -> bool:
    """Ended, whether its parent has noticed or not."""
    return state_of(pid) in ("", "Z", "X")


def state_of(pid: int) -> str:
    """The letter that ps shows: R, S, D, T, Z; empty for none."""
    fields = _stat(pid)
    return fields[0] if fields else ""


def send(pids: tuple[int, ...], what: signal.Signals) -> None:
    """To all of them that still live."""
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            continue
        except PermissionError:
            raise NotPossibleHereError(
                f"this user may not send {what.name} to pid {pid}; run the rig as its owner or root"
            ) from None


def wait_for(pids: tuple[int, ...], states: str, within_s: float, what: str) -> None:
    """Until each of them is in one of the states, or gone."""
    end_s = time.monotonic() + within_s
    for pid in pids:
        while not is_gone(pid) and state_of(pid) not in states:
            if time.monotonic() >= end_s:
                raise StalledError(
                    f"pid {pid} was to be {what}, and is in state {state_of(pid)} "
                    f"after {within_s:g} s"
                )
            time.sleep(0.001)


def _stat(pid: int) -> list[str]:
    """State, parent and what follows."""
    try:
        line = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return line.rpartition(")")[2].split()  # a program's name may have brackets and spaces
