"""A small made-up run, and a report taken apart again."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.rotations import from_euler_zyx
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import (
    AckStatus,
    BatterySample,
    CommandAck,
    ControlState,
    EstimateHealth,
    Failsafe,
    FlightMode,
    GroundTruth,
    RejectReason,
    Scene,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import (
    BATTERY,
    CMD_ACK,
    CONTROL,
    GROUNDTRUTH_STATE,
    SCENE,
    STATUS,
    VEHICLE,
)
from ghost.telemetry import RunRecorder, describe_run

STEP_NS = 20_000_000
NO_SPEED = np.zeros(3)
SIGMA_M = 0.1
ESTIMATE_OFFSET_M = np.array([0.05, -0.02, 0.5])

Change = Callable[[Channel[Any], int, Any], Any]


def height_m(step: int) -> float:
    return 1.0 + 0.01 * step


def east_m(step: int) -> float:
    return 0.02 * step


def record(
    folder: Path,
    *,
    steps: int = 200,
    without: tuple[Channel[Any], ...] = (),
    events: tuple[Event, ...] | None = None,
    yaw_deg: Callable[[int], float] = lambda _: 90.0,
    wind_mps: float = 0.0,
    scene: Scene | None = None,
    change: Change = lambda _channel, _step, message: message,
) -> Path:
    """Climbs steadily to the east. change may put another message in a message's place."""
    clock = SimClock()
    bus = Bus(clock)
    manifest = describe_run(
        robot="quad",
        scenario="made-up",
        seed=7,
        deterministic=True,
        reproduce="ghost deploy sim quad --seed 7",
        config={"mission": {"name": "climb"}},
    )
    with RunRecorder(folder, bus, manifest):
        queue = list(mission(steps) if events is None else events)
        if scene is not None:
            bus.publish(SCENE, scene)
        for step in range(steps):
            for channel, message in _messages(step, steps, yaw_deg(step), wind_mps):
                if channel not in without:
                    bus.publish(channel, change(channel, step, message))
            while queue and queue[0].stamp_ns <= clock.now_ns():
                bus.publish(EVENTS, queue.pop(0))
            clock.advance(STEP_NS)
    return folder


def mission(steps: int) -> tuple[Event, ...]:
    def said(step: int, kind: EventKind, text: str, **payload: object) -> Event:
        return Event(step * STEP_NS, Severity.INFO, kind, "mission", text, payload)

    return (
        said(0, EventKind.MISSION_STARTED, "climb, 2 steps"),
        said(10, EventKind.STEP_STARTED, "step 0", name="takeoff"),
        said(60, EventKind.STEP_FINISHED, "step 0", name="takeoff"),
        said(60, EventKind.STEP_STARTED, "step 1", name="goto"),
        said(120, EventKind.WAYPOINT_REACHED, "waypoint 0", waypoint=0),
        said(steps - 20, EventKind.STEP_FINISHED, "step 1", name="goto"),
        said(steps - 10, EventKind.MISSION_FINISHED, "climb", reason=""),
    )


def _messages(
    step: int, steps: int, yaw_deg: float, wind_mps: float
) -> list[tuple[Channel[Any], Any]]:
    stamp_ns = step * STEP_NS
    position_m = np.array([east_m(step), 0.0, height_m(step)])
    attitude = from_euler_zyx(0.1, -0.05, np.radians(yaw_deg))
    velocity_mps = np.array([1.0, 0.0, 0.5])
    state = VehicleState(
        stamp_ns,
        step,
        position_m + ESTIMATE_OFFSET_M,
        velocity_mps,
        attitude,
        *(NO_SPEED,) * 4,
        *(SIGMA_M * SIGMA_M * np.eye(3),) * 3,
        EstimateHealth.GOOD,
    )
    control = ControlState(
        stamp_ns,
        step,
        position_m + np.array([0.0, 0.3, 0.0]),
        velocity_mps,
        attitude,
        NO_SPEED,
        0.5,
        np.array([0.5, 0.6, 0.7, 0.8]),
    )
    told = TrajectoryCommand(
        stamp_ns, step, control.position_enu_m, velocity_mps, NO_SPEED, np.radians(yaw_deg)
    )
    ack = CommandAck(stamp_ns, stamp_ns, step, AckStatus.ACCEPTED, RejectReason.NONE, "", told)
    flies = 10 <= step < steps - 10
    status = VehicleStatus(
        stamp_ns,
        step,
        FlightMode.OFFBOARD if flies else FlightMode.HOLD,
        armed=flies,
        killed=False,
        on_ground=not flies,
        failsafe=Failsafe.NONE,
        blocked="",
        home_enu_m=np.zeros(3),
    )
    truth = GroundTruth(
        stamp_ns,
        position_m,
        velocity_mps,
        attitude,
        NO_SPEED,
        NO_SPEED,
        np.array([wind_mps, 0.0, 0.0]),
        np.zeros(4),
    )
    return [
        (VEHICLE, state),
        (CMD_ACK, ack),
        (CONTROL, control),
        (STATUS, status),
        (GROUNDTRUTH_STATE, truth),
        (BATTERY, BatterySample(stamp_ns, step, 16.0 - 0.001 * step, 10.0, 1.0 - 0.001 * step)),
    ]


class Plot:
    """One plot of a report, read back into the units of its data."""

    def __init__(self, plot: ET.Element) -> None:
        self.element = plot
        self.width_px, self.height_px = float(plot.attrib["width"]), float(plot.attrib["height"])

    @property
    def names(self) -> list[str]:
        return [path.attrib["data-name"] for path in self._paths()]

    def runs(self, name: str) -> list[list[tuple[float, float]]]:
        """The stretches of a line between its gaps, as shares of the width and values."""
        low, high = (float(self.element.attrib[f"data-{end}"]) for end in ("low", "high"))
        return [
            [(x / self.width_px, high - y / self.height_px * (high - low)) for x, y in run]
            for run in self.runs_px(name)
        ]

    def runs_px(self, name: str) -> list[list[tuple[float, float]]]:
        (path,) = (path for path in self._paths() if path.attrib["data-name"] == name)
        return [
            [(float(x), float(y)) for x, y in (point.split(",") for point in run.split(" "))]
            for run in path.attrib["d"].split("M")[1:]
        ]

    def _paths(self) -> list[ET.Element]:
        return [path for path in self.element.iter("path") if "data-name" in path.attrib]


def plots(report: str, section: str) -> list[Plot]:
    """The plots of a section, in order."""
    return [
        Plot(element)
        for svg in svgs(_section(report, section))
        for element in svg.iter("svg")
        if "plot" in element.attrib.get("class", "")
    ]


def svgs(report: str) -> list[ET.Element]:
    """Each drawing, by an XML parser: what isn't well-formed raises."""
    drawings = []
    depth = start = 0
    for found in re.finditer(r"<(/?)svg\b", report):
        if not depth:
            start = found.start()
        depth += -1 if found[1] else 1
        if not depth:
            drawings.append(report[start : found.end() + 1])
    return [ET.fromstring(drawing) for drawing in drawings]  # noqa: S314 - our own


def _section(report: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', report, re.DOTALL)
    assert found, f"no section {name}"
    return found[0]
