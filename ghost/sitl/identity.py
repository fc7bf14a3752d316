"""What the vehicle says it is: PX4's dialect, and that it is no real vehicle."""

from firmware_bridge.messages import Message, dialect

SIMULATED = "ghostsim"
"""In AUTOPILOT_VERSION's uid, uid2 and flight_custom_version, as ASCII: firmware_bridge's
Identity.uid begins with its hexadecimal, 67686f737473696d, and git_hash is just that.
"""

DIALECT_VERSION = (1, 18, 0)
"""Of PX4, whose dialect this is; clients choose their ways by it."""

_RELEASE = 255
_CAPABILITIES = (
    dialect.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | dialect.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | dialect.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_BYTEWISE
    | dialect.MAV_PROTOCOL_CAPABILITY_SET_ATTITUDE_TARGET
    | dialect.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
    | dialect.MAV_PROTOCOL_CAPABILITY_FLIGHT_TERMINATION
    | dialect.MAV_PROTOCOL_CAPABILITY_MAVLINK2
)
_TYPES = {
    3: dialect.MAV_TYPE_TRICOPTER,
    4: dialect.MAV_TYPE_QUADROTOR,
    6: dialect.MAV_TYPE_HEXAROTOR,
    8: dialect.MAV_TYPE_OCTOROTOR,
    10: dialect.MAV_TYPE_DECAROTOR,
    12: dialect.MAV_TYPE_DODECAROTOR,
}
_AUTOSTART = {4: 4001, 6: 6001, 8: 8001}


def vehicle_type(rotor_count: int) -> int:
    """MAV_TYPE by the number of rotors; a count that has no name is a quadrotor's kin."""
    kind: int = _TYPES.get(rotor_count, dialect.MAV_TYPE_QUADROTOR)
    return kind


def autostart(rotor_count: int) -> int:
    """PX4's generic airframe of that many rotors; 0 where it has none."""
    return _AUTOSTART.get(rotor_count, 0)


def autopilot_version() -> Message:
    major, minor, patch = DIALECT_VERSION
    version = major << 24 | minor << 16 | patch << 8 | _RELEASE
    mark = SIMULATED.encode("ascii")
    return dialect.MAVLink_autopilot_version_message(
        _CAPABILITIES,
        version,
        0,
        0,
        0,
        list(mark[::-1]),  # PX4 puts the hash there as a little-endian number
        [0] * 8,
        [0] * 8,
        0,
        0,
        int.from_bytes(mark, "big"),
        [*mark, *[0] * 10],
    )
