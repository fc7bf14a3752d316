"""One vehicle of a swarm, for whoever commands it or asks how it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ghost.core.errors import ConfigError, GhostError, RefusedError
from ghost.deploy.robot import RobotDescription
from ghost.deploy.statistics import FlightStatistics
from ghost.deploy.surroundings import introduce, watch_contacts
from ghost.events import Bus
from ghost.hal import (
    Action,
    ActionAck,
    Command,
    CommandAck,
    GroundTruth,
    Pose,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import GROUNDTRUTH_POSE, GROUNDTRUTH_STATE
from ghost.mission import Mission, MissionRunner
from ghost.perception import ObstacleFinder
from ghost.simulation.adapter import Start
from ghost.simulation.embedded import EmbeddedVehicle, Provider
from ghost.simulation.scenery import Scenery
from ghost.sitl.bridge import SitlBridge

if TYPE_CHECKING:
    from ghost.sitl.voice import Voice


@dataclass(frozen=True, slots=True)
class Spawn:
    """What a vehicle is to be."""

    vehicle_id: int
    robot: RobotDescription
    simulator: str
    start: Start
    firmware: str
    mission: Mission | None
    links: Sequence[str]


class Drone:
    """Commands are of the embedded autopilot; a PX4 is commanded over its MAVLink."""

    def __init__(self, spawn: Spawn, bridge: SitlBridge) -> None:
        self.spawn = spawn
        self.voice: Voice | None = None
        self.runner: MissionRunner | None = None
        self._bridge = bridge
        self._bus: Bus | None = None
        self._statistics: FlightStatistics | None = None

    @property
    def vehicle_id(self) -> int:
        return self.spawn.vehicle_id

    @property
    def name(self) -> str:
        return f"vehicle {self.vehicle_id}"

    @property
    def bus(self) -> Bus:
        if self._bus is None:
            raise GhostError(f"{self.name} doesn't fly yet; start the swarm first")
        return self._bus

    @property
    def statistics(self) -> FlightStatistics:
        if self._statistics is None:
            raise GhostError(f"{self.name} doesn't fly yet; start the swarm first")
        return self._statistics

    @property
    def embedded(self) -> EmbeddedVehicle:
        firmware = self._bridge.firmware(self.vehicle_id)
        if not isinstance(firmware, EmbeddedVehicle):
            raise ConfigError(
                f"{self.name} is flown by {self.spawn.firmware}; command it over MAVLink"
            )
        return firmware

    @property
    def state(self) -> VehicleState | None:
        """What it believes; None before it believes anything, and of a PX4."""
        return self.statistics.state

    @property
    def status(self) -> VehicleStatus | None:
        return self.statistics.status

    @property
    def truth(self) -> GroundTruth:
        return self._bridge.ground_truth(self.vehicle_id)

    @property
    def position_enu_m(self) -> tuple[float, float, float]:
        """Where it believes to be; the truth where that is not known."""
        state = self.state
        here_m = self.truth.position_enu_m if state is None else state.position_enu_m
        east_m, north_m, up_m = here_m.tolist()
        return east_m, north_m, up_m

    @property
    def is_armed(self) -> bool:
        return self.status is not None and self.status.armed

    @property
    def lost(self) -> str:
        """Why it is no more; empty while it is."""
        return self._bridge.why_lost(self.vehicle_id)

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        return self.embedded.request(action, altitude_m=altitude_m)

    def send(self, command: Command) -> CommandAck:
        return self.embedded.gate.send(command)

    def take_off(self, altitude_m: float) -> None:
        """Arm and climb; raises RefusedError where the autopilot says no."""
        self._ask(Action.ARM)
        self._ask(Action.TAKEOFF, altitude_m)

    def land(self) -> None:
        self._ask(Action.LAND)

    def hold(self) -> None:
        self._ask(Action.HOLD)

    def go_home(self) -> None:
        self._ask(Action.RETURN)

    def fly(self, mission: Mission) -> MissionRunner:
        """Begin a mission; the swarm's steps fly it."""
        if self.runner is not None and not self.runner.outcome.over:
            raise ConfigError(f"{self.name} flies {self.runner.mission.name}; let it end first")
        here = self.spawn.start.position_enu_m or (0.0, 0.0, 0.0)
        envelope = self.spawn.robot.envelope
        mission.check(envelope, here)
        self.runner = MissionRunner(
            mission,
            self.bus,
            actuators=self.embedded.gate,
            flight_controller=self.embedded,
            envelope=envelope,
        )
        return self.runner

    def wake(self) -> None:
        """Its bridge has started: everything it senses goes over a bus of its own."""
        bus = self._bus = Bus(self._bridge.clock)
        self._statistics = FlightStatistics(bus)
        for provider in self._providers():
            provider.subscribe(partial(bus.publish, provider.spec.channel))
        watch_contacts(bus)
        ObstacleFinder(bus, [provider.spec for provider in self._providers()])

    def introduce(self, scenery: Scenery) -> None:
        """Say what the log should begin with."""
        introduce(self.bus, [provider.spec for provider in self._providers()], scenery)

    def publish_truth(self) -> Pose:
        truth = self.truth
        pose = Pose(truth.stamp_ns, truth.position_enu_m, truth.attitude)
        self.bus.publish(GROUNDTRUTH_STATE, truth)
        self.bus.publish(GROUNDTRUTH_POSE, pose)
        return pose

    def _providers(self) -> list[Provider]:
        firmware = self._bridge.firmware(self.vehicle_id)
        return list(firmware.providers.values()) if isinstance(firmware, EmbeddedVehicle) else []

    def _ask(self, action: Action, altitude_m: float = 0.0) -> None:
        ack = self.request(action, altitude_m=altitude_m)
        if not ack.accepted:
            raise RefusedError(f"{self.name} refuses {action.name}: {ack.detail}")
