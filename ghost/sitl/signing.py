"""The signing key, as a client sets it up: for all links, while disarmed, until the end."""

from collections.abc import Callable

from firmware_bridge.hub import Hub, Received
from firmware_bridge.messages import dialect
from firmware_bridge.signing import Key, Signer, heard_with
from ghost.sitl.vehicle import SitlVehicle


class Signing:
    """PX4's way: a blank key ends it, and while there is a key only what is signed is heard."""

    def __init__(
        self,
        hub: Hub,
        vehicle: SitlVehicle,
        *,
        is_ours: Callable[[int, int], bool],
        tell: Callable[[str, int], None],
    ) -> None:
        self._hub = hub
        self._vehicle = vehicle
        self._is_ours = is_ours
        self._tell = tell
        hub.on("SETUP_SIGNING", self._on_setup)

    def _on_setup(self, received: Received) -> None:
        message = received.message
        if not self._is_ours(message.target_system, message.target_component):
            return
        if self._vehicle.armed:
            self._tell("MAVLink signing: rejected while armed", dialect.MAV_SEVERITY_CRITICAL)
            return
        secret, ticks = bytes(message.secret_key), message.initial_timestamp
        is_blank = not any(secret) and not ticks
        for number, link in enumerate(self._hub.links):
            link.signer = None if is_blank else _signer(Key(secret), number, ticks)
        text = "MAVLink signing disabled" if is_blank else "MAVLink signing key accepted"
        self._tell(text, dialect.MAV_SEVERITY_INFO)


def _signer(key: Key, link_id: int, least_ticks: int) -> Signer:
    return Signer(key, link_id=link_id, least_ticks=least_ticks, heard=heard_with(key))
