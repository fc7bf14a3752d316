"""What a swarm leaves: a run folder of its own, with a run folder for each vehicle in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghost.deploy.drone import Drone
from ghost.hal import Pose
from ghost.hal.channels import GROUNDTRUTH_POSE
from ghost.telemetry import Manifest, RunRecorder, describe_run

if TYPE_CHECKING:
    from ghost.deploy.swarm import Swarm


class SwarmLog:
    """OUT/log.mcap has everybody's events and poses; OUT/vehicle-003/log.mcap has all of one."""

    def __init__(self, swarm: "Swarm", out: Path, reproduce: str) -> None:
        self._bus = swarm.bus
        self._recorders: list[RunRecorder] = []
        self._channels = {
            number: GROUNDTRUTH_POSE.under(f"/vehicle/{number}") for number in swarm.drones
        }
        try:
            whole = _manifest(swarm, reproduce)
            self._recorders.append(RunRecorder(out, swarm.bus, whole))
            for number, drone in swarm.drones.items():
                folder = out / f"vehicle-{number:03}"
                manifest = _manifest(swarm, reproduce, drone)
                self._recorders.append(RunRecorder(folder, drone.bus, manifest))
        except BaseException:
            self.close()
            raise

    def place(self, vehicle_id: int, pose: Pose) -> None:
        """Where a vehicle is, in a frame of its own for whoever looks at all of them."""
        self._bus.publish(
            self._channels[vehicle_id],
            Pose(
                pose.stamp_ns,
                pose.position_m,
                pose.attitude,
                child_frame_id=f"vehicle/{vehicle_id}",
            ),
        )

    def close(self) -> None:
        """All of them, though one may fail."""
        problems: list[Exception] = []
        for recorder in self._recorders:
            try:
                recorder.close()
            except Exception as error:  # noqa: BLE001 - raised below, when all are closed
                problems.append(error)
        self._recorders = []
        if problems:
            raise problems[0]


def _manifest(swarm: "Swarm", reproduce: str, only: Drone | None = None) -> Manifest:
    scenario = swarm.scenario
    drones = list(swarm.drones.values()) if only is None else [only]
    names = sorted({drone.spawn.robot.name for drone in drones})
    return describe_run(
        robot=" ".join(names),
        scenario=scenario.spec.name,
        seed=scenario.spec.seed,
        deterministic=swarm.bridge.deterministic
        and all(drone.spawn.firmware == "embedded" for drone in drones),
        reproduce=reproduce,
        config={
            "robot": only.spawn.robot.plain if only else {},
            "scenario": scenario.plain,
            "mission": _mission(only) if only else _formation(swarm),
            "simulator": only.spawn.simulator if only else "",
            "vehicles": [_vehicle(drone) for drone in drones],
        },
    )


def _vehicle(drone: Drone) -> dict[str, Any]:
    spawn = drone.spawn
    return {
        "id": spawn.vehicle_id,
        "robot": spawn.robot.name,
        "simulator": spawn.simulator,
        "firmware": spawn.firmware,
        "position_enu_m": list(spawn.start.position_enu_m or ()),
        "attitude": list(spawn.start.attitude),
        "links": list(spawn.links),
    }


def _formation(swarm: "Swarm") -> dict[str, Any]:
    mission = swarm.formation
    return {} if mission is None else dict(mission.plain)


def _mission(drone: Drone) -> dict[str, Any]:
    mission = drone.spawn.mission
    return {} if mission is None else dict(mission.plain) or {"name": mission.name}
