"""The process around PX4, whose part a shell script plays: how it is found, started and ended."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError, LinkError, StalledError
from ghost.px4 import Px4Container, Px4Folder, Px4Instance, Px4Process, find_px4
from ghost.sitl.px4 import SimulatorLink, launch
from tests.sitl.px4 import rig

INSTANCE = Px4Instance(2)


def px4_that(home: Path, *lines: str) -> Px4Folder:
    (home / "bin").mkdir(parents=True)
    (home / "etc/init.d-posix").mkdir(parents=True)
    (home / "etc/init.d-posix/rcS").touch()
    script = home / "bin/px4"
    script.write_text("\n".join(("#!/bin/sh", *lines)))
    script.chmod(0o755)
    return Px4Folder(home)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Px4Process]]:
    running: list[Px4Process] = []

    def start(*lines: str, **environment: str) -> Px4Process:
        place = px4_that(tmp_path / "home", *lines)
        running.append(Px4Process(place, INSTANCE, tmp_path / "work", environment))
        return running[-1]

    yield start
    for process in running:
        process.close()


def until(is_so: Callable[[], object], what: str) -> None:
    end_s = time.monotonic() + 10.0
    while not is_so():
        assert time.monotonic() < end_s, f"waited 10 s for {what}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_runs_in_its_own_folder_with_its_number(
    start: Callable[..., Px4Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PX4_PARAM_STRAY", "1")
    script = (
        'echo "$PWD $* $PX4_SIM_MODEL-$PX4_PARAM_STRAY"',
        "mkdir -p log/today",
        "touch log/today/1.ulg",
        "echo INFO Startup script returned successfully",
        "sleep 60",
    )
    process = start(*script, PX4_SIM_MODEL="none_iris")
    until(lambda: process.has_booted, "the script's last words")
    home, work = tmp_path / "home", tmp_path / "work"
    first = process.output.read_text().splitlines()[0]
    assert first == f"{work} -i 2 -d {home}/etc -w {work} none_iris-"
    assert process.ulogs() == [work / "log/today/1.ulg"]
    process.refuse_if_ended()


def test_one_that_ends_is_told_with_code_and_last_words(start: Callable[..., Px4Process]) -> None:
    process = start("echo ERROR no such airframe", "exit 3")
    until(lambda: not is_running(process.pid), "the end")
    with pytest.raises(LinkError, match=r"instance 2 .* ended: .* code 3; .*no such airframe"):
        process.refuse_if_ended()


def test_what_it_started_ends_with_it_even_if_it_will_not(
    start: Callable[..., Px4Process],
) -> None:
    process = start("trap '' TERM", "(trap '' TERM; echo $$; sleep 60) & echo $!", "sleep 60")
    until(lambda: len(process.output.read_text().split()) == 2, "its child")
    pids = [process.pid, *map(int, process.output.read_text().split())]
    process.close()
    process.close()
    until(lambda: not any(map(is_running, pids)), "the end of all of them")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_ghost_however_that_ends(tmp_path: Path, number: int) -> None:
    px4_that(tmp_path / "home", "echo up", "exec sleep 60")
    ghost = f"""
import time
from pathlib import Path
from ghost.px4 import Px4Folder, Px4Instance, Px4Process
at = Path({str(tmp_path)!r})
process = Px4Process(Px4Folder(at / "home"), Px4Instance(2), at / "work", dict())
print(process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", ghost], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        output = tmp_path / "work/px4.out"
        until(lambda: output.read_text() == "up\n", "its start")
        assert is_running(pid)
        run.send_signal(number)
    until(lambda: not is_running(pid), "its end")


def test_a_container_ends_when_its_input_does(tmp_path: Path) -> None:
    """The engine is played by a script that runs what it is told to, here."""
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\necho "$@" >&2\nwhile [ "$1" != -c ]; do shift; done\nsh "$@"\n')
    engine.chmod(0o755)
    order = Px4Container(str(engine)).order(INSTANCE, tmp_path, {"PX4_SIM_MODEL": "none_iris"})
    told = " ".join(order.command)
    assert f"--volume={tmp_path}:{tmp_path}" in told
    assert "--env=PX4_SIM_MODEL=none_iris" in told
    assert told.endswith(f"sh /opt/px4/bin/px4 -i 2 -d /opt/px4/etc -w {tmp_path}")

    px4 = px4_that(tmp_path / "home", "echo $$", "exec sleep 60").home / "bin/px4"
    command = [str(px4) if part == "/opt/px4/bin/px4" else part for part in order.command]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert is_running(pid)
        run.stdin.close()
        assert run.wait(10) != 0
    assert not is_running(pid)


def test_where_there_is_no_px4_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHOST_PX4", str(tmp_path))
    with pytest.raises(ConfigError, match=r"has no bin/px4; expected .*GHOST_PX4"):
        find_px4()
    monkeypatch.delenv("GHOST_PX4")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"no docker engine answers\. Set GHOST_PX4 to a"):
        find_px4()
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\n[ "$1" = version ]\n')
    engine.chmod(0o755)
    with pytest.raises(ConfigError, match=r"docker pull px4io/px4-sitl"):
        find_px4()


def test_another_px4_of_that_number_is_told_before_the_start(tmp_path: Path) -> None:
    free = rig.free_link()
    free.close()
    make = launch(tmp_path / "work", installation=px4_that(tmp_path / "home", "exit 1"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", free.instance.px4_offboard_port))
        with pytest.raises(LinkError, match=r"needs UDP port 14\d+, .* held by .* \(pid \d+\)"):
            make(rig.seat(free.instance.system))


def test_a_px4_that_dies_at_the_start_leaves_nothing(tmp_path: Path) -> None:
    free = rig.free_link()
    free.close()
    make = launch(tmp_path / "work", installation=px4_that(tmp_path / "home", "exit 1"))
    firmware = make(rig.seat(free.instance.system))
    try:
        with pytest.raises(LinkError, match="process ended with code 1"):
            firmware.give(rig.TICK_NS, [rig.imu()])
    finally:
        firmware.close()
    SimulatorLink(free.instance).close()  # its port is free again


def test_a_boot_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    link = rig.free_link()
    link.close()
    place = px4_that(tmp_path / "home", "echo waiting for something", "sleep 60")
    make = launch(tmp_path / "work", installation=place, boot_ns=400_000_000)
    firmware = make(rig.seat(link.instance.system))
    px4 = rig.ScriptedPx4(link)

    def boot() -> None:
        for tick in range(1, 1000):
            firmware.give(tick * rig.TICK_NS, [rig.imu()])
            firmware.take(tick * rig.TICK_NS)

    try:
        with pytest.raises(StalledError, match=r"startup script in 0\.4 s; process .*waiting for"):
            boot()
    finally:
        px4.hang_up()
        firmware.close()
