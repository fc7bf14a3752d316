"""Which PX4 instance's ports are free on this machine."""

import socket

from firmware_bridge.ports import PortKind, taken
from ghost.core.errors import LinkError
from ghost.px4 import Px4Instance

_ALONE = range(9)
"""Those that share no port with another."""


def free_instance(wanted: int | None) -> Px4Instance:
    """The wanted one, or LinkError with the holder of its port; else the first."""
    if wanted is not None:
        instance = Px4Instance(wanted)
        port = _taken_port(instance)
        if port:
            raise taken(port, PortKind.UDP, str(instance))
        return instance
    for number in _ALONE:
        if not _taken_port(Px4Instance(number)):
            return Px4Instance(number)
    raise LinkError(f"PX4 instances 0 to {_ALONE[-1]} all have a port in use; end one of them")


def _taken_port(instance: Px4Instance) -> int:
    for port in (instance.offboard_port, instance.px4_offboard_port, instance.px4_ground_port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 - that is where PX4 binds
            except OSError:
                return port
    return 0
