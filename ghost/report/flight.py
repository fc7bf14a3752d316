"""A log as arrays: the channels that a report draws, each None where the log has none of it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.events import EVENTS, Event
from ghost.hal import Scene, VehicleStatus
from ghost.hal.channels import BATTERY, CONTROL, GROUNDTRUTH_STATE, SCENE, STATUS, VEHICLE
from ghost.report.summary import Summary
from ghost.report.tally import COUNTED, Tally
from ghost.telemetry import LogReader

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FURTHEST = 1e12
_DRAWN = (BATTERY, CONTROL, EVENTS, GROUNDTRUTH_STATE, SCENE, STATUS, VEHICLE)


@dataclass(frozen=True, slots=True)
class Motion:
    """How the vehicle moved, in truth or by its estimate. Rows are messages."""

    stamp_ns: IntArray
    position_enu_m: FloatArray
    velocity_enu_mps: FloatArray
    attitude: FloatArray
    rate_flu_rps: FloatArray


@dataclass(frozen=True, slots=True)
class Truth:
    motion: Motion
    wind_enu_mps: FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    motion: Motion
    position_sigma_m: FloatArray
    verdict: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Control:
    stamp_ns: IntArray
    position_enu_m: FloatArray
    attitude: FloatArray
    rate_flu_rps: FloatArray
    motors: FloatArray


@dataclass(frozen=True, slots=True)
class Status:
    stamp_ns: IntArray
    messages: tuple[VehicleStatus, ...]


@dataclass(frozen=True, slots=True)
class Battery:
    stamp_ns: IntArray
    voltage_v: FloatArray
    remaining: FloatArray


@dataclass(frozen=True, slots=True)
class Flight:
    """One log. motion is the truth where there is one, and otherwise the estimate."""

    start_ns: int
    end_ns: int
    message_count: int
    truth: Truth | None
    estimate: Estimate | None
    control: Control | None
    status: Status | None
    battery: Battery | None
    scene: Scene | None
    events: tuple[Event, ...]
    summary: Summary

    @property
    def motion(self) -> Motion | None:
        best = self.truth or self.estimate
        return best.motion if best else None


def read_flight(path: Path) -> Flight:
    reader = LogReader(path)
    messages: dict[str, list[Any]] = defaultdict(list)
    tally = Tally()
    drawn = {channel.name for channel in _DRAWN} & set(reader.channels)
    counted = {channel.name for channel in COUNTED} & set(reader.channels)
    wanted = drawn | counted
    for record in reader.messages(wanted) if wanted else ():
        name = record.channel.name
        if name in drawn:
            messages[name].append(record.message)
        if name in counted:
            tally.hear(record.message)
    rows = {name: _Rows(found) for name, found in messages.items()}
    return Flight(
        start_ns=reader.start_ns,
        end_ns=reader.end_ns,
        message_count=sum(channel.count for channel in reader.channels.values()),
        truth=_truth(rows.get(GROUNDTRUTH_STATE.name)),
        estimate=_estimate(rows.get(VEHICLE.name)),
        control=_control(rows.get(CONTROL.name)),
        status=_status(rows.get(STATUS.name)),
        battery=_battery(rows.get(BATTERY.name)),
        scene=_scene(messages[SCENE.name]),
        events=tuple(messages[EVENTS.name]),
        summary=tally.summary(),
    )


class _Rows:
    """One channel's messages, a field at a time."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = messages
        self.stamp_ns: IntArray = np.array([each.stamp_ns for each in messages], dtype=np.int64)

    def field(self, name: str) -> FloatArray:
        return _sane(np.array([getattr(each, name) for each in self.messages], dtype=np.float64))

    def ragged(self, name: str) -> FloatArray:
        """Vectors of any length; NaN fills up the short ones."""
        vectors = [getattr(each, name) for each in self.messages]
        table = np.full((len(vectors), max(map(len, vectors))), np.nan)
        for row, vector in zip(table, vectors, strict=True):
            row[: len(vector)] = vector
        return _sane(table)


def _sane(values: FloatArray) -> FloatArray:
    """What diverged beyond all units is a gap, or its square would be infinite."""
    return np.where(np.abs(values) <= _FURTHEST, values, np.nan)


def _motion(rows: _Rows) -> Motion:
    return Motion(
        rows.stamp_ns,
        rows.field("position_enu_m"),
        rows.field("velocity_enu_mps"),
        rows.field("attitude"),
        rows.field("rate_flu_rps"),
    )


def _truth(rows: _Rows | None) -> Truth | None:
    return Truth(_motion(rows), rows.field("wind_enu_mps")) if rows else None


def _estimate(rows: _Rows | None) -> Estimate | None:
    if rows is None:
        return None
    variance_m2 = np.diagonal(rows.field("position_covariance_m2"), axis1=1, axis2=2)
    sigma_m = np.sqrt(np.where(variance_m2 >= 0.0, variance_m2, np.nan))
    return Estimate(_motion(rows), sigma_m, tuple(each.verdict.name for each in rows.messages))


def _control(rows: _Rows | None) -> Control | None:
    if rows is None:
        return None
    return Control(
        rows.stamp_ns,
        rows.field("position_enu_m"),
        rows.field("attitude"),
        rows.field("rate_flu_rps"),
        rows.ragged("motors"),
    )


def _status(rows: _Rows | None) -> Status | None:
    return Status(rows.stamp_ns, tuple(rows.messages)) if rows else None


def _battery(rows: _Rows | None) -> Battery | None:
    return (
        Battery(rows.stamp_ns, rows.field("voltage_v"), rows.field("remaining")) if rows else None
    )


def _scene(scenes: Sequence[Scene]) -> Scene | None:
    """The last, if it stands in the frame in which the rest is drawn."""
    return scenes[-1] if scenes and scenes[-1].frame_id == "world" else None
