"""A ground station: the pilot of a case, on a link of its own."""

from collections.abc import Callable

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub, Received
from firmware_bridge.messages import Message, dialect
from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import SystemClock

SYSTEM = 255
BEAT_NS = 500_000_000


class Station:
    """Speaks and hears while it is asked something, and no longer."""

    def __init__(self, link: str, system: int, *, own_system: int = SYSTEM) -> None:
        self.hub = Hub(SystemClock().now_ns, system=own_system, component=190)
        self.hub.add(parse_endpoint(link))
        self.vehicle = Vehicle(self.hub, system=system)
        self.hub.every(BEAT_NS, lambda _: self._beat())
        self.vehicle.find()

    def spin(self, seconds: float) -> None:
        self.hub.spin(self.hub.now_ns() + round(seconds * 1e9))

    def until(self, is_so: Callable[[], bool], *, within_s: float, what: str) -> float:
        """Seconds until it was so."""
        began_ns = self.hub.now_ns()
        self.hub.spin_until(is_so, within_ns=round(within_s * 1e9), what=what)
        return (self.hub.now_ns() - began_ns) / 1e9

    def answer_to(self, order: Message, within_s: float = 3.0) -> int:
        """The MAV_RESULT of a command that is sent once."""
        answers: list[int] = []

        def take(heard: Received) -> None:
            if heard.message.command == order.command:
                answers.append(heard.message.result)

        cancel = self.hub.on("COMMAND_ACK", take)
        self.vehicle.send(order)
        self.until(lambda: bool(answers), within_s=within_s, what="an answer to a command")
        cancel()
        return answers[0]

    def close(self) -> None:
        self.hub.close()

    def _beat(self) -> None:
        self.hub.send(
            dialect.MAVLink_heartbeat_message(
                dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
            )
        )
