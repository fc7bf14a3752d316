"""Serial links over real ptys: pulled out, plugged in, silent, held by others, not allowed."""

import fcntl
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from firmware_bridge import link as link_module
from firmware_bridge.link import FIRST_RETRY_NS, LONGEST_RETRY_NS, Link
from tests.firmware_bridge.link_rig import (
    MS,
    S,
    Station,
    frame_bytes,
    heartbeat,
    open_pty,
    plug,
    stations,
)

NOBODY = 65_534


@pytest.fixture
def station() -> Iterator[Station]:
    with stations((255, 190)) as (made,):
        yield made


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """Where udev would put the link to whatever port the autopilot got this time."""
    return tmp_path / "usb-Auterion_PX4_FMU"


def url(device: Path | str) -> str:
    return f"serial://{device}:921600"


def read_all(master: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(master, size - len(data))
    return data


def test_frames_go_both_ways_with_every_byte_value_as_it_is(station: Station) -> None:
    master, path = open_pty()
    link = station.add(url(path))
    assert link.is_up
    every_value = bytes(range(256))  # of which a terminal would take some for itself
    os.write(master, every_value.replace(b"\xfd", b"").replace(b"\xfe", b"") + frame_bytes())
    station.until(lambda: bool(station.heard))
    assert station.heard == [frame_bytes()]
    assert link.counts.framer.noise_bytes == 254
    link.send(every_value, 0)
    assert read_all(master, 256) == every_value
    station.hub.send(heartbeat())
    assert read_all(master, len(frame_bytes())) == frame_bytes(system=255, component=190)
    assert (link.counts.sent, link.counts.unsent, link.counts.opened) == (2, 0, 1)
    os.close(master)


def test_unplugged_and_plugged_in_again_under_another_name(station: Station, device: Path) -> None:
    master = plug(open_pty(), device)
    link = station.add(url(device))
    os.write(master, frame_bytes(0)[:7])  # it was in the middle of a frame
    station.spin(5 * MS)
    os.close(master)
    station.until(lambda: not link.is_up)
    assert station.news == [(True, ""), (False, "the port is gone")]
    device.unlink()
    station.spin(3 * FIRST_RETRY_NS)
    assert link.problem == "No such file or directory"

    master = plug(open_pty(), device)
    began_ns = time.monotonic_ns()
    station.until(lambda: link.is_up)
    # The last wait was 400 ms at most, and upkeep comes every 50 ms.
    assert time.monotonic_ns() - began_ns < 400 * MS + 800 * MS
    os.write(master, frame_bytes(1))
    station.until(lambda: bool(station.heard))
    assert station.heard == [frame_bytes(1)]
    assert len(station.news) == 3
    os.close(master)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_many_replugs_leak_no_file_descriptors(station: Station, device: Path) -> None:
    link = Link(
        station.add(url(device)).endpoint,
        on_news=lambda _, up, why: station.news.append((up, why)),
    )
    now_ns, before = 0, 0
    for turn in range(50):
        master = plug(open_pty(), device)
        now_ns += 3 * S
        link.maintain(now_ns)
        os.close(master)
        assert link.receive(now_ns) == []
        if turn == 10:
            before = open_files()
    assert open_files() <= before
    assert station.news == [(True, ""), (False, "the port is gone")] * 50


def test_a_missing_device_is_tried_again_ever_more_seldom_and_never_raises(device: Path) -> None:
    attempts: list[int] = []
    link = Link(Station().add(url(device)).endpoint, on_news=lambda *_: None)
    for now_ns in range(0, 20 * S, 10 * MS):
        before = link._retry_ns
        link.maintain(now_ns)
        if link._retry_ns != before:
            attempts.append(now_ns)
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert gaps[:5] == [FIRST_RETRY_NS * 2**power for power in range(5)]
    assert set(gaps[5:]) == {LONGEST_RETRY_NS}
    assert (link.is_up, link.problem) == (False, "No such file or directory")


def test_a_silent_port_is_opened_anew(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "SILENCE_NS", 400 * MS)
    master, path = open_pty()
    keeper = os.open(path, os.O_RDWR | os.O_NOCTTY)  # else the pty hangs up for good
    link = station.add(url(path))
    for _ in range(5):
        station.spin(100 * MS)
        os.write(master, b"\x55")
    assert link.counts.opened == 1
    station.until(lambda: link.counts.opened == 2)
    assert station.news == [(True, ""), (False, "silent for 0.4 s"), (True, "")]
    os.write(master, frame_bytes())
    station.until(lambda: bool(station.heard))
    os.close(keeper)
    os.close(master)


def test_a_port_that_another_program_holds_says_so_and_is_taken_when_it_is_free(
    station: Station,
) -> None:
    master, path = open_pty()
    holder = os.open(path, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    link = station.add(url(path))
    assert (link.is_up, link.problem) == (False, "another program has it open")
    os.close(holder)
    station.until(lambda: link.is_up)
    with stations((1, 1)) as (second,):
        assert second.add(url(path)).problem == "another program has it open"
    os.close(master)


def test_a_port_that_one_is_not_allowed_to_open_says_so(station: Station) -> None:
    master, path = open_pty()
    Path(path).chmod(0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        link = station.add(url(path))
    finally:
        os.seteuid(user)
    assert not link.is_up
    assert link.problem == f"not allowed to open it; ls -l {path} shows who is"
    os.close(master)


@pytest.mark.parametrize("device", ["/dev/null", "/dev", "/etc/passwd/no", "/dev/\0"])
def test_what_is_no_serial_port_is_a_problem_and_no_exception(
    station: Station, device: str
) -> None:
    link = station.add(url(device))
    assert not link.is_up
    assert link.problem not in ("", "not opened yet")
    station.spin(2 * FIRST_RETRY_NS)
    assert not station.news


def test_a_port_that_takes_nothing_fills_a_queue_and_blocks_nobody(station: Station) -> None:
    master, path = open_pty()  # and nobody reads its other end
    link = station.add(url(path))
    began_ns = time.monotonic_ns()
    for _ in range(6000):
        station.hub.send(heartbeat())
    station.spin(20 * MS)
    assert time.monotonic_ns() - began_ns < 3 * S
    assert link._waiting_bytes == sum(map(len, link._waiting)) <= link_module.MOST_WAITING_BYTES
    assert link.counts.unsent > 100
    assert link.counts.sent + link.counts.unsent + len(link._waiting) == 6000
    data = read_all(master, 4000)
    station.spin(20 * MS)
    data += read_all(master, len(data) // 21 * 21 + 21 - len(data))
    assert data.startswith(frame_bytes(0, system=255, component=190))
    os.close(master)
    station.until(lambda: not link.is_up)
    assert link.counts.sent + link.counts.unsent == 6000  # what waited is counted, not forgotten
