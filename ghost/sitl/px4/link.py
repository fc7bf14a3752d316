"""The simulator's end of the TCP connection over which PX4 gets its sensors."""

import errno
import select
import socket
from collections.abc import Callable

from firmware_bridge.frame import Frame, Framer
from firmware_bridge.ports import PortKind, taken
from ghost.core.clock import SystemClock
from ghost.core.errors import LinkError, StalledError
from ghost.px4.instance import Px4Instance

HOST = "127.0.0.1"
READ_BYTES = 4096
SEND_BUFFER_BYTES = 16_384
"""A PX4 that reads nothing is noticed when this and its own buffer are full."""
_LOOK_NS = 50_000_000
"""How often a connection that is waited for may turn out to be in vain."""


class SimulatorLink:
    """Listens from when it is made; has one PX4 at its other end after accept."""

    def __init__(self, instance: Px4Instance) -> None:
        self.instance = instance
        self.is_up = False
        self._now_ns = SystemClock().now_ns
        self._framer = Framer()
        self._poll = select.poll()
        self._peer = self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((HOST, instance.simulator_port))
            self._listener.listen(1)
        except OSError as error:
            self._listener.close()
            if error.errno != errno.EADDRINUSE:
                raise LinkError(f"{instance}: {error.strerror}") from None
            raise taken(
                instance.simulator_port, PortKind.TCP, f"the simulator of {instance}"
            ) from None

    def accept(self, within_ns: int, refuse_if_vain: Callable[[], None]) -> None:
        """Wait for PX4. refuse_if_vain is asked meanwhile, and raises when it won't come."""
        end_ns = self._now_ns() + within_ns
        waiting = select.poll()
        waiting.register(self._listener, select.POLLIN)
        while not waiting.poll(_LOOK_NS / 1e6):
            refuse_if_vain()
            if self._now_ns() >= end_ns:
                raise StalledError(
                    f"{self.instance} did not connect to TCP port {self.instance.simulator_port} "
                    f"in {self._now_ns() / 1e9:.1f} s"
                )
        self._peer, _ = self._listener.accept()
        self._peer.setblocking(False)
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._poll.register(self._peer, select.POLLIN)
        self.is_up = True

    def send(self, data: bytes, within_ns: int) -> None:
        """All of it. PX4 reads at once; where it doesn't, the system takes a while's worth."""
        while data:
            try:
                data = data[self._peer.send(data) :]
            except BlockingIOError:
                room = select.poll()
                room.register(self._peer, select.POLLOUT)
                if not room.poll(within_ns / 1e6):
                    raise StalledError(
                        f"{self.instance} has read no sensors for {within_ns / 1e9:g} s"
                    ) from None
            except OSError as error:
                raise self._hung_up(error.strerror) from None

    def receive(self, within_ns: int) -> list[Frame]:
        """What came, as soon as something comes; nothing when nothing did."""
        if not self._poll.poll(max(within_ns, 0) / 1e6):
            return []
        try:
            data = self._peer.recv(READ_BYTES)
        except OSError as error:
            raise self._hung_up(error.strerror) from None
        if not data:
            raise self._hung_up("it closed the connection")
        return self._framer.feed(data)

    def close(self) -> None:
        self.is_up = False
        self._peer.close()
        self._listener.close()

    def _hung_up(self, why: str | None) -> LinkError:
        return LinkError(f"{self.instance} hung up: {why}")
