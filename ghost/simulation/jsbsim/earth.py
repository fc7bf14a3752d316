"""Between JSBSim's Earth, which is round and turns, and the flat ENU frame of a run."""

import math
from collections.abc import Sequence

from ghost.core import exact
from ghost.core.frames import Geodetic, LocalFrame, geodetic_to_ecef
from ghost.simulation.adapter import Start
from ghost.simulation.jsbsim.client import FT_M

Three = tuple[float, float, float]
Four = tuple[float, float, float, float]

_ROOT_HALF = math.sqrt(0.5)
_NED_TO_ENU = (0.0, _ROOT_HALF, _ROOT_HALF, 0.0)
_FLU_TO_FRD = (0.0, 1.0, 0.0, 0.0)


class Site:
    """Where ENU is (0, 0, 0)."""

    def __init__(self, origin: Geodetic) -> None:
        self.frame = LocalFrame(origin)
        self._origin_ecef_m: Three = tuple(geodetic_to_ecef(origin).tolist())
        latitude_rad, longitude_rad = map(math.radians, (origin.latitude_deg, origin.longitude_deg))
        w, x, y, z = _ned_to_ecef(latitude_rad, longitude_rad)
        self._to_enu: Four = exact.multiply(*_NED_TO_ENU, w, -x, -y, -z)

    def position_enu_m(self, x_ft: float, y_ft: float, z_ft: float) -> Three:
        ox, oy, oz = self._origin_ecef_m
        return exact.rotate(*self._to_enu, x_ft * FT_M - ox, y_ft * FT_M - oy, z_ft * FT_M - oz)

    def velocity_enu_mps(self, x_fps: float, y_fps: float, z_fps: float) -> Three:
        return exact.rotate(*self._to_enu, x_fps * FT_M, y_fps * FT_M, z_fps * FT_M)

    def altitude_m(self, position_enu_m: Sequence[float]) -> float:
        return self.frame.to_geodetic(position_enu_m).altitude_m

    def attitude(
        self, latitude_rad: float, longitude_rad: float, roll: float, pitch: float, yaw: float
    ) -> Four:
        """FLU in ENU at the origin, of angles in NED where the vehicle is. Of the two quaternions
        the one with w above 0, because angles jump by a turn.
        """
        ecef = _ned_to_ecef(latitude_rad, longitude_rad)
        frd = exact.multiply(*_about_z(yaw), *exact.multiply(*_about_y(pitch), *_about_x(roll)))
        flu = exact.multiply(*frd, *_FLU_TO_FRD)
        w, x, y, z = exact.multiply(*self._to_enu, *exact.multiply(*ecef, *flu))
        return (w, x, y, z) if w >= 0.0 else (-w, -x, -y, -z)

    def conditions(self, start: Start, position_enu_m: Three, ground_m: float) -> dict[str, float]:
        """JSBSim's names for a beginning. Each height is over the ellipsoid."""
        place = self.frame.to_geodetic(position_enu_m)
        latitude_rad, longitude_rad = map(math.radians, (place.latitude_deg, place.longitude_deg))
        ecef = _ned_to_ecef(latitude_rad, longitude_rad)
        w, x, y, z = exact.multiply(*self._to_enu, *ecef)  # NED there, in ENU here
        north, east, down = exact.rotate(w, -x, -y, -z, *start.velocity_enu_mps)
        frd = exact.multiply(w, -x, -y, -z, *exact.multiply(*start.attitude, *_FLU_TO_FRD))
        roll, pitch, yaw = _angles(*frd)
        forward, left, up = start.rate_flu_rps
        return {
            "ic/terrain-elevation-ft": ground_m / FT_M,
            "ic/lat-geod-deg": place.latitude_deg,
            "ic/long-gc-deg": place.longitude_deg,
            "ic/h-sl-ft": place.altitude_m / FT_M,
            "ic/phi-rad": roll,
            "ic/theta-rad": pitch,
            "ic/psi-true-rad": yaw,
            "ic/vn-fps": north / FT_M,
            "ic/ve-fps": east / FT_M,
            "ic/vd-fps": down / FT_M,
            "ic/p-rad_sec": forward,
            "ic/q-rad_sec": -left,
            "ic/r-rad_sec": -up,
        }


def _ned_to_ecef(latitude_rad: float, longitude_rad: float) -> Four:
    return exact.multiply(*_about_z(longitude_rad), *_about_y(-0.5 * math.pi - latitude_rad))


def _about_x(angle_rad: float) -> Four:
    sine, cosine = exact.sine_cosine(0.5 * angle_rad)
    return cosine, sine, 0.0, 0.0


def _about_y(angle_rad: float) -> Four:
    sine, cosine = exact.sine_cosine(0.5 * angle_rad)
    return cosine, 0.0, sine, 0.0


def _about_z(angle_rad: float) -> Four:
    sine, cosine = exact.sine_cosine(0.5 * angle_rad)
    return cosine, 0.0, 0.0, sine


def _angles(w: float, x: float, y: float, z: float) -> Three:
    """Roll, pitch and yaw. Straight up or down only their sum is known, and all of it is roll's."""
    rise = max(-1.0, min(1.0, 2.0 * (w * y - z * x)))
    pitch = exact.arctangent2(rise, math.sqrt((1.0 - rise) * (1.0 + rise)))
    if abs(rise) > 1.0 - 1e-12:
        return 2.0 * exact.arctangent2(x, w), pitch, 0.0
    roll = exact.arctangent2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    yaw = exact.arctangent2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return roll, pitch, yaw
