"""A disk that is full in flight: the vehicle lands, and what was logged until then is kept."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ghost.core.errors import LogError
from ghost.deploy import Flight, Result, SimulatedFlight
from ghost.events import EVENTS, Event, EventKind
from ghost.telemetry import LogReader, file_sha256, read_manifest
from ghost.telemetry.run import RunRecorder
from tests.deploy.rig import order
from tests.deploy.test_session import is_down

ENOUGH_FOR_A_CLIMB = 300_000


@contextmanager
def files_up_to(size_bytes: int) -> Iterator[None]:
    """The kernel refuses to let any file of this process grow further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fly_until_full(folder: Path) -> tuple[SimulatedFlight, Flight, list[Event]]:
    flight = SimulatedFlight(order(folder, mission="square"))
    heard: list[Event] = []
    flight.bus.subscribe(EVENTS, heard.append, name="test")
    return flight, flight.run(), heard


def check_landed(flight: SimulatedFlight, flown: Flight, heard: list[Event]) -> None:
    kinds = [event.kind for event in heard]
    assert kinds.count(EventKind.LOG_FAILED) == 1
    assert kinds[-3:] == [
        EventKind.LOG_FAILED,
        EventKind.MISSION_ABORT_REQUESTED,
        EventKind.MISSION_ABORTED,
    ]
    failed, asked, _ = heard[-3:]
    assert 0 <= asked.stamp_ns - failed.stamp_ns <= 20_000_000
    assert flown.summary.highest_m > 1.0
    assert is_down(flight)
    assert flown.outcome.result is Result.FAILED


def test_the_vehicle_lands_and_the_log_up_to_then_is_made_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with files_up_to(ENOUGH_FOR_A_CLIMB):
        flight, flown, heard = fly_until_full(run)
    check_landed(flight, flown, heard)
    assert flown.outcome.reason == (
        "the flight log stopped early: [Errno 27] File too large, so the vehicle was landed; "
        "what it held by then is whole; make room and fly again"
    )
    assert read_manifest(run).log.status == "recovered"
    reader = LogReader(run)
    assert sum(1 for _ in reader.messages()) > 1000
    failed_ns = next(event.stamp_ns for event in heard if event.kind == EventKind.LOG_FAILED)
    assert failed_ns - 4_000_000_000 < reader.end_ns <= failed_ns


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, with less room than a flight needs."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("this user may not mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S607 - same


def test_on_a_disk_that_is_full_the_log_is_made_whole_where_it_lies(small_disk: Path) -> None:
    run = small_disk / "run"
    flight, flown, heard = fly_until_full(run)
    check_landed(flight, flown, heard)
    assert flown.outcome.reason == (
        "the flight log stopped early: [Errno 28] No space left on device, so the vehicle was "
        "landed; what it held by then is whole; make room and fly again"
    )
    assert sorted(path.name for path in run.iterdir()) == ["log.mcap", "manifest.yaml"]
    assert read_manifest(run).log.status == "recovered"
    assert read_manifest(run).log.sha256 == file_sha256(run / "log.mcap")
    failed_ns = next(event.stamp_ns for event in heard if event.kind == EventKind.LOG_FAILED)
    assert failed_ns - 5_000_000_000 < LogReader(run).end_ns <= failed_ns


def test_a_disk_that_is_full_already_is_refused_before_take_off(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free))
    run = small_disk / "run"
    run.mkdir()
    for room_bytes in (0, 4096):  # for nothing, and for the manifest alone
        os.truncate(ballast, ballast.stat().st_size - room_bytes)
        with pytest.raises(LogError, match=r"^cannot record into .*/run: .*No space left"):
            SimulatedFlight(order(run, mission="square"))
        assert list(run.iterdir()) == []


def test_a_disk_that_fails_at_the_very_end_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(_: RunRecorder) -> None:
        raise OSError(28, "No space left on device")

    flight = SimulatedFlight(order(tmp_path / "run"))
    flight.request_landing()
    with monkeypatch.context() as patched:
        patched.setattr(RunRecorder, "close", close)
        flown = flight.run()
    flight._recorder.close()
    assert flown.outcome.result is Result.FAILED
    assert flown.outcome.reason == (
        "[Errno 28] No space left on device; make room, then run "
        f"`ghost log recover {tmp_path / 'run'}`"
    )
