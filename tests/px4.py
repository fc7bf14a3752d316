"""A real PX4 for tests: started in a folder of its own, waited for, and ended again.

A folder's conftest.py says `from tests.px4 import px4`, and its tests take that: `px4(3)` starts
instance 3, `px4()` one that is free. GHOST_PX4 names the installation.
"""

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "GHOST_PX4"
BOOT_S = 60.0
END_S = 10.0
TURN_S = 90.0
BOOTED = "Startup script returned successfully"
FREE_INSTANCES = range(1, 10)
"""Ports are shared from the tenth on, and people use instance 0."""


@dataclass(frozen=True)
class Px4:
    instance: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def system(self) -> int:
        return self.instance + 1

    @property
    def url(self) -> str:
        """Where to listen for its onboard link."""
        return f"udpin://127.0.0.1:{14540 + self.instance}"

    @property
    def output(self) -> str:
        return (self.folder / "px4.out").read_text(encoding="utf-8", errors="replace")


Start = Callable[..., Px4]


@pytest.fixture
def px4(tmp_path: Path) -> Iterator[Start]:
    """start(instance=None, **environment): PX4_PARAM_<NAME>="1" sets a parameter at boot."""
    home = px4_home()
    with alone(), ExitStack() as running:

        def start(instance: int | None = None, **environment: str) -> Px4:
            number = free_instance() if instance is None else instance
            folder = tmp_path / f"px4-{number}"
            return running.enter_context(started(home, number, folder, environment))

        yield start


def px4_home() -> Path:
    """Where PX4 is; skips the test where there is none."""
    if not os.environ.get(VARIABLE):
        pytest.skip(f"needs PX4's SITL build: set {VARIABLE}=/opt/px4-sitl")
    home = Path(os.environ[VARIABLE])
    if not (home / "bin" / "px4").exists():
        pytest.fail(f"{VARIABLE}={home} has no bin/px4")
    return home


@contextmanager
def alone() -> Iterator[None]:
    """PX4's ports are fixed, and tests run in several processes: one at a time has them."""
    with (Path(tempfile.gettempdir()) / "ghost-px4.lock").open("w") as lock:
        end_s = time.monotonic() + TURN_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < end_s, f"another test has had PX4 for {TURN_S} s"
                time.sleep(0.1)
        yield


@contextmanager
def started(
    home: Path, instance: int, folder: Path, environment: Mapping[str, str]
) -> Iterator[Px4]:
    assert is_free(instance), f"PX4 instance {instance} runs already"
    folder.mkdir(parents=True, exist_ok=True)
    # PX4_PARAM_ and PX4_SIM_ variables of whoever runs the tests are none of ours.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PX4_")}
    command = [f"{home}/bin/px4", "-i", str(instance), "-d", f"{home}/etc", "-w", str(folder)]
    with (folder / "px4.out").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**clean, "PX4_SIM_MODEL": "sihsim_quadx", **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Px4(instance, folder, process)
    try:
        _wait_for_boot(running)
        yield running
    finally:
        _end(process)


def free_instance() -> int:
    for instance in FREE_INSTANCES:
        if is_free(instance):
            return instance
    raise AssertionError("every PX4 instance from 1 to 9 is in use")


def is_free(instance: int) -> bool:
    """Whether both ends of its onboard link are."""
    for port in (14540 + instance, 14580 + instance):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 - that is where PX4 binds
            except OSError:
                return False
    return True


def _wait_for_boot(running: Px4) -> None:
    end_s = time.monotonic() + BOOT_S
    while BOOTED not in running.output:
        code = running.process.poll()
        tail = running.output[-2000:]
        assert code is None, f"PX4 ended with {code} while booting:\n{tail}"
        assert time.monotonic() < end_s, f"PX4 did not boot in {BOOT_S} s:\n{tail}"
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    """It and what its scripts started: its session is its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait(END_S)
