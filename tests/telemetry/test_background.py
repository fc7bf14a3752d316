"""The log on hardware, against real files, a real full disk and a real SIGKILL."""

import io
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ghost.core.clock import SimClock, SystemClock
from ghost.core.errors import LogError
from ghost.events import EVENTS, Bus, Event, EventKind
from ghost.hal.channels import CMD_MOTOR, IMU
from ghost.hal.commands import MotorCommand
from ghost.hal.samples import ImuSample
from ghost.telemetry import (
    BackgroundLog,
    DropPolicy,
    LogReader,
    Manifest,
    RunRecorder,
    read_manifest,
    recover,
)
from ghost.telemetry import background as background_module
from ghost.telemetry.reader import Record

Imu = Callable[[int], ImuSample]
ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0


class StuckDisk(io.FileIO):
    """A real file whose writes wait until they are let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w")
        self.path = path
        self.go, self.entered = Signal(), Signal()
        self.go.set()

    def write(self, data: Any) -> int:
        if not self.go.is_set():
            self.entered.set()
            assert self.go.wait(DEADLINE_S)
        return super().write(data)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.005)


@pytest.fixture
def stuck(tmp_path: Path) -> StuckDisk:
    return StuckDisk(tmp_path / "log.mcap")


@pytest.fixture
def stream(stuck: StuckDisk) -> io.BufferedWriter:
    return io.BufferedWriter(stuck)


def test_the_publisher_never_waits_for_a_stuck_disk(
    stuck: StuckDisk, stream: io.BufferedWriter, imu: Imu
) -> None:
    bus = Bus(SimClock())
    log = BackgroundLog(stream, bus)
    bus.attach(log, name="log")
    stuck.go.clear()
    bus.publish(IMU, imu(0))
    assert stuck.entered.wait(DEADLINE_S)
    for step in range(1, 1000):
        bus.publish(IMU, imu(step))
    assert len(log.buffer) == 999  # all published while the writer stood in its first write
    stuck.go.set()
    log.close()
    stream.close()
    sequences = [record.sequence for record in LogReader(stuck.path).messages()]
    assert sequences == list(range(1000))


def test_a_disk_that_falls_behind_costs_the_oldest_and_is_told(
    stuck: StuckDisk, stream: io.BufferedWriter, imu: Imu
) -> None:
    bus = Bus(SimClock())
    heard: list[Event] = []
    bus.subscribe(EVENTS, heard.append, name="test")
    log = BackgroundLog(stream, bus, capacity=100, policy=DropPolicy.DROP_OLDEST)
    bus.attach(log, name="log")
    stuck.go.clear()
    bus.publish(IMU, imu(0))
    assert stuck.entered.wait(DEADLINE_S)
    for step in range(1, 1000):
        bus.publish(IMU, imu(step))
    stuck.go.set()
    log.close()
    stream.close()
    records = list(LogReader(stuck.path).messages())
    assert [event.kind for event in heard] == [EventKind.TELEMETRY_BACKPRESSURE] * len(heard)
    assert any(record.message == heard[0] for record in records)
    samples = [record.message.sequence for record in records if record.channel == IMU]
    assert samples == [0, *range(1000 - len(samples) + 1, 1000)]
    assert len(samples) + log.buffer.dropped[IMU.name] == 1000
    assert heard[-1].payload["dropped_in_all"] == log.buffer.dropped[IMU.name]


def test_closing_on_a_stuck_disk_gives_up_and_says_so(
    stuck: StuckDisk, stream: io.BufferedWriter, imu: Imu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_module, "JOIN_TIMEOUT_S", 0.2)
    bus = Bus(SimClock())
    log = BackgroundLog(stream, bus)
    bus.attach(log, name="log")
    stuck.go.clear()
    bus.publish(IMU, imu(0))
    assert stuck.entered.wait(DEADLINE_S)
    with pytest.raises(LogError, match="the disk stalls"):
        log.close()
    stuck.go.set()
    log._thread.join(DEADLINE_S)
    stream.close()


def test_a_full_disk_is_one_event_and_the_flight_goes_on(imu: Imu) -> None:
    bus = Bus(SimClock())
    heard: list[Event] = []
    flown: list[ImuSample] = []
    bus.subscribe(EVENTS, heard.append, name="test")
    bus.subscribe(IMU, flown.append, name="test")
    with Path("/dev/full").open("wb", buffering=0) as full:
        buffered = io.BufferedWriter(full)
        log = BackgroundLog(buffered, bus)
        bus.attach(log, name="log")
        bus.publish(IMU, imu(0))
        wait_until(lambda: not log._thread.is_alive())
        for step in range(1, 100):
            bus.publish(IMU, imu(step))
        assert [event.kind for event in heard] == [EventKind.LOG_FAILED]
        assert "No space left on device" in heard[0].text
        assert len(flown) == 100
        with pytest.raises(LogError, match="No space left on device"):
            log.close()
        with pytest.raises(OSError, match="No space left"):
            buffered.close()


FULL_RUN = """
import resource, sys, time
from ghost.core.clock import SystemClock
from ghost.core.errors import LogError
from ghost.events import EVENTS, Bus
from ghost.hal.channels import IMU
from ghost.hal.samples import ImuSample
from ghost.telemetry import RunRecorder, describe_run
import random

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
clock = SystemClock()
bus = Bus(clock)
bus.subscribe(EVENTS, lambda event: print(event.kind, flush=True), name="print")
run = RunRecorder(sys.argv[1], bus, describe_run(robot="quad", scenario="field", seed=0,
    deterministic=False, reproduce="none", config={}), background=True)
for step in range(1500):
    noise = [random.random() for _ in range(6)]
    bus.publish(IMU, ImuSample(clock.now_ns(), step, noise[:3], noise[3:]))
    time.sleep(0.0005)
try:
    run.close()
except LogError as error:
    print("LogError", error)
"""


def test_a_run_whose_file_cannot_grow_ends_in_a_log_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL_RUN, str(tmp_path / "run")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    told, raised = done.stdout.splitlines()
    assert told == EventKind.LOG_FAILED
    assert raised.startswith("LogError the flight log stopped early: [Errno 27] File too large")
    assert read_manifest(tmp_path / "run").log.status == "recording"
    assert recover(tmp_path / "run").messages > 0


def test_a_message_that_cannot_be_written_does_not_end_the_log(
    tmp_path: Path,
    imu: Imu,
    manifest: Callable[..., Manifest],
    read: Callable[[Path], list[Record]],
) -> None:
    bus = Bus(SystemClock())
    with RunRecorder(tmp_path, bus, manifest(), background=True):
        bus.publish(CMD_MOTOR, MotorCommand(0, 0, "full power"))  # type: ignore[arg-type]  # on purpose
        for step in range(5):
            bus.publish(IMU, imu(step))
            time.sleep(0.05)
    records = read(tmp_path)
    assert [r.message for r in records if r.channel == IMU] == [imu(step) for step in range(5)]
    (event,) = [r.message for r in records if r.channel == EVENTS]
    assert (event.kind, event.payload["channel"]) == (EventKind.SUBSCRIBER_FAILED, CMD_MOTOR.name)


KILLED_RUN = """
import sys, time
from ghost.core.clock import SystemClock
from ghost.events import Bus
from ghost.hal.channels import IMU
from ghost.hal.samples import ImuSample
from ghost.telemetry import RunRecorder, describe_run

clock = SystemClock()
bus = Bus(clock)
run = RunRecorder(sys.argv[1], bus, describe_run(robot="quad", scenario="field", seed=0,
    deterministic=False, reproduce="none", config={}), background=True)
step = 0
while True:
    now_ns = clock.now_ns()
    bus.publish(IMU, ImuSample(now_ns, step, [0.0, 0.0, 9.81], [step, 0.0, 0.0]))
    if step % 10 == 0:
        print(now_ns, flush=True)
    step += 1
    time.sleep(0.001)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sigkill_loses_less_than_a_second(
    seed: int, tmp_path: Path, read: Callable[[Path], list[Record]]
) -> None:
    folder = tmp_path / "run"
    flight = subprocess.Popen(
        [sys.executable, "-c", KILLED_RUN, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert flight.stdout is not None
    first = flight.stdout.readline()
    time.sleep(random.Random(seed).uniform(1.2, 1.8))  # noqa: S311 - a moment, not a secret
    flight.send_signal(signal.SIGKILL)
    printed = (first + flight.stdout.read()).splitlines(keepends=True)
    flight.stdout.close()
    assert flight.wait(DEADLINE_S) == -signal.SIGKILL
    last_ns = int([line for line in printed if line.endswith("\n")][-1])
    assert read_manifest(folder).log.status == "recording"
    with pytest.raises(LogError, match="ghost log recover"):
        LogReader(folder)
    cut = (folder / "log.mcap").read_bytes()

    command = [sys.executable, "-m", "ghost.cli", "log", "recover", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    records = read(folder)
    assert [record.sequence for record in records] == list(range(len(records)))
    assert last_ns > 1_000_000_000
    assert last_ns - records[-1].stamp_ns < 1_000_000_000
    log = read_manifest(folder).log
    assert (log.status, log.end_ns) == ("recovered", records[-1].stamp_ns)
    assert (folder / "log.damaged.mcap").read_bytes() == cut
