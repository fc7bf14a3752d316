"""A robot's embedded autopilot as a MAVLink vehicle: what `ghost sitl` runs."""

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.signing import link_signer
from ghost.core.clock import SystemClock
from ghost.core.errors import ConfigError, LinkError
from ghost.deploy.hal import MissingHalError, build_hal
from ghost.deploy.robot import RobotDescription
from ghost.simulation.backend import AdapterBackend
from ghost.sitl.face import COMPONENT, Face
from ghost.sitl.realtime import RealTime
from ghost.sitl.vehicle import SitlVehicle

OFFBOARD_PORT, GROUND_STATION_PORT = 14540, 14550
MOST_SYSTEMS = 255


def default_links(system: int) -> tuple[str, ...]:
    """PX4's: offboard at 14540 and up, one a vehicle, and the ground station's for all."""
    offboard = OFFBOARD_PORT + min(system - 1, 9)
    return f"udpout://127.0.0.1:{offboard}", f"udpout://127.0.0.1:{GROUND_STATION_PORT}"


@dataclass(frozen=True, slots=True)
class SitlOrder:
    robot: RobotDescription
    links: Sequence[str] = ()
    simulator: str | None = None
    speed: float = 1.0
    system: int = 1
    seed: int = 0
    signing_key: Path | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.speed < float("inf"):
            raise ConfigError(f"speed is {self.speed}; expected above 0")
        if not 1 <= self.system <= MOST_SYSTEMS:
            raise ConfigError(f"system is {self.system}; expected 1 to {MOST_SYSTEMS}")


class Sitl:
    """Made, its links are open and the vehicle stands on the ground; run() lets time pass."""

    def __init__(
        self, order: SitlOrder, on_news: Callable[[Link, bool, str], None] = lambda *_: None
    ) -> None:
        robot = _hurried(order.robot, order.speed)
        endpoints = [parse_endpoint(link) for link in order.links or default_links(order.system)]
        backend = build_hal(robot, mode="sim", simulator=order.simulator)
        if not isinstance(backend, AdapterBackend) or robot.airframe is None:
            raise MissingHalError(
                f"robot {robot.name} has a simulation HAL of its own, with an autopilot of its "
                "own; only the embedded one has a MAVLink face"
            )
        self.vehicle = SitlVehicle(
            backend, robot.airframe, robot.envelope, robot.autopilot, seed=order.seed
        )
        self.hub = Hub(
            SystemClock().now_ns, system=order.system, component=COMPONENT, on_news=on_news
        )
        self._is_over = threading.Event()
        try:
            for number, endpoint in enumerate(endpoints):
                key = order.signing_key
                signer = link_signer(key, number) if key is not None else None
                _refuse_closed(self.hub.add(endpoint, signer=signer))
            self.face = Face(self.hub, self.vehicle, order.speed)
        except BaseException:
            self.close()
            raise
        self._time = RealTime(self.hub, self.vehicle, self.face, order.speed)

    def run(self) -> None:
        try:
            self._time.run(self._is_over.is_set)
        finally:
            self.close()

    def stop(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """From a signal handler, or another thread."""
        del signum, frame
        self._is_over.set()

    def close(self) -> None:
        self.hub.close()
        self.vehicle.close()

    @property
    def lost_ns(self) -> int:
        """How much wall time the simulation could not keep up with."""
        return self._time.lost_ns


def stop_on_signals(sitl: Sitl) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, sitl.stop)


def _refuse_closed(link: Link) -> None:
    """What can't even be begun, such as a port that is taken; a peer may come later."""
    if not link.numbers:
        raise LinkError(f"link {link.endpoint} can't be opened: {link.problem}")


def _hurried(robot: RobotDescription, speed: float) -> RobotDescription:
    """Clients don't hurry when the simulation does: as in PX4's, they are given the longer."""
    if speed <= 1.0:
        return robot
    envelope = robot.envelope
    return replace(
        robot,
        envelope=replace(envelope, command_timeout_ns=round(envelope.command_timeout_ns * speed)),
    )
