"""Parameters by PX4's names: what can be changed at run time, and what can only be told."""

import struct
from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.hub import Hub, Received
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect
from ghost.sitl.identity import autostart
from ghost.sitl.vehicle import SitlVehicle

FLOAT, INT32 = dialect.MAV_PARAM_TYPE_REAL32, dialect.MAV_PARAM_TYPE_INT32
_BY_NAME = -1
_NO_INDEX = 0xFFFF
_RETURN = 3
_LISTED_AT_ONCE = 10


@dataclass(slots=True)
class Parameter:
    """least and most are None where it can't be changed in flight, nor on the ground."""

    name: str
    value: float
    kind: int = FLOAT
    least: float | None = None
    most: float | None = None

    def set(self, value: float) -> bool:
        """Whether it was taken: read-only ones and values out of range stay as they were."""
        if self.least is None or self.most is None or not self.least <= value <= self.most:
            return False
        self.value = value
        return True


class Parameters:
    """The table, and the protocol around it."""

    def __init__(
        self, hub: Hub, vehicle: SitlVehicle, *, is_ours: Callable[[int, int], bool], system: int
    ) -> None:
        self._hub = hub
        self._is_ours = is_ours
        self._table = {one.name: one for one in _table(vehicle, system)}
        self._order = sorted(self._table)
        self._queue: list[tuple[str, Link]] = []
        hub.on("PARAM_REQUEST_LIST", self._on_list)
        hub.on("PARAM_REQUEST_READ", self._on_read)
        hub.on("PARAM_SET", self._on_set)

    def __getitem__(self, name: str) -> float:
        return self._table[name].value

    def step(self) -> None:
        """A list goes out in portions, so that no socket overflows."""
        portion, self._queue = self._queue[:_LISTED_AT_ONCE], self._queue[_LISTED_AT_ONCE:]
        for name, link in portion:
            self._answer(name, link)

    def _on_list(self, received: Received) -> None:
        if self._is_mine(received):
            self._queue = [(name, received.link) for name in self._order]

    def _on_read(self, received: Received) -> None:
        if not self._is_mine(received):
            return
        index = received.message.param_index
        name = _name(received.message.param_id)
        if index != _BY_NAME:
            name = self._order[index] if 0 <= index < len(self._order) else ""
        if name in self._table:
            self._answer(name, received.link)

    def _on_set(self, received: Received) -> None:
        message = received.message
        name = _name(message.param_id)
        if not self._is_mine(received) or name not in self._table:
            return
        parameter = self._table[name]
        if message.param_type == parameter.kind:
            parameter.set(decode_value(message.param_value, parameter.kind))
        self._answer(name, received.link)

    def _answer(self, name: str, link: Link) -> None:
        parameter = self._table[name]
        self._hub.send(
            dialect.MAVLink_param_value_message(
                name.encode("ascii"),
                encode_value(parameter.value, parameter.kind),
                parameter.kind,
                len(self._order),
                self._order.index(name),
            ),
            link,
        )

    def _is_mine(self, received: Received) -> bool:
        message: Message = received.message
        return self._is_ours(message.target_system, message.target_component)


def encode_value(value: float, kind: int) -> float:
    """PX4 puts the bits of an integer where the float goes."""
    if kind != INT32:
        return value
    bits: float = struct.unpack("<f", struct.pack("<i", int(value)))[0]
    return bits


def decode_value(field: float, kind: int) -> float:
    if kind != INT32:
        return field
    number: int = struct.unpack("<i", struct.pack("<f", field))[0]
    return float(number)


def _name(field: bytes | str) -> str:
    raw = field.encode("ascii", "replace") if isinstance(field, str) else bytes(field)
    return raw.split(b"\0")[0].decode("ascii", "replace")


def _table(vehicle: SitlVehicle, system: int) -> list[Parameter]:
    config, envelope, airframe = vehicle.config, vehicle.envelope, vehicle.airframe
    ceiling_m, fast_mps = envelope.max_altitude_m, envelope.max_speed_mps
    cruise_mps = min(config.return_speed_mps, fast_mps)
    return [
        Parameter("BAT1_N_CELLS", 0, INT32),
        Parameter("BAT1_V_EMPTY", airframe.battery.empty_v),
        Parameter("BAT1_V_CHARGED", airframe.battery.full_v),
        Parameter("BAT1_CAPACITY", airframe.battery.capacity_ah * 1000.0),
        Parameter("BAT_CRIT_THR", config.land_below_charge),
        Parameter("BAT_LOW_THR", config.return_below_charge),
        Parameter("CA_ROTOR_COUNT", len(airframe.rotors), INT32),
        Parameter("COM_ARM_BAT_MIN", config.arm_above_charge),
        Parameter("COM_LOW_BAT_ACT", 3, INT32),
        Parameter("COM_OBL_RC_ACT", _RETURN, INT32),
        Parameter("COM_OF_LOSS_T", envelope.command_timeout_ns / 1e9),
        Parameter("COM_RC_IN_MODE", 4, INT32),
        Parameter("GF_MAX_VER_DIST", ceiling_m),
        Parameter("MAV_SYS_ID", system, INT32),
        Parameter("MAV_TYPE", 2 if len(airframe.rotors) == 4 else 0, INT32),
        Parameter("MIS_TAKEOFF_ALT", 2.5, FLOAT, 0.5, ceiling_m),
        Parameter("MPC_ACC_HOR", config.acceleration_mps2),
        Parameter("MPC_LAND_SPEED", config.land_speed_mps),
        Parameter("MPC_TILTMAX_AIR", _degrees(envelope.max_tilt_rad)),
        Parameter("MPC_TKO_SPEED", config.takeoff_speed_mps),
        Parameter("MPC_XY_CRUISE", cruise_mps, FLOAT, 0.5, fast_mps),
        Parameter("MPC_XY_VEL_MAX", fast_mps),
        Parameter("MPC_Z_V_AUTO_DN", config.descend_speed_mps),
        Parameter("MPC_Z_VEL_MAX_DN", envelope.max_climb_mps),
        Parameter("MPC_Z_VEL_MAX_UP", envelope.max_climb_mps),
        Parameter("NAV_ACC_RAD", 1.0, FLOAT, 0.2, 200.0),
        Parameter("NAV_RCL_ACT", 0, INT32),
        Parameter("RTL_DESCEND_ALT", config.return_height_m),
        Parameter("RTL_RETURN_ALT", config.return_height_m),
        Parameter("SYS_AUTOSTART", autostart(len(airframe.rotors)), INT32),
    ]


def _degrees(radians: float) -> float:
    return radians * 57.29577951308232
