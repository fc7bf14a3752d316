"""What a mission says: commands, requests and events, each on the bus with its answer."""

import numpy as np

from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import (
    Action,
    ActionAck,
    ActionRequest,
    ActuatorSink,
    CommandAck,
    FlightController,
    TrajectoryCommand,
)
from ghost.hal.channels import CMD_ACK, CMD_ACTION, CMD_ACTION_ACK, CMD_TRAJECTORY
from ghost.planning import TrajectoryPoint

SOURCE = "mission"


class Link:
    """Stamps come from the messages that the mission answers to, never from a clock: so the same
    messages give the same commands, in a replay too.
    """

    def __init__(self, bus: Bus, actuators: ActuatorSink, controller: FlightController) -> None:
        self.correlation_id = ""
        self.refused_in_a_row = 0
        self._bus = bus
        self._actuators = actuators
        self._controller = controller
        self._commands = 0
        self._requests = 0

    def stream(self, now_ns: int, point: TrajectoryPoint) -> CommandAck:
        command = TrajectoryCommand(
            stamp_ns=now_ns,
            sequence=self._commands,
            position_enu_m=np.array(point.position_enu_m),
            velocity_enu_mps=np.array(point.velocity_enu_mps),
            acceleration_enu_mps2=np.array(point.acceleration_enu_mps2),
            yaw_rad=point.yaw_rad,
            yaw_rate_rps=point.yaw_rate_rps,
        )
        self._commands += 1
        self._bus.publish(CMD_TRAJECTORY, command)
        ack = self._actuators.send(command)
        self._bus.publish(CMD_ACK, ack)
        self.refused_in_a_row = 0 if ack.accepted else self.refused_in_a_row + 1
        return ack

    def request(self, now_ns: int, action: Action, altitude_m: float = 0.0) -> ActionAck:
        self._bus.publish(CMD_ACTION, ActionRequest(now_ns, self._requests, action, altitude_m))
        self._requests += 1
        ack = self._controller.request(action, altitude_m=altitude_m)
        self._bus.publish(CMD_ACTION_ACK, ack)
        return ack

    def tell(
        self,
        now_ns: int,
        kind: EventKind,
        text: str,
        severity: Severity = Severity.INFO,
        **payload: object,
    ) -> None:
        self._bus.publish(
            EVENTS, Event(now_ns, severity, kind, SOURCE, text, payload, self.correlation_id)
        )


class Asking:
    """One request, asked again until it is granted or patience is over."""

    def __init__(self, link: Link, action: Action, altitude_m: float = 0.0) -> None:
        self.action = action
        self.granted = False
        self.detail = ""
        self._link = link
        self._altitude_m = altitude_m
        self._first_ns: int | None = None
        self._last_ns = 0

    def ask(self, now_ns: int, retry_ns: int) -> bool:
        """Whether it was granted, now or before."""
        if not self.granted and (self._first_ns is None or now_ns - self._last_ns >= retry_ns):
            if self._first_ns is None:
                self._first_ns = now_ns
            self._last_ns = now_ns
            ack = self._link.request(now_ns, self.action, self._altitude_m)
            self.granted, self.detail = ack.accepted, ack.detail
        return self.granted

    def waited_ns(self, now_ns: int) -> int:
        return 0 if self._first_ns is None else now_ns - self._first_ns
