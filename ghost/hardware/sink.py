"""Where set-points leave for the flight controller."""

from collections.abc import Callable

from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import Clock
from ghost.hal import ActuatorSpec, Command, CommandAck
from ghost.hal.commands import AckStatus, RejectReason
from ghost.hardware.setpoints import LEVELS, encode_command


class SetpointSink:
    """Sends a set-point when it is given one, and at no other time: what computes them is what
    keeps the flight controller in OFFBOARD. One that would wait is refused: it would be old.
    """

    def __init__(
        self,
        clock: Clock,
        vehicle: Vehicle,
        rotor_count: int,
        is_behind: Callable[[int], bool] = lambda _: False,
    ) -> None:
        self._clock = clock
        self._vehicle = vehicle
        self._is_behind = is_behind
        self.spec = ActuatorSpec(LEVELS, rotor_count)

    def send(self, command: Command) -> CommandAck:
        now_ns = self._clock.now_ns()
        named = (now_ns, command.stamp_ns, command.sequence)
        failure = self._failure(command, now_ns)
        if failure:
            return CommandAck(*named, AckStatus.REJECTED, RejectReason.SINK_FAILED, failure, None)
        return CommandAck(*named, AckStatus.ACCEPTED, RejectReason.NONE, "", command)

    def _failure(self, command: Command, now_ns: int) -> str:
        """Send it; empty if it went."""
        vehicle, link = self._vehicle, self._vehicle.link
        if self._is_behind(now_ns):
            return "this program was stopped for a while, and has not heard of the vehicle since"
        if link is None or not link.is_up:
            return "the link to the flight controller is down"
        if not link.has_room(now_ns):
            return "the link to the flight controller has no room: what went before still waits"
        message = encode_command(
            command,
            boot_ms=now_ns // 1_000_000 & 0xFFFFFFFF,
            system=vehicle.system or 0,
            component=vehicle.component,
        )
        unsent = link.counts.unsent
        vehicle.hub.send(message, link)
        if link.counts.unsent != unsent:
            return "the link took nothing: nobody was heard at its other end"
        return ""
