"""A swarm of perfect vehicles: each goes where it is told, at once."""

import math
from collections.abc import Callable
from itertools import combinations

from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event
from ghost.hal import SafetyEnvelope
from ghost.hal.channels import STATUS, VEHICLE
from ghost.mission import Patience
from ghost.mission.swarm import Member, SeparationMonitor, SwarmRunner, load_swarm_mission
from ghost.planning import Vector
from tests.mission.rig import STEP_NS, Vehicle

CYCLE_NS = 2 * STEP_NS
WIDE = SafetyEnvelope()


def row(count: int, spacing_m: float = 6.0) -> dict[int, Vector]:
    return {number: (spacing_m * (number - 1), 0.0, 0.0) for number in range(1, count + 1)}


class SwarmRig:
    def __init__(
        self,
        mission: str,
        homes_enu_m: dict[int, Vector],
        *,
        envelope: SafetyEnvelope = WIDE,
        patience: Patience | None = None,
    ) -> None:
        self.clock = SimClock()
        self.bus = Bus(self.clock)
        self.events: list[Event] = []
        self.bus.subscribe(EVENTS, self.events.append, name="rig")
        self.vehicles = {number: Vehicle(self.clock, home) for number, home in homes_enu_m.items()}
        self.buses = {number: Bus(self.clock) for number in homes_enu_m}
        self.silent: list[int] = []
        self.nearest_m = math.inf
        self.mission = load_swarm_mission(mission)
        self.monitor = SeparationMonitor(self.bus, self.mission.defaults.separation_m)
        self.runner = SwarmRunner(
            self.mission,
            [
                Member(number, self.buses[number], vehicle, vehicle, envelope)
                for number, vehicle in self.vehicles.items()
            ],
            self.bus,
            patience=patience,
        )
        self._sequence = 0

    def places(self) -> dict[int, Vector]:
        return {
            number: (float(east), float(north), float(up))
            for number, (east, north, up) in (
                (number, vehicle.position_m) for number, vehicle in self.vehicles.items()
            )
        }

    def step(self) -> None:
        for _ in range(CYCLE_NS // STEP_NS):
            self.clock.advance(STEP_NS)
            for vehicle in self.vehicles.values():
                vehicle.move()
        self._sequence += 1
        for number, vehicle in self.vehicles.items():
            if number not in self.silent:
                self.buses[number].publish(STATUS, vehicle.status(self._sequence))
                self.buses[number].publish(VEHICLE, vehicle.state(self._sequence))
        self.runner.cycle(self.clock.now_ns())
        places = self.places()
        flying = {
            number: place for number, place in places.items() if not self.vehicles[number].on_ground
        }
        self.monitor.see(self.clock.now_ns(), flying)
        for first, second in combinations(flying.values(), 2):
            self.nearest_m = min(self.nearest_m, math.dist(first[:2], second[:2]))

    def fly(self, seconds: float = 400.0, until: Callable[[], bool] = lambda: False) -> None:
        """Until the mission is over, or the condition holds, or time is up."""
        for _ in range(round(seconds * 1e9) // CYCLE_NS):
            self.step()
            if self.runner.outcome.over or until():
                return

    def fly_to_step(self, index: int, and_seconds: float = 0.0) -> None:
        self.fly(until=lambda: self.runner.step_index == index)
        assert self.runner.step_index == index
        if and_seconds:
            self.fly(and_seconds)
        assert not self.runner.outcome.over

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def told(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]
