"""PX4s for the vehicles of a simulation, each in a folder and a process of its own."""

from collections.abc import Mapping
from pathlib import Path

from firmware_bridge.ports import PortKind, holder_of, taken
from ghost.core.errors import ConfigError
from ghost.px4.installation import Installation, find_px4
from ghost.px4.instance import Px4Instance
from ghost.px4.process import Px4Process
from ghost.sitl.firmware import MakeFirmware, Seat
from ghost.sitl.px4.airframe import px4_parameters
from ghost.sitl.px4.ear import Ear
from ghost.sitl.px4.firmware import ANSWER_NS, BOOT_NS, Px4Firmware
from ghost.sitl.px4.link import SimulatorLink

MODEL = "none_iris"
"""PX4's quadrotor without a simulator of its own; its figures are overridden by the robot's."""
NO_PARAMETERS: Mapping[str, str] = {}


def launch(
    folder: Path,
    *,
    speed: float = 1.0,
    parameters: Mapping[str, str] = NO_PARAMETERS,
    installation: Installation | None = None,
    answer_ns: int = ANSWER_NS,
    boot_ns: int = BOOT_NS,
) -> MakeFirmware:
    """Vehicle V is flown by PX4 instance V - 1, which is MAVLink system V, in folder/px4-<V - 1>.

    PX4 is started at once and boots in simulated time, so that all of them boot side by side. speed
    is how much faster than the wall clock's time is going to pass: PX4's time-outs for links are
    made that much longer, as its clients don't hurry. parameters are PX4's, and win over ours.
    """
    if not 0.0 < speed < float("inf"):
        raise ConfigError(f"speed is {speed}; expected above 0")
    place = find_px4() if installation is None else installation

    def make(seat: Seat) -> Px4Firmware:
        instance = Px4Instance(seat.vehicle_id - 1)
        _refuse_taken(instance)
        environment = _environment(seat, speed, parameters)
        link = SimulatorLink(instance)
        ear = process = None
        try:
            ear = Ear(instance)
            process = Px4Process(place, instance, folder / f"px4-{instance.number}", environment)
            return Px4Firmware(seat, link, process, ear=ear, answer_ns=answer_ns, boot_ns=boot_ns)
        except BaseException:
            link.close()
            if ear is not None:
                ear.close()
            if process is not None:
                process.close()
            raise

    return make


def _refuse_taken(instance: Px4Instance) -> None:
    """Beforehand, because PX4 itself only prints that it can't be heard."""
    for port in (instance.px4_offboard_port, instance.px4_ground_port):
        if holder_of(port, PortKind.UDP):
            raise taken(port, PortKind.UDP, str(instance))


def _environment(seat: Seat, speed: float, parameters: Mapping[str, str]) -> dict[str, str]:
    origin = seat.scenario.origin
    wanted = {**px4_parameters(seat.setup, origin), **parameters}
    return {
        "PX4_SIM_MODEL": MODEL,
        "PX4_SIM_SPEED_FACTOR": f"{speed:g}",
        "PX4_HOME_LAT": f"{origin.latitude_deg:.9f}",
        "PX4_HOME_LON": f"{origin.longitude_deg:.9f}",
        "PX4_HOME_ALT": f"{origin.altitude_m:.3f}",
        **{f"PX4_PARAM_{name}": value for name, value in wanted.items()},
    }
