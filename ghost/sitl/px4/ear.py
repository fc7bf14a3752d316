"""PX4's heartbeat, on the link that is a gimbal's: the simulator's has none."""

import errno
import socket
from typing import Any

from firmware_bridge.frame import Frame, Framer
from firmware_bridge.messages import decode, dialect
from firmware_bridge.modes import ARMED_FLAG
from firmware_bridge.ports import PortKind, taken
from ghost.core.errors import LinkError
from ghost.px4.instance import Px4Instance
from ghost.sitl.px4.link import HOST

_READ_BYTES = 4096
_AUTOPILOT = 1


class Ear:
    """Listens from when it is made; nothing is waited for."""

    def __init__(self, instance: Px4Instance) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._instance = instance
        self._framer = Framer()
        self._may_be_still = False
        try:
            self._socket.bind((HOST, instance.gimbal_port))
        except OSError as error:
            self._socket.close()
            if error.errno != errno.EADDRINUSE:
                raise LinkError(f"{instance}: {error.strerror}") from None
            raise taken(instance.gimbal_port, PortKind.UDP, f"hearing {instance}") from None

    def may_be_still(self) -> bool:
        """Whether by its newest heartbeat PX4 has terminated its flight, or isn't armed."""
        while True:
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError:
                return self._may_be_still
            for frame in self._framer.feed(data):
                self._hear(frame)

    def close(self) -> None:
        self._socket.close()

    def _hear(self, frame: Frame) -> None:
        if (frame.system, frame.component) != (self._instance.system, _AUTOPILOT):
            return
        beat: Any = decode(frame)
        if frame.message_id == dialect.MAVLINK_MSG_ID_HEARTBEAT and beat is not None:
            self._may_be_still = (
                beat.system_status == dialect.MAV_STATE_FLIGHT_TERMINATION
                or not beat.base_mode & ARMED_FLAG
            )
