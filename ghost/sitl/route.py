"""A mission, flown item by item."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.messages import Message, dialect
from firmware_bridge.mission_items import MissionItem
from ghost.core.errors import FrameError
from ghost.core.frames import Geodetic, LocalFrame
from ghost.hal import Action, FlightMode
from ghost.sitl.mission import MissionStore
from ghost.sitl.parameters import Parameters
from ghost.sitl.pilot import Pilot
from ghost.sitl.vehicle import SitlVehicle

FloatArray = NDArray[np.float64]

TAKEOFF, WAYPOINT, LAND = (
    dialect.MAV_CMD_NAV_TAKEOFF,
    dialect.MAV_CMD_NAV_WAYPOINT,
    dialect.MAV_CMD_NAV_LAND,
)
LOITER, LOITER_TIME = dialect.MAV_CMD_NAV_LOITER_UNLIM, dialect.MAV_CMD_NAV_LOITER_TIME
RETURN, DELAY = dialect.MAV_CMD_NAV_RETURN_TO_LAUNCH, dialect.MAV_CMD_NAV_DELAY
SPEED = dialect.MAV_CMD_DO_CHANGE_SPEED
_PLACES = (WAYPOINT, LOITER, LOITER_TIME)
_COMMANDS = (*_PLACES, TAKEOFF, LAND, RETURN, DELAY, SPEED)
ABSOLUTE = (dialect.MAV_FRAME_GLOBAL, dialect.MAV_FRAME_GLOBAL_INT)
RELATIVE = (dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT, dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)
_NEAR_M = 1.0


def place_enu_m(
    frame: LocalFrame,
    home_m: FloatArray,
    latitude_deg: float,
    longitude_deg: float,
    z_m: float,
    *,
    relative: bool,
) -> FloatArray:
    """Where that is; a relative height is above home. FrameError where it is nowhere."""
    base_m = frame.to_geodetic(home_m).altitude_m if relative else 0.0
    return frame.to_enu_m(Geodetic(latitude_deg, longitude_deg, base_m + z_m))


class MissionRoute:
    """on_reached is told each item that was done, on_current each that is begun."""

    def __init__(
        self,
        vehicle: SitlVehicle,
        store: MissionStore,
        pilot: Pilot,
        parameters: Parameters,
        *,
        tell: Callable[[str], None],
        send: Callable[[Message], None],
    ) -> None:
        self.current = 0
        self.is_flown = False
        self._is_complete = False
        self._vehicle = vehicle
        self._store = store
        self._pilot = pilot
        self._parameters = parameters
        self._tell = tell
        self._send = send
        self._since_ns: int | None = None
        self._phase = ""
        store.judge = self.judge
        store.on_change = self._forget
        store.on_current = self.jump_to
        store.is_flown = lambda: self.is_flown

    def begin(self) -> str:
        if not self._store.items:
            return "no mission"
        if self.is_flown:
            return ""
        if self._is_complete:
            self.current, self._is_complete = 0, False
        self.is_flown = True
        self._phase = ""
        self._pilot.cruise_mps = None
        return ""

    def stop(self) -> None:
        """Where it is; begin() goes on with the same item. A landing that ended it is done."""
        if self.is_flown and self._phase == "down" and not self._vehicle.armed:
            self._reach()
            self._is_complete = True
        self.is_flown = False
        self._pilot.cruise_mps = None

    def jump_to(self, number: int) -> bool:
        if not 0 <= number < len(self._store.items):
            return False
        self.current, self._is_complete, self._phase = number, False, ""
        self.tell_current()
        return True

    def step(self) -> None:
        """Look after the item under way; begin it, where it wasn't."""
        item = self._store.items[self.current]
        if not self._phase:
            self._phase = self._start(item)
            self._since_ns = None
            if not self.is_flown:
                return
        if self._phase == "climb":
            if self._vehicle.mode is not FlightMode.TAKEOFF:
                self._phase = "there" if item.command == TAKEOFF else ""
        elif self._phase == "go" and self._is_there(item):
            self._phase = "there"
            if item.command == LAND:
                self._phase = self._hand_over(Action.LAND, "down")
        if self._phase == "there" and self._has_waited(item):
            self._next()

    def tell_current(self) -> None:
        state = dialect.MISSION_STATE_NO_MISSION
        if self._store.items:
            state = dialect.MISSION_STATE_NOT_STARTED
            if self._is_complete:
                state = dialect.MISSION_STATE_COMPLETE
            elif self.is_flown:
                state = dialect.MISSION_STATE_ACTIVE
            elif self.current:
                state = dialect.MISSION_STATE_PAUSED
        total, mode = len(self._store.items), 1 if self.is_flown else 2
        self._send(dialect.MAVLink_mission_current_message(self.current, total, state, mode))

    def judge(self, item: MissionItem) -> tuple[int, str]:
        """Whether it could be flown, as the mission protocol says it."""
        if item.command not in _COMMANDS:
            return dialect.MAV_MISSION_UNSUPPORTED, f"command {item.command} is not supported"
        if item.command in _PLACES and item.frame not in (*ABSOLUTE, *RELATIVE):
            return dialect.MAV_MISSION_UNSUPPORTED_FRAME, f"frame {item.frame} is not supported"
        if item.command in (*_PLACES, TAKEOFF) and not math.isfinite(item.z):
            return dialect.MAV_MISSION_INVALID_PARAM7, "no height"
        why = self._unreachable(item) if item.command in (*_PLACES, LAND) else ""
        return (dialect.MAV_MISSION_INVALID if why else dialect.MAV_MISSION_ACCEPTED), why

    def _unreachable(self, item: MissionItem) -> str:
        try:
            place_m = self._place(item)
        except FrameError as error:
            return str(error)
        if item.command == LAND:  # on the ground, wherever that is
            place_m[2] = self._vehicle.envelope.min_altitude_m
        return self._pilot.unreachable(place_m)

    def _start(self, item: MissionItem) -> str:
        """What it is doing from now on; an empty phase is one that ended at once."""
        self.tell_current()
        if item.command == SPEED:
            self._pilot.cruise_mps = item.param2 if item.param2 > 0.0 else None
            return "there"
        if item.command == RETURN:
            return self._return()
        if self._vehicle.on_ground:
            return self._climb(item)
        if item.command in (TAKEOFF, DELAY):
            return "there"
        if item.command == LAND and not (item.x or item.y):
            return self._hand_over(Action.LAND, "down")
        return self._go(item)

    def _climb(self, item: MissionItem) -> str:
        height_m = self._parameters["MIS_TAKEOFF_ALT"]
        if item.command == TAKEOFF:
            home_m = self._home_m()
            height_m = item.z
            if item.frame in ABSOLUTE:
                height_m -= self._vehicle.frame.to_geodetic(home_m).altitude_m
        return self._hand_over(Action.TAKEOFF, "climb", height_m)

    def _go(self, item: MissionItem) -> str:
        here_m = self._vehicle.position_enu_m
        target_m = self._place(item)
        if item.command == LAND:
            target_m = np.array([target_m[0], target_m[1], here_m[2]])
        east_m, north_m = (target_m - here_m)[:2].tolist()
        yaw_deg = item.param4
        yaw_rad: float | None = None
        if math.isfinite(yaw_deg):
            yaw_rad = math.radians(90.0 - yaw_deg)
        elif math.hypot(east_m, north_m) > _NEAR_M:
            yaw_rad = math.atan2(north_m, east_m)  # nose ahead, as PX4 does
        refusal = self._pilot.fly_to(target_m, yaw_rad=yaw_rad)
        return self._give_up(refusal) if refusal else "go"

    def _return(self) -> str:
        """PX4 leaves the mission for its RETURN mode."""
        self._reach()
        self._is_complete = True
        self.is_flown = False
        self.tell_current()
        refusal = self._pilot.hand_over(Action.RETURN)
        return self._give_up(refusal) if refusal else ""

    def _next(self) -> None:
        self._reach()
        self._phase = ""
        if self.current + 1 < len(self._store.items):
            self.current += 1
            return
        self._is_complete = True
        self.is_flown = False
        self._pilot.hand_over(Action.HOLD)
        self._tell("Mission finished")
        self.tell_current()

    def _hand_over(self, action: Action, phase: str, height_m: float = 0.0) -> str:
        refusal = self._pilot.hand_over(action, altitude_m=height_m)
        return self._give_up(refusal) if refusal else phase

    def _give_up(self, why: str) -> str:
        self.is_flown = False
        self._tell(f"Mission item {self.current} can't be flown: {why}")
        self._pilot.hand_over(Action.HOLD)
        return ""

    def _is_there(self, item: MissionItem) -> bool:
        if not self._pilot.has_arrived:
            return False
        target_m = self._place(item)
        off_m = self._vehicle.position_enu_m - target_m
        if item.command == LAND:
            off_m[2] = 0.0
        radius_m = item.param2 if item.command == WAYPOINT else 0.0
        if not radius_m > 0.0:  # NaN, too
            radius_m = self._parameters["NAV_ACC_RAD"]
        return float(np.linalg.norm(off_m)) <= radius_m

    def _has_waited(self, item: MissionItem) -> bool:
        if item.command == LOITER:
            return False
        wait_s = item.param1 if item.command in (WAYPOINT, LOITER_TIME, DELAY) else 0.0
        now_ns = self._vehicle.now_ns
        self._since_ns = now_ns if self._since_ns is None else self._since_ns
        return not wait_s > 0.0 or now_ns - self._since_ns >= wait_s * 1e9

    def _reach(self) -> None:
        self._send(dialect.MAVLink_mission_item_reached_message(self.current))

    def _forget(self) -> None:
        self.current, self._is_complete, self._phase = 0, False, ""
        self.tell_current()

    def _place(self, item: MissionItem) -> FloatArray:
        return place_enu_m(
            self._vehicle.frame,
            self._home_m(),
            item.x / 1e7,
            item.y / 1e7,
            item.z if math.isfinite(item.z) else 0.0,
            relative=item.frame not in ABSOLUTE,
        )

    def _home_m(self) -> FloatArray:
        home_m = self._vehicle.home_enu_m
        return np.zeros(3) if home_m is None else home_m
