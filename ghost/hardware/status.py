"""PX4's modes and flags as the HAL's status."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firmware_bridge import modes
from firmware_bridge.messages import dialect
from ghost.core.frames import ned_to_enu
from ghost.hal import Failsafe, FlightMode, VehicleStatus

PREARM_BIT = dialect.MAV_SYS_STATUS_PREARM_CHECK

_FLOWN_BY_A_PILOT = ("MANUAL", "ALTITUDE", "POSITION", "ACRO", "STABILIZED")
_MODES = {
    "TAKEOFF": FlightMode.TAKEOFF,
    "HOLD": FlightMode.HOLD,
    "RETURN": FlightMode.RETURN,
    "LAND": FlightMode.LAND,
    "PRECISION_LAND": FlightMode.LAND,
    "OFFBOARD": FlightMode.OFFBOARD,
} | dict.fromkeys(_FLOWN_BY_A_PILOT, FlightMode.MANUAL)


def mode_of(custom_mode: int) -> FlightMode:
    return _MODES.get(modes.name_of(custom_mode), FlightMode.OTHER)


@dataclass(slots=True)
class StatusBook:
    """What several messages say, put together."""

    heartbeat: Any = None
    is_landed: bool | None = None
    can_arm: bool | None = None
    complaint: str = ""
    unhealthy: tuple[str, ...] = ()
    killed: bool = False
    home_enu_m: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    def on_extended(self, message: Any) -> None:
        if message.landed_state == dialect.MAV_LANDED_STATE_UNDEFINED:
            self.is_landed = None
        else:
            self.is_landed = message.landed_state == dialect.MAV_LANDED_STATE_ON_GROUND

    def on_sys_status(self, message: Any) -> None:
        self.can_arm = bool(message.onboard_control_sensors_health & PREARM_BIT)

    def on_home(self, message: Any) -> None:
        self.home_enu_m = ned_to_enu([message.x, message.y, message.z])

    @property
    def is_terminated(self) -> bool:
        """PX4 v1.18 stays armed then, though its outputs are off until it is restarted."""
        status = None if self.heartbeat is None else self.heartbeat.system_status
        return bool(status == dialect.MAV_STATE_FLIGHT_TERMINATION)

    @property
    def is_armed(self) -> bool:
        """Whether its motors may turn."""
        if self.heartbeat is None or self.is_terminated:
            return False
        return bool(self.heartbeat.base_mode & modes.ARMED_FLAG)

    def blocked(self) -> str:
        if self.is_landed is None:
            return "the flight controller has not said yet whether it is on the ground"
        if self.can_arm is None:
            return "the flight controller has not said yet whether it may be armed"
        if self.can_arm:
            return ""
        # PX4 v1.18 says why to ground stations only.
        unhealthy = f"unhealthy: {', '.join(self.unhealthy)}" if self.unhealthy else ""
        why = self.complaint or unhealthy or "it does not say why; a ground station is told"
        return f"its pre-arm checks fail: {why}"

    def status(self, stamp_ns: int, sequence: int) -> VehicleStatus:
        heartbeat = self.heartbeat
        critical = heartbeat.system_status >= dialect.MAV_STATE_CRITICAL
        failed = self.is_terminated or (critical and self.is_armed)
        return VehicleStatus(
            stamp_ns,
            sequence,
            mode_of(heartbeat.custom_mode),
            self.is_armed,
            self.killed or self.is_terminated,
            bool(self.is_landed),  # unknown is in the air: there, nothing is disarmed
            Failsafe.OTHER if failed else Failsafe.NONE,
            "" if self.is_armed else self.blocked(),
            self.home_enu_m,
        )
