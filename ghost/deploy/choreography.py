"""A swarm's own mission, and the eye that watches how near its vehicles come to each other."""

from typing import TYPE_CHECKING

from ghost.core.errors import ConfigError
from ghost.mission import Result
from ghost.mission.swarm import Member, SeparationMonitor, SwarmMission, SwarmRunner

if TYPE_CHECKING:
    from ghost.deploy.swarm import Swarm


class Choreography:
    """From take-off to landing. The monitor watches the truth, the runner knows none of it."""

    def __init__(self, swarm: "Swarm", mission: SwarmMission) -> None:
        for drone in swarm.drones.values():
            if drone.runner is not None:
                raise ConfigError(
                    f"{drone.name} flies {drone.runner.mission.name}; leave out its own mission, "
                    "or the swarm's"
                )
        self._swarm = swarm
        members = [
            Member(
                drone.vehicle_id,
                drone.bus,
                drone.embedded.gate,
                drone.embedded,
                drone.spawn.robot.envelope,
            )
            for drone in swarm.drones.values()
        ]
        places = {
            drone.vehicle_id: drone.spawn.start.position_enu_m or (0.0, 0.0, 0.0)
            for drone in swarm.drones.values()
        }
        mission.check(places, {member.vehicle_id: member.envelope for member in members})
        self.monitor = SeparationMonitor(swarm.bus, mission.defaults.separation_m)
        self.runner = SwarmRunner(mission, members, swarm.bus)

    @property
    def completed(self) -> bool:
        return self.runner.outcome.result is Result.COMPLETED

    def cycle(self, now_ns: int) -> None:
        self.runner.cycle(now_ns)
        flying = {}
        for drone in self._swarm.alive:
            status = drone.status
            if status is not None and not status.on_ground:
                east_m, north_m, up_m = drone.truth.position_enu_m.tolist()
                flying[drone.vehicle_id] = (east_m, north_m, up_m)
        self.monitor.see(now_ns, flying)

    def verdict(self) -> str:
        """Of a mission that did not complete; nothing of one that did."""
        outcome = self.runner.outcome
        if self.completed:
            return ""
        return f"swarm: {outcome.result.name.lower()}: {outcome.reason}"

    def summary(self) -> str:
        closest = self.monitor.closest
        if closest is None:
            return ""
        first, second = closest.pair
        return (
            f"closest approach: {closest.distance_m:.2f} m, vehicles {first} and {second}, "
            f"{closest.at_ns / 1e9:.1f} s; encounters below {self.monitor.limit_m:g} m: "
            f"{self.monitor.encounters}"
        )

    def close(self) -> None:
        self.monitor.close(self._swarm.now_ns)
        self.runner.close()
