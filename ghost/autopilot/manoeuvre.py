"""Hold, take-off, landing and return: what the autopilot flies on its own."""

import math

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot.config import AutopilotConfig
from ghost.control import kernel
from ghost.core.exact import arctangent2
from ghost.hal import FlightMode

FloatArray = NDArray[np.float64]

# A lookup in an enum is slow.
_HOLD, _TAKEOFF = FlightMode.HOLD, FlightMode.TAKEOFF
_LAND, _RETURN = FlightMode.LAND, FlightMode.RETURN


class Manoeuvre:
    """One of the modes at work, from the moment it was entered. Writes the set-point each period,
    and says which mode comes next.

    It moves a reference that gathers way and stops gently, and the loops follow that.
    """

    def __init__(
        self, mode: FlightMode, nominal: FloatArray, config: AutopilotConfig, home_m: list[float]
    ) -> None:
        self._config = config
        self._home = home_m
        self._mode = mode
        self._at: list[float] = nominal[:3].tolist()
        self._yaw_rad = _yaw(nominal)
        self._has_stopped = False
        self._speed_mps = 0.0
        self._acceleration_mps2 = 0.0
        self.target_height_m = 0.0

    def write(self, want: FloatArray, nominal: FloatArray, step_s: float) -> FlightMode:
        if self._mode is _TAKEOFF:
            return self._take_off(want, nominal, step_s)
        if self._mode is _LAND:
            return self._land(want, nominal, step_s)
        if self._mode is _RETURN:
            return self._return(want, nominal, step_s)
        return self._hold(want, nominal)

    def hold_at(self, position_m: list[float]) -> None:
        self._at, self._has_stopped = position_m, True

    def shift(self, east_m: float, north_m: float) -> None:
        east, north, up = self._at
        self._at = [east + east_m, north + north_m, up]

    @property
    def reference_m(self) -> list[float]:
        return self._at

    def _hold(self, want: FloatArray, nominal: FloatArray) -> FlightMode:
        self._stop(nominal)
        self._go(want, 0.0, 0.0, 0.0)
        return _HOLD

    def _take_off(self, want: FloatArray, nominal: FloatArray, step_s: float) -> FlightMode:
        target_m = self._home[2] + self.target_height_m
        self._pace(abs(target_m - self._at[2]), self._config.takeoff_speed_mps, step_s)
        up = math.copysign(1.0, target_m - self._at[2])
        self._at[2] += up * self._speed_mps * step_s
        self._go(want, 0.0, 0.0, up)
        is_there = abs(nominal[2] - target_m) < 0.3 and abs(target_m - self._at[2]) < 0.02
        return _HOLD if is_there else _TAKEOFF

    def _land(self, want: FloatArray, nominal: FloatArray, step_s: float) -> FlightMode:
        """Straight down at a speed; the height is what it is, for the ground may be elsewhere."""
        config = self._config
        self._stop(nominal)
        self._at[2] = float(nominal[2])
        is_low = self._at[2] - self._home[2] < config.land_slowly_below_m
        aim_mps = config.land_speed_mps if is_low else config.descend_speed_mps
        change = config.acceleration_mps2 * step_s
        self._speed_mps += min(max(aim_mps - self._speed_mps, -change), change)
        self._acceleration_mps2 = 0.0
        self._go(want, 0.0, 0.0, -1.0)
        return _LAND

    def _return(self, want: FloatArray, nominal: FloatArray, step_s: float) -> FlightMode:
        config = self._config
        east_m, north_m = self._home[0] - self._at[0], self._home[1] - self._at[1]
        distance_m = math.sqrt(east_m * east_m + north_m * north_m)
        climb_m = self._home[2] + config.return_height_m - self._at[2]
        if distance_m > 1.0 and climb_m > 0.02:  # near home, straight down is the safest
            self._stop(nominal)
            self._pace(climb_m, config.takeoff_speed_mps, step_s)
            self._at[2] += self._speed_mps * step_s
            self._go(want, 0.0, 0.0, 1.0)
            return _RETURN
        if distance_m < 0.02:
            x, y = nominal[:2].tolist()
            is_there = abs(x - self._home[0]) < 0.5 and abs(y - self._home[1]) < 0.5
            self._speed_mps = self._acceleration_mps2 = 0.0
            self._go(want, 0.0, 0.0, 0.0)
            return _LAND if is_there else _RETURN
        self._pace(distance_m, config.return_speed_mps, step_s)
        east, north = east_m / distance_m, north_m / distance_m
        self._at[0] += east * self._speed_mps * step_s
        self._at[1] += north * self._speed_mps * step_s
        self._go(want, east, north, 0.0)
        return _RETURN

    def _stop(self, nominal: FloatArray) -> None:
        """Take the way off before a place is kept: one passed at speed would be overshot."""
        if not self._has_stopped:
            x, y, z = nominal[3:6].tolist()
            self._at = nominal[:3].tolist()
            self._has_stopped = x * x + y * y + z * z < 0.25

    def _pace(self, distance_m: float, limit_mps: float, step_s: float) -> None:
        """The reference's speed: it gathers way, and has none left at the end."""
        acceleration = self._config.acceleration_mps2
        before = self._speed_mps
        brake_mps = math.sqrt(2.0 * acceleration * distance_m)
        self._speed_mps = min(before + acceleration * step_s, limit_mps, brake_mps)
        change = (self._speed_mps - before) / step_s
        self._acceleration_mps2 = min(max(change, -acceleration), acceleration)

    def _go(self, want: FloatArray, east: float, north: float, up: float) -> None:
        """The set-point: the reference, moving in a direction."""
        speed, gain = self._speed_mps, self._acceleration_mps2
        x_m, y_m, z_m = self._at
        kernel.follow(
            want,
            x_m,
            y_m,
            z_m,
            east * speed,
            north * speed,
            up * speed,
            east * gain,
            north * gain,
            up * gain,
            self._yaw_rad,
        )


def _yaw(nominal: FloatArray) -> float:
    w, x, y, z = nominal[6:10].tolist()
    return arctangent2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
