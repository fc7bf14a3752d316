"""A mission on a perfect vehicle: no physics, no noise, every request granted by default."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.rotations import from_yaw
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import (
    AckStatus,
    Action,
    ActionAck,
    ActuatorSpec,
    BatterySample,
    Command,
    CommandAck,
    CommandLevel,
    EstimateHealth,
    Failsafe,
    FlightMode,
    RejectReason,
    SafetyEnvelope,
    TrajectoryCommand,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.channels import BATTERY, STATUS, VEHICLE
from ghost.mission import Mission, MissionRunner, Patience, load_mission

STEP_NS = 10_000_000
ENVELOPE = SafetyEnvelope(geofence_enu_m=[[-60, -60], [60, -60], [60, 60], [-60, 60]])
MISSIONS = Path(__file__).parents[2] / "ghost" / "scenarios" / "missions"
_MODES = {
    Action.HOLD: FlightMode.HOLD,
    Action.TAKEOFF: FlightMode.TAKEOFF,
    Action.LAND: FlightMode.LAND,
    Action.RETURN: FlightMode.RETURN,
    Action.OFFBOARD: FlightMode.OFFBOARD,
}
_CLIMB_MPS, _RETURN_MPS = 1.5, 5.0


class Vehicle:
    """Goes where it is told, at once. What it refuses is for the tests to say."""

    def __init__(self, clock: SimClock, home_m: tuple[float, float, float]) -> None:
        self.spec = ActuatorSpec((CommandLevel.TRAJECTORY,), rotor_count=4)
        self.mode = FlightMode.HOLD
        self.armed = self.killed = False
        self.failsafe = Failsafe.NONE
        self.verdict = EstimateHealth.GOOD
        self.blocked = ""
        self.position_m = np.array(home_m)
        self.velocity_mps = np.zeros(3)
        self.yaw_rad = 0.0
        self.home_m = np.array(home_m)
        self.refuses: dict[Action, str] = {}
        self.answers_lost = False
        self.refuses_command: Callable[[Command], bool] = lambda _: False
        self.needs_stream_first = False
        self.stuck = False
        self.disarms_itself = True
        self.ground_hidden = False
        self.requested: list[Action] = []
        self.commands: list[TrajectoryCommand] = []
        self._target_m = 0.0
        self._clock = clock

    @property
    def on_ground(self) -> bool:
        return bool(self.position_m[2] <= self.home_m[2] + 1e-9)

    def send(self, command: Command) -> CommandAck:
        assert isinstance(command, TrajectoryCommand)
        self.commands.append(command)
        wrong = self.mode is not FlightMode.OFFBOARD
        refused = wrong or self.refuses_command(command)
        if not refused and not self.stuck:
            self.position_m = command.position_enu_m.copy()
            self.velocity_mps = command.velocity_enu_mps.copy()
            self.yaw_rad = command.yaw_rad
        return CommandAck(
            self._clock.now_ns(),
            command.stamp_ns,
            command.sequence,
            AckStatus.REJECTED if refused else AckStatus.ACCEPTED,
            (RejectReason.WRONG_MODE if wrong else RejectReason.GEOFENCE)
            if refused
            else RejectReason.NONE,
            "no" if refused else "",
            None if refused else command,
        )

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        self.requested.append(action)
        detail = self.refuses.get(action, "")
        if action is Action.OFFBOARD and self.needs_stream_first and len(self.commands) < 30:
            detail = "no set-points yet"
        if not detail:
            self._do(action, altitude_m)
            detail = "no answer" if self.answers_lost else ""
        return ActionAck(self._clock.now_ns(), len(self.requested), action, not detail, detail)

    def _do(self, action: Action, altitude_m: float) -> None:
        if action is Action.ARM:
            self.armed = True
            self.home_m = self.position_m.copy()
        elif action is Action.DISARM:
            self.armed = False
        else:
            self.mode = _MODES[action]
            self._target_m = self.home_m[2] + altitude_m

    def move(self) -> None:
        seconds = STEP_NS * 1e-9
        before = self.position_m
        if not self.armed or self.stuck:
            return
        if self.mode is FlightMode.TAKEOFF:
            self._go([*before[:2], self._target_m], _CLIMB_MPS * seconds)
            if self.position_m[2] == self._target_m:
                self.mode = FlightMode.HOLD
        elif self.mode is FlightMode.RETURN:
            self._go([*self.home_m[:2], before[2]], _RETURN_MPS * seconds)
            if np.array_equal(self.position_m[:2], self.home_m[:2]):
                self.mode = FlightMode.LAND
        elif self.mode is FlightMode.LAND:
            self._go([*before[:2], self.home_m[2]], _CLIMB_MPS * seconds)
            if self.on_ground and self.disarms_itself:
                self.armed = False
                self.mode = FlightMode.HOLD
        elif self.mode is FlightMode.OFFBOARD:
            return
        self.velocity_mps = (self.position_m - before) / seconds

    def _go(self, target_m: list[float], step_m: float) -> None:
        way = np.array(target_m) - self.position_m
        length = float(np.sqrt((way * way).sum()))
        done = length <= step_m
        self.position_m = np.array(target_m) if done else self.position_m + way * (step_m / length)

    def state(self, sequence: int) -> VehicleState:
        zero, square = np.zeros(3), np.zeros((3, 3))
        return VehicleState(
            *(self._clock.now_ns(), sequence, self.position_m, self.velocity_mps),
            *(from_yaw(self.yaw_rad), zero, zero, zero, zero, square, square, square),
            self.verdict,
        )

    def status(self, sequence: int) -> VehicleStatus:
        return VehicleStatus(
            *(self._clock.now_ns(), sequence, self.mode, self.armed, self.killed),
            *(self.on_ground and not self.ground_hidden, self.failsafe, self.blocked, self.home_m),
        )


class Rig:
    def __init__(
        self,
        mission: Mission | str,
        *,
        envelope: SafetyEnvelope = ENVELOPE,
        home_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
        patience: Patience | None = None,
    ) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.vehicle = Vehicle(self.clock, home_m)
        self.events: list[Event] = []
        self.charge = 0.9
        self.silent_status = False
        self.silent_state = False
        self.mission = mission if isinstance(mission, Mission) else load_mission(mission)
        self.bus.attach(self, name="rig")
        self.runner = MissionRunner(
            self.mission,
            self.bus,
            actuators=self.vehicle,
            flight_controller=self.vehicle,
            envelope=envelope,
            patience=patience,
        )
        self._sequence = 0

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        del stamp_ns, sequence
        if channel.name == EVENTS.name:
            self.events.append(message)

    def step(self) -> None:
        self._sequence += 1
        self.clock.advance(STEP_NS)
        self.vehicle.move()
        self.bus.publish(
            BATTERY, BatterySample(self.clock.now_ns(), self._sequence, 16.0, 5.0, self.charge)
        )
        if not self.silent_status:
            self.bus.publish(STATUS, self.vehicle.status(self._sequence))
        if not self.silent_state:
            self.bus.publish(VEHICLE, self.vehicle.state(self._sequence))

    def fly(self, seconds: float = 300.0, until: Callable[[], bool] = lambda: False) -> None:
        """Until the mission is over, or the condition holds, or time is up."""
        for _ in range(round(seconds * 1e9) // STEP_NS):
            self.step()
            if self.runner.outcome.over or until():
                return

    def fly_to_step(self, index: int) -> None:
        self.fly(until=lambda: self.runner.step_index == index)
        assert self.runner.step_index == index
        assert not self.runner.outcome.over

    def tell(self, kind: str) -> None:
        self.bus.publish(EVENTS, Event(self.clock.now_ns(), Severity.INFO, kind, "test"))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]
