"""Where set-points leave for the flight controller."""

from firmware_bridge.vehicle import Vehicle
from ghost.core.clock import Clock
from ghost.hal import ActuatorSpec, Command, CommandAck
from ghost.hal.commands import AckStatus, RejectReason
from ghost.hardware.setpoints import LEVELS, encode_command


class SetpointSink:
    """Sends a set-point when it is given one, and at no other time: what computes them is what
    keeps the flight controller in OFFBOARD.
    """

    def __init__(self, clock: Clock, vehicle: Vehicle, rotor_count: int) -> None:
        self._clock = clock
        self._vehicle = vehicle
        self.spec = ActuatorSpec(LEVELS, rotor_count)

    def send(self, command: Command) -> CommandAck:
        vehicle, now_ns = self._vehicle, self._clock.now_ns()
        named = (now_ns, command.stamp_ns, command.sequence)
        if vehicle.link is None or not vehicle.link.is_up:
            said = "the link to the flight controller is down"
            return CommandAck(*named, AckStatus.REJECTED, RejectReason.SINK_FAILED, said, None)
        vehicle.send(
            encode_command(
                command,
                boot_ms=now_ns // 1_000_000 & 0xFFFFFFFF,
                system=vehicle.system or 0,
                component=vehicle.component,
            )
        )
        return CommandAck(*named, AckStatus.ACCEPTED, RejectReason.NONE, "", command)
