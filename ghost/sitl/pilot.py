"""Which of PX4's modes the vehicle is in, and what the embedded autopilot does for it.

The autopilot has no mission and no goto: for those it flies in its own OFFBOARD, and the pilot here
gives it the set-points, from inside the loop that steps it.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ghost.hal import Action, Failsafe, FlightMode, TrajectoryCommand
from ghost.sitl.glide import Glide
from ghost.sitl.parameters import Parameters
from ghost.sitl.vehicle import SitlVehicle

FloatArray = NDArray[np.float64]
Tell = Callable[[str], None]

GUIDE_PERIOD_NS = 20_000_000
TURN_RPS = 1.05
"""PX4's MPC_YAWRAUTO_MAX: how fast the heading follows on a way of its own."""
CLIMB_SHARE = 0.6
"""Of the envelope's climb, for a glide upwards: the rest is for the loops."""

NAMES = {
    FlightMode.MANUAL: "MANUAL",
    FlightMode.HOLD: "HOLD",
    FlightMode.TAKEOFF: "TAKEOFF",
    FlightMode.LAND: "LAND",
    FlightMode.RETURN: "RETURN",
    FlightMode.OFFBOARD: "OFFBOARD",
}
_ACTIONS = {
    "HOLD": Action.HOLD,
    "TAKEOFF": Action.TAKEOFF,
    "LAND": Action.LAND,
    "RETURN": Action.RETURN,
    "OFFBOARD": Action.OFFBOARD,
}
_FROM_THE_GROUND = ("HOLD", "TAKEOFF", "MISSION", "OFFBOARD")


class Route(Protocol):
    """A mission, as the pilot sees it."""

    @property
    def is_flown(self) -> bool: ...
    def begin(self) -> str: ...
    def step(self) -> None: ...
    def stop(self) -> None: ...


class Pilot:
    def __init__(self, vehicle: SitlVehicle, parameters: Parameters, tell: Tell) -> None:
        self._vehicle = vehicle
        self._parameters = parameters
        self._tell = tell
        self._chosen = "HOLD"
        self._takeoff_m: float | None = None
        self._glide: Glide | None = None
        self._yaw_rad = self._final_yaw_rad = 0.0
        self._was_armed = False
        self.cruise_mps: float | None = None
        self.route: Route | None = None
        self.is_offboard_heard: Callable[[], bool] = lambda: False
        self.on_offboard: Callable[[], None] = lambda: None

    @property
    def mode(self) -> str:
        """By PX4's name. Before arming, the one that arming would enter."""
        if not self._vehicle.armed:
            return self._chosen
        if self.route is not None and self.route.is_flown:
            return "MISSION"
        return "HOLD" if self._glide is not None else NAMES[self._vehicle.mode]

    @property
    def is_client_flying(self) -> bool:
        return self._vehicle.armed and self.mode == "OFFBOARD"

    @property
    def has_arrived(self) -> bool:
        return self._glide is not None and self._glide.is_done

    def choose(self, mode: str, *, takeoff_m: float | None = None) -> str:
        """Enter a mode, now or when armed; the answer says why not, or nothing. A takeoff's height
        is above home.
        """
        if mode not in _ACTIONS and mode != "MISSION":
            return f"mode {mode} is not supported"
        if mode == "OFFBOARD" and not self.is_offboard_heard():
            return "no offboard set-points"
        self._takeoff_m = takeoff_m
        if self._vehicle.armed:
            return self._enter(mode)
        if mode not in _FROM_THE_GROUND:
            return "disarmed; arm first"
        self._chosen = mode
        return ""

    def arm(self) -> str:
        if self._vehicle.armed:
            return ""
        if self._chosen == "OFFBOARD" and not self.is_offboard_heard():
            return "no offboard set-points"
        ack = self._vehicle.request(Action.ARM)
        if not ack.accepted:
            return ack.detail
        self._was_armed = True
        chosen, self._chosen = self._chosen, "HOLD"
        if chosen != "HOLD" and (refusal := self._enter(chosen)):
            self._tell(f"{chosen} refused: {refusal}")
        return ""

    def fly_to(
        self, target_m: FloatArray, *, yaw_rad: float | None, speed_mps: float | None = None
    ) -> str:
        """Glide to a place and stay there; yaw_rad of None keeps the heading."""
        vehicle = self._vehicle
        if refusal := self.unreachable(target_m):
            return refusal
        state = vehicle.state()
        if state is None:
            return "no estimate yet"
        if vehicle.on_ground:
            return "on the ground; take off first"
        if vehicle.mode is not FlightMode.OFFBOARD:
            ack = vehicle.request(Action.OFFBOARD)
            if not ack.accepted:
                return ack.detail
        if self._glide is None:
            self._yaw_rad = vehicle.yaw_rad
        self._final_yaw_rad = self._yaw_rad if yaw_rad is None else yaw_rad
        start_m, velocity_mps = vehicle.position_enu_m, state.velocity_enu_mps
        if self._glide is not None and self._glide.is_done:
            start_m = self._glide.target_m
        self._glide = Glide(
            start_m,
            target_m,
            velocity_mps=velocity_mps,
            limit_mps=self._limit_mps(target_m - start_m, speed_mps),
            acceleration_mps2=vehicle.config.acceleration_mps2,
        )
        self._guide()
        return ""

    def unreachable(self, target_m: FloatArray) -> str:
        """Why the envelope would not have it, or nothing."""
        east_m, north_m, up_m = target_m.tolist()
        envelope = self._vehicle.envelope
        if envelope.outside_fence_m(east_m, north_m) > 0.0:
            return "outside the fence"
        if not envelope.in_altitude_band(up_m):
            band = f"{envelope.min_altitude_m:g} to {envelope.max_altitude_m:g} m"
            return f"{up_m:.1f} m is outside {band}"
        return ""

    def hand_over(self, action: Action, *, altitude_m: float = 0.0) -> str:
        """Let the autopilot fly one of its own modes."""
        ack = self._vehicle.request(action, altitude_m=altitude_m)
        if not ack.accepted:
            return ack.detail
        self._glide = None
        return ""

    def step(self) -> None:
        vehicle = self._vehicle
        if not vehicle.armed:
            if self._was_armed:
                self._release()
                self._was_armed = False
            return
        if vehicle.failsafe is not Failsafe.NONE:
            self._release()
            return
        if self.route is not None and self.route.is_flown:
            self.route.step()
        if self._glide is not None and vehicle.now_ns % GUIDE_PERIOD_NS == 0:
            self._guide()

    def _enter(self, mode: str) -> str:
        if mode == "MISSION":
            return self.route.begin() if self.route is not None else "no mission"
        height_m = 0.0
        if mode == "TAKEOFF":
            height_m = self._takeoff_m or self._parameters["MIS_TAKEOFF_ALT"]
            home_m = self._vehicle.home_enu_m
            if home_m is not None and not self._vehicle.on_ground:
                height_m = max(height_m, float(self._vehicle.position_enu_m[2] - home_m[2]))
        refusal = self.hand_over(_ACTIONS[mode], altitude_m=height_m)
        if refusal:
            return refusal
        if self.route is not None:
            self.route.stop()
        if mode == "OFFBOARD":
            self.on_offboard()
        return ""

    def _guide(self) -> None:
        vehicle, glide = self._vehicle, self._glide
        if glide is None or vehicle.mode is not FlightMode.OFFBOARD:
            self._glide = None
            return
        step_s = GUIDE_PERIOD_NS / 1e9
        place_m, velocity_mps = glide.step(step_s)
        turn_rad = math.remainder(self._final_yaw_rad - self._yaw_rad, math.tau)
        most_rad = TURN_RPS * step_s
        self._yaw_rad += min(max(turn_rad, -most_rad), most_rad)
        ack = vehicle.send(
            TrajectoryCommand(*vehicle.stamp(), place_m, velocity_mps, np.zeros(3), self._yaw_rad)
        )
        if not ack.accepted:
            self._tell(f"Can't go on: {ack.detail}")
            self._release()
            self.hand_over(Action.HOLD)

    def _release(self) -> None:
        self._glide = None
        if self.route is not None:
            self.route.stop()

    def _limit_mps(self, way_m: FloatArray, speed_mps: float | None) -> float:
        """So fast that the climb along the way stays within bounds."""
        envelope, config = self._vehicle.envelope, self._vehicle.config
        wanted = speed_mps or self.cruise_mps or self._parameters["MPC_XY_CRUISE"]
        limit_mps = min(wanted, envelope.max_speed_mps)
        length_m, up_m = float(np.linalg.norm(way_m)), float(way_m[2])
        climb_mps = CLIMB_SHARE * envelope.max_climb_mps if up_m > 0.0 else config.descend_speed_mps
        if abs(up_m) > 1e-6:
            limit_mps = min(limit_mps, climb_mps * length_m / abs(up_m))
        return limit_mps if math.isfinite(limit_mps) else envelope.max_speed_mps
