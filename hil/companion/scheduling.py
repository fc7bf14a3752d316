"""A companion that dies, hangs, or gets too little of its processor."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from hil.companion.errors import NotPossibleHereError
from hil.companion.unit import Unit, family_of, pid_of, send, wait_for

WITHIN_S = 5.0
_BUSY = (
    "import os,sys\nrig=int(sys.argv[1])\nwhile os.getppid()==rig:\n for _ in range(1000000):pass"
)


@dataclass(slots=True)
class Starvation:
    """How it went so far."""

    stops: int = 0
    stopped_ns: int = 0
    ran_ns: int = 0


def kill(unit: Unit) -> None:
    """Kill -9 to it and all below it; back when they are gone."""
    pids = family_of(unit)
    send(pids, signal.SIGKILL)
    wait_for(pids, "", WITHIN_S, "killed")
    if not isinstance(unit, int):
        unit.wait(WITHIN_S)


@contextmanager
def stopped(unit: Unit) -> Iterator[None]:
    """Not a step is done inside; the unit does not know of it."""
    pids = family_of(unit)
    try:
        send(pids, signal.SIGSTOP)
        wait_for(pids, "T", WITHIN_S, "stopped")
        yield
    finally:
        send(pids, signal.SIGCONT)


def stop_for(unit: Unit, duration_ns: int) -> None:
    with stopped(unit):
        time.sleep(duration_ns / 1e9)


@contextmanager
def starved(
    unit: Unit, *, share: float = 0.2, period_ns: int = 100_000_000, seed: int = 0
) -> Iterator[Starvation]:
    """Stopped and let go again, so that it runs for that share of the time. Each period is half to
    one and a half times as long as the seed says.
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"the unit is to get a share of {share!r}; expected between 0 and 1")
    pids = family_of(unit)
    random = RandomSource(seed).child("starved")
    told = Starvation()
    is_over = threading.Event()

    def drive() -> None:
        try:
            while not is_over.is_set():
                length_ns = period_ns // 2 + random.integers(0, period_ns + 1)
                began_ns = time.monotonic_ns()
                send(pids, signal.SIGSTOP)
                is_over.wait((1.0 - share) * length_ns / 1e9)
                send(pids, signal.SIGCONT)
                let_go_ns = time.monotonic_ns()
                told.stops += 1
                told.stopped_ns += let_go_ns - began_ns
                is_over.wait(share * length_ns / 1e9)
                told.ran_ns += time.monotonic_ns() - let_go_ns
        finally:
            send(pids, signal.SIGCONT)

    driver = threading.Thread(target=drive, name="starve", daemon=True)
    driver.start()
    try:
        yield told
    finally:
        is_over.set()
        driver.join(WITHIN_S)


@contextmanager
def crowded(unit: Unit, *, per_core: int = 4) -> Iterator[tuple[int, ...]]:
    """Busy programs on each core that the unit may use: it gets one part in per_core + 1 of one
    where nothing limits it otherwise, as the cgroup of a container does. Yields their pids.
    """
    if per_core < 1:
        raise ConfigError(f"{per_core!r} competitors a core; expected 1 or more")
    cores = sorted(os.sched_getaffinity(pid_of(unit)))
    competitors: list[subprocess.Popen[bytes]] = []
    try:
        competitors.extend(_competitor(core) for core in cores * per_core)
        yield tuple(one.pid for one in competitors)
    finally:
        for one in competitors:
            one.kill()
        for one in competitors:
            with suppress(subprocess.TimeoutExpired):
                one.wait(WITHIN_S)


def _competitor(core: int) -> "subprocess.Popen[bytes]":
    """Ends with the rig, too: it looks for its parent now and then."""
    program = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BUSY, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        os.sched_setaffinity(program.pid, (core,))
    except OSError as error:
        program.kill()
        program.wait(WITHIN_S)
        raise NotPossibleHereError(f"no program may be put on core {core}: {error}") from None
    return program
