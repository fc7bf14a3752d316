"""Set-points from outside: heard always, obeyed in OFFBOARD."""

from collections.abc import Callable

from firmware_bridge.hub import Hub, Received
from ghost.hal import Command, FlightMode
from ghost.sitl.setpoints import Here, attitude_command, position_command
from ghost.sitl.vehicle import SitlVehicle

SLOWEST_NS = 500_000_000
"""The mode is for streams of 2 Hz and more, in the time of whoever sends them."""
COMPLAIN_NS = 5_000_000_000

Tell = Callable[[str], None]
Convert = Callable[[object, Here], Command | str]


class Offboard:
    """A client that falls silent is no business of this: the autopilot notices by itself, because
    nothing here sends a set-point twice.
    """

    def __init__(
        self,
        hub: Hub,
        vehicle: SitlVehicle,
        *,
        is_ours: Callable[[int, int], bool],
        is_flying: Callable[[], bool],
        tell: Tell,
    ) -> None:
        self._hub = hub
        self._vehicle = vehicle
        self._is_ours = is_ours
        self._is_flying = is_flying
        self._tell = tell
        self._heard_ns: int | None = None
        self._newest: Received | None = None
        self._convert: Convert = position_command
        self._complained_ns = -COMPLAIN_NS
        hub.on("SET_POSITION_TARGET_LOCAL_NED", lambda heard: self._take(heard, position_command))
        hub.on("SET_ATTITUDE_TARGET", lambda heard: self._take(heard, attitude_command))

    @property
    def is_heard(self) -> bool:
        """Whether set-points come often enough for the mode."""
        heard_ns = self._heard_ns
        return heard_ns is not None and self._hub.now_ns() - heard_ns <= SLOWEST_NS

    def begin(self) -> None:
        """The mode was entered: what was heard last counts."""
        if self._newest is not None and self.is_heard:
            self._obey(self._newest, self._convert)

    def _take(self, received: Received, convert: Convert) -> None:
        message = received.message
        if not self._is_ours(message.target_system, message.target_component):
            return
        command = self._command(received, convert)
        if isinstance(command, str):
            self._complain(f"Set-point ignored: {command}")
            return
        self._heard_ns = received.at_ns
        self._newest, self._convert = received, convert
        if self._is_flying() and self._vehicle.mode is FlightMode.OFFBOARD:
            self._send(command)

    def _obey(self, received: Received, convert: Convert) -> None:
        command = self._command(received, convert)
        if not isinstance(command, str):
            self._send(command)

    def _send(self, command: Command) -> None:
        ack = self._vehicle.send(command)
        if not ack.accepted:
            self._complain(f"Set-point refused, {ack.reason.name}: {ack.detail}")

    def _command(self, received: Received, convert: Convert) -> Command | str:
        vehicle = self._vehicle
        return convert(received.message, Here(vehicle.yaw_rad, *vehicle.stamp()))

    def _complain(self, text: str) -> None:
        """Not for each of fifty a second."""
        now_ns = self._hub.now_ns()
        if now_ns - self._complained_ns >= COMPLAIN_NS:
            self._complained_ns = now_ns
            self._tell(text)
