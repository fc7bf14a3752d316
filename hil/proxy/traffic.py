"""Packets of systems that have no business on the link, for Inject."""

from typing import Any

from firmware_bridge.frame import MAGIC_V1, SIGNED_FLAG, checksum
from firmware_bridge.messages import Message, dialect, encode

AUTOPILOT, STATION = 1, 190
_ARM, _SET_MODE, _TERMINATE, _REBOOT = 400, 176, 185, 246
_FORCE = 21196.0
_CUSTOM_MODE = 1.0
_PX4_LAND = (4.0, 6.0)
"""Main mode and sub mode."""


def packed(message: Message, *, system: int, component: int, sequence: int = 0) -> bytes:
    """Unsigned, as whoever lacks the key would send it."""
    return encode(message, system=system, component=component, sequence=sequence)


def foreign_autopilot(system: int = 42) -> tuple[bytes, ...]:
    """The heartbeat of another vehicle with PX4, on the ground and well."""
    heartbeat = dialect.MAVLink_heartbeat_message(
        type=dialect.MAV_TYPE_QUADROTOR,
        autopilot=dialect.MAV_AUTOPILOT_PX4,
        base_mode=dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
        custom_mode=0,
        system_status=dialect.MAV_STATE_STANDBY,
        mavlink_version=3,
    )
    return (packed(heartbeat, system=system, component=AUTOPILOT),)


def foreign_commands(
    system: int = 42, target_system: int = 1, target_component: int = AUTOPILOT
) -> tuple[bytes, ...]:
    """What would bring a vehicle down: disarm by force, terminate, land, reboot."""

    def command(number: int, *parameters: float) -> bytes:
        seven = (*parameters, *[0.0] * (7 - len(parameters)))
        message = dialect.MAVLink_command_long_message(
            target_system, target_component, number, 0, *seven
        )
        return packed(message, system=system, component=STATION)

    return (
        command(_ARM, 0.0, _FORCE),
        command(_TERMINATE, 1.0),
        command(_SET_MODE, _CUSTOM_MODE, *_PX4_LAND),
        command(_REBOOT, 1.0),
    )


def renumbered(packet: bytes, sequence: int) -> bytes:
    """The same with another sequence number. A signed one, or one that can't be checked, stays as
    it is: it would be spoilt.
    """
    kinds: dict[int, Any] = dialect.mavlink_map
    is_v1 = packet[0] == MAGIC_V1
    if not is_v1 and packet[2] & SIGNED_FLAG:
        return packet
    kind = kinds.get(packet[5] if is_v1 else int.from_bytes(packet[7:10], "little"))
    if kind is None:
        return packet
    at = 2 if is_v1 else 4
    body = packet[1:at] + bytes((sequence % 256,)) + packet[at + 1 : -2]
    return packet[:1] + body + checksum(body, kind.crc_extra).to_bytes(2, "little")
