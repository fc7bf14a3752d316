from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal.channels import GROUNDTRUTH_POSE, IMU
from ghost.hal.samples import ImuSample, Pose
from ghost.telemetry import LogReader, Manifest, RunRecorder, describe_run
from ghost.telemetry.reader import Record

STEP_NS = 1_000_000


def _imu(sequence: int) -> ImuSample:
    values = np.random.default_rng(sequence).normal(size=6)
    return ImuSample(
        stamp_ns=sequence * STEP_NS,
        sequence=sequence,
        accel_flu_mps2=values[:3],
        gyro_flu_rps=values[3:],
    )


def _manifest(**changes: Any) -> Manifest:
    given: dict[str, Any] = {
        "robot": "quad",
        "scenario": "hover",
        "seed": 7,
        "deterministic": True,
        "reproduce": "ghost deploy sim quad --scenario hover --seed 7",
        "config": {"mass_kg": 1.5, "rotors": [1, 2], "wind": {"on": False}},
    }
    return describe_run(**(given | changes))


def _record(folder: Path, steps: int) -> Manifest:
    """A run of an IMU at 1 kHz, a pose beside each sample and an event every hundredth."""
    clock = SimClock()
    bus = Bus(clock)
    with RunRecorder(folder, bus, _manifest()) as recorder:
        for step in range(steps):
            bus.publish(IMU, _imu(step))
            position = [step * 0.5, 0.0, 1.0]
            bus.publish(GROUNDTRUTH_POSE, Pose(clock.now_ns(), position, [1.0, 0.0, 0.0, 0.0]))  # type: ignore[arg-type]  # sealed
            if step % 100 == 0:
                bus.publish(EVENTS, Event(clock.now_ns(), Severity.INFO, "BEAT", "test"))
            clock.advance(STEP_NS)
    return recorder.manifest


def _read(path: Path) -> list[Record]:
    return list(LogReader(path).messages())


@pytest.fixture
def imu() -> Callable[[int], ImuSample]:
    return _imu


@pytest.fixture
def manifest() -> Callable[..., Manifest]:
    return _manifest


@pytest.fixture
def record() -> Callable[[Path, int], Manifest]:
    return _record


@pytest.fixture
def read() -> Callable[[Path], list[Record]]:
    return _read
