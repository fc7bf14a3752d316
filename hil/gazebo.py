"""PX4 with Gazebo under it, as PX4 brings it up itself.

`python -m hil.gazebo PHYSICS INSTANCE FOLDER` is such a vehicle; it ends when its input does.
"""

import argparse
import json
import sys
from pathlib import Path

from ghost.core.errors import ConfigError, GhostError
from ghost.core.frames import LocalFrame
from ghost.deploy import load_robot, load_scenario
from ghost.deploy.hal import vehicle_setup
from ghost.deploy.layout import start_at
from ghost.px4 import Px4Instance, Px4Process
from ghost.simulation.gazebo_px4.model import model_environment, model_for
from ghost.simulation.gazebo_px4.settings import Physics, Settings
from ghost.simulation.gazebo_px4.stage import find_stage
from hil.case import Skipped
from hil.need import Need
from hil.process import Servant, end, wait_until
from hil.px4 import free_instance, links
from hil.survey import Survey
from hil.target import Setting, Vehicle, surveyed

BOOT_S = 120.0
"""Gazebo may take most of it on a slow machine."""


class GazeboTarget:
    """Its world has its own noise, and none of Ghost's faults and wind."""

    name = "gazebo"
    offers = frozenset({Need.FLIGHT, Need.REBOOT, Need.PROXY})
    most_jobs = 1
    slowness = 2.0
    command_timeout_s = 1.0

    def __init__(self, physics: Physics = Physics.GAZEBO) -> None:
        self.missing = ""
        self._physics = physics
        try:
            find_stage(Settings(physics=physics))
        except ConfigError as error:
            self.missing = str(error)

    def survey(self, folder: Path) -> Survey:
        return surveyed(self, folder)

    def put_back(self, folder: Path) -> list[str]:
        """Every vehicle is a new one."""
        del folder
        return []

    def start(self, folder: Path, setting: Setting) -> Vehicle:
        if setting.signing_key is not None or setting.scenario != "calm":
            raise Skipped(f"target {self.name} has its own world: no {setting.scenario}, no key")
        return GazeboVehicle(folder, self._physics, setting)


class GazeboVehicle:
    def __init__(self, folder: Path, physics: Physics, setting: Setting) -> None:
        instance = free_instance(setting.system)
        self.system = instance.system
        self.links = links(instance)
        self._folder = folder
        self._words = [sys.executable, "-m", "hil.gazebo", setting.robot, physics]
        self._words += [str(instance.number), str(folder.absolute())]
        self._starts = 0
        self._servant = self._begin()

    def truth(self) -> dict[str, object]:
        raise Skipped("the rig doesn't ask Gazebo for the truth")

    def fault(self, target: str, kind: str, *values: float) -> None:
        raise Skipped(f"Gazebo has no {kind} of {target}{values or ''}")

    def wind(self, mean_enu_mps: object, gust_mps: float = 0.0) -> None:
        raise Skipped(f"the rig orders no wind of {mean_enu_mps}, {gust_mps} of Gazebo")

    def reboot(self) -> None:
        """PX4 and its world begin anew."""
        self.close()
        self._servant = self._begin()

    def close(self) -> None:
        self._servant.close()
        end(self._servant.process)

    def _begin(self) -> Servant:
        self._starts += 1
        path = self._folder / f"vehicle-{self.system}-{self._starts}.txt"
        return Servant(self._words, path, ready_s=BOOT_S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hil.gazebo", description=__doc__)
    parser.add_argument("robot")
    parser.add_argument("physics", type=Physics)
    parser.add_argument("instance", type=int)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    robot, scenario = load_robot(options.robot), load_scenario("calm")
    setup = vehicle_setup(robot, start_at(((0.0, 0.0, 0.0), 0.0), 1.0))
    stage = find_stage(Settings(physics=options.physics))
    model = model_for(setup.airframe, None, stage.physics)
    instance = Px4Instance(options.instance)
    environment = {
        **model_environment(stage, model, None, setup, LocalFrame(scenario.spec.origin)),
        "GZ_PARTITION": f"ghost-hil-{instance.number}",
        "GZ_IP": "127.0.0.1",
    }
    folder = options.folder / f"px4-{instance.number}"
    process = Px4Process(stage.installation, instance, folder, environment)
    try:
        wait_until(
            lambda: _has_booted(process), within_s=BOOT_S, what=f"{instance}: its startup script"
        )
        print(json.dumps({"ready": True}), flush=True)
        sys.stdin.read()
    except GhostError as error:
        print(json.dumps({"failed": f"{error}; {process.state()}"}), flush=True)
        return 1
    finally:
        process.close()
    return 0


def _has_booted(process: Px4Process) -> bool:
    process.refuse_if_ended()
    return process.has_booted


if __name__ == "__main__":
    sys.exit(main())
