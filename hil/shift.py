"""A link on which the flight controller's clock jumps: what it says of the time is shifted."""

import select
import socket
import threading
import time

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.frame import Frame, Framer
from firmware_bridge.messages import decode, encode

_US, _MS = 1_000, 1_000_000
_LONGEST_BYTES = 65_536
_UINT32 = 0xFFFF_FFFF
_LOOK_S = 0.05


class ShiftedClock:
    """Stands between a flight controller that dials link, which is udpin, and a unit that is told
    unit_url. Until shift_ns is something, what passes is as it was.
    """

    def __init__(self, link: str) -> None:
        self.shift_ns = 0
        self.setpoints_at_ns: list[int] = []
        """When each set-point passed, by the machine's monotonic clock."""
        self._vehicle_side = _bound(parse_endpoint(link).number)
        self._unit_side = _bound(0)
        self.unit_url = f"udpout://127.0.0.1:{self._unit_side.getsockname()[1]}"
        self._vehicle: tuple[str, int] | None = None
        self._unit: tuple[str, int] | None = None
        self._framer = Framer()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(5.0)
        self._vehicle_side.close()
        self._unit_side.close()

    def _run(self) -> None:
        sides = (self._vehicle_side, self._unit_side)
        while not self._is_over.is_set():
            for side in select.select(sides, [], [], _LOOK_S)[0]:
                datagram, sender = side.recvfrom(_LONGEST_BYTES)
                if side is self._vehicle_side:
                    self._vehicle = sender
                    if self._unit is not None:
                        self._unit_side.sendto(self._shifted(datagram), self._unit)
                else:
                    self._unit = sender
                    self._note(datagram)
                    if self._vehicle is not None:
                        self._vehicle_side.sendto(datagram, self._vehicle)

    def _note(self, datagram: bytes) -> None:
        for frame in self._framer.feed_datagram(datagram):
            message = decode(frame)
            if message is not None and message.msgname.startswith("SET_POSITION_TARGET"):
                self.setpoints_at_ns.append(time.monotonic_ns())

    def _shifted(self, datagram: bytes) -> bytes:
        if not self.shift_ns:
            return datagram
        return b"".join(map(self._later, self._framer.feed_datagram(datagram)))

    def _later(self, frame: Frame) -> bytes:
        message = decode(frame)
        if message is None:
            return frame.raw
        if message.msgname == "TIMESYNC" and message.tc1:  # an answer; its questions stay its own
            message.tc1 += self.shift_ns
        elif hasattr(message, "time_boot_ms"):
            message.time_boot_ms = message.time_boot_ms + self.shift_ns // _MS & _UINT32
        elif hasattr(message, "time_usec"):
            message.time_usec += self.shift_ns // _US
        else:
            return frame.raw
        return encode(
            message, system=frame.system, component=frame.component, sequence=frame.sequence
        )


def _bound(port: int) -> socket.socket:
    side = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    side.bind(("127.0.0.1", port))
    return side
