"""`ghost deploy run` as a process, and the flight controllers that it is given."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.vehicle import Vehicle
from ghost.core.channels import Channel
from ghost.telemetry import LogReader, read_manifest
from tests.firmware_bridge.link_rig import free_port
from tests.px4 import alone, px4_home, started

QUICK = {
    "PX4_PARAM_MPC_TKO_SPEED": "3",
    "PX4_PARAM_MPC_LAND_SPEED": "1.2",
    "PX4_PARAM_COM_DISARM_LAND": "0.5",
}
PX4_INSTANCE = 3
GROUND_STATION_PORT = 14550
END_S = 60.0
HOVER = """
name: hover
frame: home
steps:
  - takeoff: {altitude_m: 2.0}
  - hold: {seconds: SECONDS}
  - land: {}
"""


@dataclass(frozen=True)
class Controller:
    """link is what Ghost is told; station is where a ground station listens."""

    link: str
    station: str
    system: int
    process: subprocess.Popen[bytes]


StartController = Callable[..., Controller]


@contextmanager
def px4_controllers(folder: Path) -> Iterator[StartController]:
    home = px4_home()
    with alone(), ExitStack() as running:

        def start(instance: int = PX4_INSTANCE) -> Controller:
            place = folder / f"px4-{instance}"
            one = running.enter_context(started(home, instance, place, QUICK))
            station = f"udpin://127.0.0.1:{GROUND_STATION_PORT}"
            return Controller(one.url, station, one.system, one.process)

        yield start


@contextmanager
def ghost_controllers() -> Iterator[StartController]:
    """Ghost's own autopilot, with a MAVLink face."""
    with ExitStack() as running:

        def start(instance: int = PX4_INSTANCE, *options: str) -> Controller:
            ports = free_port(), free_port()
            system = instance + 1
            words = ["sitl", "x500", "--system", str(system), *options]
            words += [word for port in ports for word in ("--link", f"udpout://127.0.0.1:{port}")]
            process = running.enter_context(
                subprocess.Popen([sys.executable, "-m", "ghost.cli", *words])
            )
            running.callback(process.kill)
            link, station = (f"udpin://127.0.0.1:{port}" for port in ports)
            return Controller(link, station, system, process)

        yield start


class Run:
    """A `ghost deploy run` under way, with its words as they come."""

    def __init__(self, desk: Path, link: str, *options: str, seconds: float = 60.0) -> None:
        desk.mkdir(exist_ok=True)
        self.desk = desk
        (desk / "hover.yaml").write_text(HOVER.replace("SECONDS", str(seconds)))
        robot = () if options and not options[0].startswith("--") else ("x500",)
        words = ("deploy", "run", *robot, *options, "--link", link, "--mission", "hover.yaml")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ghost.cli", *words],
            cwd=desk,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    @property
    def said(self) -> str:
        return "".join(self.lines)

    @property
    def folder(self) -> Path:
        (path,) = (self.desk / "runs").glob("*-hil*")
        return path

    def until(self, text: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"it ended without {text!r}:\n{self.said}")

    def stop(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        return self.process.wait(END_S)


@contextmanager
def ground_station(controller: Controller) -> Iterator[Vehicle]:
    hub = Hub(time.monotonic_ns, system=255, component=190)
    hub.add(parse_endpoint(controller.station))
    vehicle = Vehicle(hub, system=controller.system)
    try:
        vehicle.find()
        yield vehicle
    finally:
        hub.close()


def is_whole(folder: Path) -> bool:
    return read_manifest(folder).log.status == "complete" and (folder / "report.html").exists()


def messages(folder: Path, channel: Channel[Any]) -> list[Any]:
    return [record.message for record in LogReader(folder).messages([channel.name])]
