"""Give a flight controller its signing key, or take it back.

SETUP_SIGNING carries the key in clear, so it belongs on a cable and not on a radio.
"""

from firmware_bridge.exchange import target_of
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect, id_of
from firmware_bridge.signing import KEY_BYTES, Signer
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import RefusedError, StalledError

ANSWER_NS = 500_000_000
ATTEMPTS = 3


def give_key(vehicle: Vehicle, signer: Signer) -> None:
    """From now on both sides sign; signed with the key before, where there was one. It is there
    once an answer comes that is signed with it. Where none comes it may be there nevertheless.
    """
    link = _ready_link(vehicle)
    ticks = signer.timestamp_ticks
    message = dialect.MAVLink_setup_signing_message(
        *target_of(vehicle), list(signer.key.secret), ticks
    )
    _change(vehicle, link, message, signer)


def take_key(vehicle: Vehicle) -> None:
    """From now on nobody signs. A flight controller wants this signed with the key it has."""
    link = _ready_link(vehicle)
    message = dialect.MAVLink_setup_signing_message(*target_of(vehicle), [0] * KEY_BYTES, 0)
    _change(vehicle, link, message, None)


def _ready_link(vehicle: Vehicle) -> Link:
    if vehicle.is_armed:
        raise RefusedError("the signing key is not changed while armed; disarm first")
    if vehicle.link is None:
        raise StalledError("no flight controller was heard yet; call find first")
    return vehicle.link


def _change(vehicle: Vehicle, link: Link, message: Message, signer: Signer | None) -> None:
    """Until it answers in the new way; what it sent in the old way meanwhile is no answer."""
    before = link.signer
    for _ in range(ATTEMPTS):
        link.signer = before
        vehicle.send(message)
        link.signer = signer
        if _answers(vehicle, is_signed=signer is not None):
            return
    link.signer = before
    state = "sign with the new key" if signer is not None else "stop signing"
    raise RefusedError(
        f"the flight controller did not {state}: it has another key already, or can't sign "
        "(PX4 can from v1.18 on)"
    )


def _answers(vehicle: Vehicle, *, is_signed: bool) -> bool:
    version = id_of("AUTOPILOT_VERSION")
    system, component = target_of(vehicle)
    vehicle.send(
        dialect.MAVLink_command_long_message(
            system, component, dialect.MAV_CMD_REQUEST_MESSAGE, 0, version, *[0.0] * 6
        )
    )
    try:
        vehicle.hub.wait_for(
            "AUTOPILOT_VERSION",
            lambda one: vehicle.is_mine(one) and bool(one.frame.signature) == is_signed,
            within_ns=ANSWER_NS,
            what="waiting for AUTOPILOT_VERSION",
        )
    except StalledError:
        return False
    return True
