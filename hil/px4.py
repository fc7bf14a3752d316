"""A real PX4, flying Ghost's physics."""

from pathlib import Path

from firmware_bridge.ports import PortKind, holder_of
from ghost.core.errors import ConfigError, LinkError
from ghost.px4 import Px4Instance, find_px4
from hil.embedded import SimulatedVehicle
from hil.need import Need
from hil.survey import Survey
from hil.target import Links, Setting, surveyed

READY_S = 90.0
_INSTANCES = range(9)
"""Those that share no port with another."""


class Px4Target:
    """In lockstep with Ghost's physics and by the wall clock, so that faults and wind are the same
    as the embedded target's.
    """

    name = "px4"
    offers = frozenset(Need) - {Need.SIGNING, Need.GEOFENCE}
    most_jobs = 1
    slowness = 2.0
    command_timeout_s = 1.0

    def __init__(self) -> None:
        self.missing = ""
        try:
            find_px4()
        except ConfigError as error:
            self.missing = str(error)

    def survey(self, folder: Path) -> Survey:
        return surveyed(self, folder)

    def put_back(self, folder: Path) -> list[str]:
        """Every vehicle is a new one."""
        del folder
        return []

    def start(self, folder: Path, setting: Setting) -> SimulatedVehicle:
        instance = free_instance(setting.system)
        words = ("--firmware", "px4", "--out", str(folder / f"px4-{instance.system}"))
        return SimulatedVehicle(
            folder, setting, links(instance), words, system=instance.system, ready_s=READY_S
        )


def links(instance: Px4Instance) -> Links:
    """The station dials: at 14550 it would hear every PX4 on this machine. The referee has the
    link for payloads.
    """
    return Links(
        f"udpin://127.0.0.1:{instance.offboard_port}",
        f"udpout://127.0.0.1:{instance.px4_ground_port}",
        f"udpin://127.0.0.1:{instance.payload_port}",
    )


def free_instance(system: int = 1) -> Px4Instance:
    """That of the system where its ports are free, else the next one."""
    first = system - 1
    for number in (*range(first, _INSTANCES.stop), *range(first)):
        instance = Px4Instance(number)
        if not any(holder_of(port, PortKind.UDP) for port in _udp_ports(instance)) and not (
            holder_of(instance.simulator_port, PortKind.TCP)
        ):
            return instance
    raise LinkError(f"PX4 instances 0 to {_INSTANCES[-1]} all have a port in use; end one of them")


def _udp_ports(instance: Px4Instance) -> tuple[int, ...]:
    return (
        instance.offboard_port,
        instance.px4_offboard_port,
        instance.px4_ground_port,
        instance.payload_port,
        instance.gimbal_port,
    )
