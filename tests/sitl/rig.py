"""A simulated vehicle in a thread of its own, and a client of it over UDP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub, Received
from firmware_bridge.messages import Message, dialect
from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import SystemClock
from ghost.deploy import Swarm, parse_time

SPEED = 5.0
SECOND_NS = 1_000_000_000


class Client:
    """What a companion computer is to a flight controller."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.vehicle = Vehicle(hub)
        self.texts: list[str] = []
        self.newest: dict[str, Message] = {}
        self.counts: dict[str, int] = {}
        hub.on("STATUSTEXT", lambda heard: self.texts.append(str(heard.message.text)))
        for name in ("LOCAL_POSITION_NED", "GLOBAL_POSITION_INT", "SYS_STATUS", "ALTITUDE"):
            hub.on(name, self._keep)

    def until(self, is_done: Any, what: str, within_s: float = 20.0) -> None:
        self.hub.spin_until(is_done, within_ns=round(within_s * 1e9), what=what)

    def spin(self, seconds: float) -> None:
        self.hub.spin(self.hub.now_ns() + round(seconds * 1e9))

    def ack(self, number: int, *parameters: float) -> int:
        """The result of a command, whatever it is."""
        values = [*parameters, *[0.0] * (7 - len(parameters))]
        self.vehicle.send(dialect.MAVLink_command_long_message(1, 1, number, 0, *values))
        heard = self.hub.wait_for(
            "COMMAND_ACK",
            lambda one: one.message.command == number,
            within_ns=2 * SECOND_NS,
            what=f"waiting for the answer to {number}",
        )
        result: int = heard.message.result
        return result

    def make_ready(self) -> None:
        self.vehicle.find()
        healthy = dialect.MAV_SYS_STATUS_PREARM_CHECK

        def is_ready() -> bool:
            status = self.newest.get("SYS_STATUS")
            return bool(status and status.onboard_control_sensors_health & healthy)

        self.until(is_ready, "waiting for the arming checks")

    def take_off(self, height_m: float = 4.0) -> None:
        self.make_ready()
        self.vehicle.arm(armed=True)
        nan = float("nan")
        home = self.vehicle.request("HOME_POSITION")
        up_m = home.altitude / 1e3 + height_m
        takeoff = dialect.MAV_CMD_NAV_TAKEOFF
        assert self.ack(takeoff, nan, nan, nan, nan, nan, nan, up_m) == 0
        self.until(lambda: self.vehicle.mode == "TAKEOFF", "waiting for TAKEOFF")
        self.until(lambda: self.vehicle.mode == "HOLD", "waiting for the end of the take-off")

    def velocity(self, north_mps: float, east_mps: float, down_mps: float) -> None:
        """One set-point."""
        only_velocity_and_yaw_rate = 0b0101_1100_0111
        message = dialect.MAVLink_set_position_target_local_ned_message(
            0,
            1,
            1,
            dialect.MAV_FRAME_LOCAL_NED,
            only_velocity_and_yaw_rate,
            0.0,
            0.0,
            0.0,
            north_mps,
            east_mps,
            down_mps,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        )
        self.vehicle.send(message)

    def _keep(self, received: Received) -> None:
        name = received.message.get_type()
        self.newest[name] = received.message
        self.counts[name] = self.counts.get(name, 0) + 1


@contextmanager
def flying(speed: float = SPEED, signing_key: Path | None = None) -> Iterator[Client]:
    hub = Hub(SystemClock().now_ns, system=245, component=191)
    link = hub.add(parse_endpoint("udpin://127.0.0.1:0"))
    assert link._transport is not None
    port = getattr(link._transport, "port")  # noqa: B009 - not every transport has one
    is_over = threading.Event()
    swarm = Swarm(time_plan=parse_time(f"scaled:{speed}"), signing_key=signing_key)
    swarm.spawn("x500", links=[f"udpout://127.0.0.1:{port}"])
    thread = threading.Thread(target=_fly, args=(swarm, is_over))
    thread.start()
    try:
        yield Client(hub)
    finally:
        is_over.set()
        thread.join(10.0)
        hub.close()
        assert not thread.is_alive()


def _fly(swarm: Swarm, is_over: threading.Event) -> None:
    with swarm:
        swarm.run(is_over.is_set)
