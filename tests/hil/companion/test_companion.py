"""Faults of the companion, done to small programs of ours."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from hil.companion import (
    Inside,
    NotPossibleHereError,
    RunDisk,
    UnitGoneError,
    crowded,
    kill,
    run_disk,
    starved,
    stop_for,
    stopped,
)
from hil.companion.unit import family_of, is_gone, state_of

Start = Callable[..., "subprocess.Popen[str]"]

COUNT = """
import sys, time
while True:
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.002)
"""
FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
child.wait()
"""
WRITER = """
import os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
with open(folder / "log", "ab", buffering=0) as log:
    for order in sys.stdin:
        try:
            log.write(bytes(100_000))
            print("written", flush=True)
        except OSError as error:
            print(error.errno, flush=True)
"""
SYNCER = """
import os, pathlib, sys, time
path = pathlib.Path(sys.argv[1])
with path.open("wb") as file:
    for order in sys.stdin:
        began = time.monotonic_ns()
        if order == "sync\\n":
            os.fsync(file.fileno())
        elif order == "write\\n":
            file.write(b"some")
            file.flush()
        else:
            number = os.open("/dev/null", os.O_WRONLY)
            os.write(number, b"some")
            os.close(number)
        print(time.monotonic_ns() - began, flush=True)
"""
CLOCK = """
import datetime, sys, time
from datetime import datetime as moment
for order in sys.stdin:
    wall = [time.time(), time.time_ns() / 1e9, time.clock_gettime(time.CLOCK_REALTIME)]
    wall += [time.mktime(time.localtime()), moment.now().timestamp()]
    wall += [datetime.datetime.now(datetime.UTC).timestamp()]
    assert isinstance(moment.now(), datetime.datetime)
    print(min(wall), max(wall), time.monotonic(), flush=True)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[subprocess.Popen[str]] = []

    def begin(
        code: str, *arguments: str, env: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        program = subprocess.Popen(
            [sys.executable, "-S", "-c", code, *arguments] if env is None
            else [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )  # fmt: skip
        begun.append(program)
        return program

    yield begin
    for program in begun:
        program.kill()
        program.communicate(timeout=5)


def ask(program: "subprocess.Popen[str]", order: str = "") -> str:
    assert program.stdin is not None
    program.stdin.write(f"{order}\n")
    program.stdin.flush()
    return line_of(program)


def line_of(program: "subprocess.Popen[str]") -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


def ticks_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[13])


def gaps_s(program: "subprocess.Popen[str]", first: str, until_ns: int) -> list[float]:
    """Between the instants that it printed, from the first up to then."""
    instants = [int(first)]
    while instants[-1] < until_ns:
        instants.append(int(line_of(program)))
    return [(after - before) / 1e9 for before, after in pairwise(instants)]


def test_a_kill_takes_the_unit_and_all_below_it(start: Start) -> None:
    unit = start(FAMILY)
    child = int(line_of(unit))
    assert family_of(unit) == (unit.pid, child)
    kill(unit)
    assert unit.returncode == -signal.SIGKILL
    assert is_gone(child)
    with pytest.raises(UnitGoneError, match=f"pid {unit.pid}. has ended"):
        kill(unit)


def test_a_stopped_unit_does_nothing_until_it_is_let_go(start: Start) -> None:
    unit = start(COUNT)
    first = line_of(unit)
    stop_for(unit, 200_000_000)
    assert max(gaps_s(unit, first, time.monotonic_ns())) >= 0.19
    with pytest.raises(KeyError):
        _fail_while_stopped(unit)
    assert state_of(unit.pid) != "T"


def _fail_while_stopped(unit: "subprocess.Popen[str]") -> None:
    with stopped(unit):
        assert state_of(unit.pid) == "T"
        raise KeyError


def test_a_starved_unit_runs_for_its_share(start: Start) -> None:
    unit = start(COUNT)
    first = line_of(unit)
    with starved(unit, share=0.25, period_ns=60_000_000, seed=1) as told:
        time.sleep(0.8)
    assert told.stops >= 4
    assert told.ran_ns / (told.ran_ns + told.stopped_ns) == pytest.approx(0.25, abs=0.15)
    stops = [gap for gap in gaps_s(unit, first, time.monotonic_ns()) if gap > 0.02]
    assert len(stops) >= 4
    assert state_of(unit.pid) != "T"


def test_competitors_share_the_units_cores_and_go(start: Start) -> None:
    unit = start(COUNT)
    line_of(unit)
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(unit.pid, (core,))
    with crowded(unit, per_core=2) as competitors:
        assert len(competitors) == 2
        assert [os.sched_getaffinity(pid) for pid in competitors] == [{core}, {core}]
        end_s = time.monotonic() + 5.0
        while not all(ticks_of(pid) for pid in competitors):
            assert time.monotonic() < end_s, "the competitors don't run"
            time.sleep(0.01)
    assert all(is_gone(pid) for pid in competitors)


@pytest.mark.parametrize("how", ["tmpfs", "file size limit"])
def test_a_full_disk_refuses_has_room_again_and_keeps_its_files(
    how: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "file size limit":
        monkeypatch.setattr(run_disk, "_run", lambda *_: "permission denied")
    folder = tmp_path / "run"
    with RunDisk(folder, size_bytes=4 << 20) as disk:
        if disk.how != how:
            pytest.skip(f"a {disk.how} is what this machine allows")
        unit = start(WRITER, str(folder))
        assert ask(unit) == "written"
        with disk.full(unit):
            answers = [ask(unit) for _ in range(3)]
        # A last page of the file may have room yet.
        assert answers[1:] == ["28" if how == "tmpfs" else "27"] * 2
        assert ask(unit) == "written"
        kill(unit)
    assert (folder / "log").stat().st_size >= 200_000
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not os.path.ismount(folder)


def test_where_a_disk_is_a_must_and_none_may_be_mounted_the_case_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_disk, "_run", lambda *_: "must be superuser")
    disk = RunDisk(tmp_path / "run", fallback=False)
    with pytest.raises(NotPossibleHereError, match="must be superuser"), disk:
        pass
    (tmp_path / "run" / "old").touch()
    with pytest.raises(ConfigError, match="has files"), RunDisk(tmp_path / "run"):
        pass


def test_a_slow_disk_is_slow_for_files_only_and_as_often_as_told(
    start: Start, tmp_path: Path
) -> None:
    inside = Inside(tmp_path, seed=4)
    was_loaded = inside.is_loaded
    unit = start(SYNCER, str(tmp_path / "file"), env=inside.environment(os.environ))
    slow_ns = 30_000_000
    assert ask(unit, "device")
    assert (was_loaded, inside.is_loaded) == (False, True)
    with inside.slow_disk(sync_ns=slow_ns, write_ns=slow_ns):
        assert int(ask(unit, "sync")) >= slow_ns
        assert int(ask(unit, "write")) >= slow_ns
        ask(unit, "device")
        assert inside.slow_operations == 2
    ask(unit, "sync")
    assert inside.slow_operations == 2
    with inside.slow_disk(sync_ns=1000, probability=0.3):
        for _ in range(200):
            ask(unit, "sync")
    assert abs(inside.slow_operations - 2 - 60) < 4 * 6.5  # of the binomial distribution
    inside.close()


def test_the_units_wall_clock_jumps_and_no_other(start: Start, tmp_path: Path) -> None:
    inside = Inside(tmp_path)
    unit = start(CLOCK, env=inside.environment(os.environ))
    for step_s in (0, 3600, -86_400, 0):
        inside.step_clock(step_s * 10**9)
        least, most, monotonic = map(float, ask(unit).split())
        assert least - time.time() == pytest.approx(step_s, abs=2.0)
        assert most - time.time() == pytest.approx(step_s, abs=2.0)
        assert monotonic == pytest.approx(time.monotonic(), abs=2.0)
    inside.close()
