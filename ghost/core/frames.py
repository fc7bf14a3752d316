"""The edges of Ghost's frames: world ENU to NED, body FLU to FRD, and both to places on Earth."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ghost.core.errors import FrameError
from ghost.core.exact import arctangent2, sine_cosine

FloatArray = NDArray[np.float64]

WGS84_SEMI_MAJOR_AXIS_M = 6_378_137.0
WGS84_FLATTENING = 1.0 / 298.257223563

_SEMI_MINOR_AXIS_M = WGS84_SEMI_MAJOR_AXIS_M * (1.0 - WGS84_FLATTENING)
_ECCENTRICITY_SQUARED = WGS84_FLATTENING * (2.0 - WGS84_FLATTENING)
_SECOND_ECCENTRICITY_SQUARED = _ECCENTRICITY_SQUARED / (1.0 - _ECCENTRICITY_SQUARED)
# Deeper, Bowring's iteration has no single answer to find, and nothing flies there.
_LOWEST_ALTITUDE_M = -100_000.0
_SWAP_XY = np.array((1, 0, 2))
_FLIP_Z = np.array((1.0, 1.0, -1.0))
_FLIP_YZ = np.array((1.0, -1.0, -1.0))


@dataclass(frozen=True, slots=True)
class Geodetic:
    """A place in WGS84. The altitude is above the ellipsoid, not above the sea."""

    latitude_deg: float
    longitude_deg: float
    altitude_m: float

    def __post_init__(self) -> None:
        # Written so that NaN fails each of them.
        if not -90.0 <= self.latitude_deg <= 90.0:
            raise FrameError(f"latitude is {self.latitude_deg} deg; expected -90 to 90")
        if not -180.0 <= self.longitude_deg <= 180.0:
            raise FrameError(f"longitude is {self.longitude_deg} deg; expected -180 to 180")
        if not _LOWEST_ALTITUDE_M <= self.altitude_m < math.inf:
            raise FrameError(
                f"altitude is {self.altitude_m} m; expected a finite {_LOWEST_ALTITUDE_M} or more"
            )


class LocalFrame:
    """An ENU frame that touches the Earth at its origin. It is flat: 10 km out, level ground has
    fallen 8 m below its z = 0.
    """

    __slots__ = ("_east", "_north", "_origin", "_origin_ecef_m", "_up")

    def __init__(self, origin: Geodetic) -> None:
        latitude_rad = math.radians(origin.latitude_deg)
        longitude_rad = math.radians(origin.longitude_deg)
        sin_lat, cos_lat = sine_cosine(latitude_rad)
        sin_lon, cos_lon = sine_cosine(longitude_rad)
        self._origin = origin
        self._origin_ecef_m = _ecef_of(origin)
        self._east = (-sin_lon, cos_lon, 0.0)
        self._north = (-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat)
        self._up = (cos_lat * cos_lon, cos_lat * sin_lon, sin_lat)

    @property
    def origin(self) -> Geodetic:
        return self._origin

    def to_enu_m(self, geodetic: Geodetic) -> FloatArray:
        x, y, z = _ecef_of(geodetic)
        origin_x, origin_y, origin_z = self._origin_ecef_m
        dx, dy, dz = x - origin_x, y - origin_y, z - origin_z
        axes = (self._east, self._north, self._up)
        return np.array([ax * dx + ay * dy + az * dz for ax, ay, az in axes])

    def to_geodetic(self, position_enu_m: ArrayLike) -> Geodetic:
        east_m, north_m, up_m = _lone_vector(position_enu_m)
        axes = zip(self._origin_ecef_m, self._east, self._north, self._up, strict=True)
        return ecef_to_geodetic([o + e * east_m + n * north_m + u * up_m for o, e, n, u in axes])

    def __repr__(self) -> str:
        return f"LocalFrame({self._origin!r})"


def enu_to_ned(vector_enu: ArrayLike) -> FloatArray:
    return _with_world_swapped(vector_enu)


def ned_to_enu(vector_ned: ArrayLike) -> FloatArray:
    return _with_world_swapped(vector_ned)


def flu_to_frd(vector_flu: ArrayLike) -> FloatArray:
    return _with_body_swapped(vector_flu)


def frd_to_flu(vector_frd: ArrayLike) -> FloatArray:
    return _with_body_swapped(vector_frd)


def attitude_enu_to_ned(quaternion_flu_in_enu: ArrayLike) -> FloatArray:
    """The same attitude as MAVLink says it: the FRD body in the NED world."""
    return _with_frames_swapped(quaternion_flu_in_enu)


def attitude_ned_to_enu(quaternion_frd_in_ned: ArrayLike) -> FloatArray:
    """The same attitude as Ghost says it: the FLU body in the ENU world."""
    return _with_frames_swapped(quaternion_frd_in_ned)


def geodetic_to_ecef(geodetic: Geodetic) -> FloatArray:
    return np.array(_ecef_of(geodetic))


def ecef_to_geodetic(position_ecef_m: ArrayLike) -> Geodetic:
    """Bowring's iteration, good to a few nanometres from 100 km below the ground up."""
    x, y, z = _lone_vector(position_ecef_m)
    axis_distance_m = math.sqrt(x * x + y * y)
    distance_m = math.sqrt(x * x + y * y + z * z)
    # Written so that NaN fails it.
    if not _SEMI_MINOR_AXIS_M + 2.0 * _LOWEST_ALTITUDE_M <= distance_m < math.inf:
        raise FrameError(f"ECEF position is ({x}, {y}, {z}) m; expected one near or above ground")

    sin_lat, cos_lat = _latitude_sin_cos(axis_distance_m, z)
    surface_m = WGS84_SEMI_MAJOR_AXIS_M * math.sqrt(1.0 - _ECCENTRICITY_SQUARED * sin_lat * sin_lat)
    return Geodetic(
        latitude_deg=math.degrees(arctangent2(sin_lat, cos_lat)),
        longitude_deg=math.degrees(arctangent2(y, x)),
        altitude_m=axis_distance_m * cos_lat + z * sin_lat - surface_m,
    )


def _ecef_of(geodetic: Geodetic) -> tuple[float, float, float]:
    latitude_rad = math.radians(geodetic.latitude_deg)
    longitude_rad = math.radians(geodetic.longitude_deg)
    sin_lat, cos_lat = sine_cosine(latitude_rad)
    sin_lon, cos_lon = sine_cosine(longitude_rad)
    normal_m = WGS84_SEMI_MAJOR_AXIS_M / math.sqrt(1.0 - _ECCENTRICITY_SQUARED * sin_lat * sin_lat)
    axis_distance_m = (normal_m + geodetic.altitude_m) * cos_lat
    return (
        axis_distance_m * cos_lon,
        axis_distance_m * sin_lon,
        (normal_m * (1.0 - _ECCENTRICITY_SQUARED) + geodetic.altitude_m) * sin_lat,
    )


def _latitude_sin_cos(axis_distance_m: float, z_m: float) -> tuple[float, float]:
    sine, cosine = _unit(WGS84_SEMI_MAJOR_AXIS_M * z_m, _SEMI_MINOR_AXIS_M * axis_distance_m)
    # One pass leaves 0.07 mm below 100 km and 0.2 m in orbit; two leave rounding alone.
    for _ in range(3):
        sin_lat, cos_lat = _unit(
            z_m + _SECOND_ECCENTRICITY_SQUARED * _SEMI_MINOR_AXIS_M * (sine * sine * sine),
            axis_distance_m
            - _ECCENTRICITY_SQUARED * WGS84_SEMI_MAJOR_AXIS_M * (cosine * cosine * cosine),
        )
        sine, cosine = _unit((1.0 - WGS84_FLATTENING) * sin_lat, cos_lat)
    return sin_lat, cos_lat


def _unit(sine: float, cosine: float) -> tuple[float, float]:
    length = math.sqrt(sine * sine + cosine * cosine)
    return sine / length, cosine / length


def _with_world_swapped(vector: ArrayLike) -> FloatArray:
    swapped: FloatArray = _vectors(vector)[..., _SWAP_XY] * _FLIP_Z
    return swapped


def _with_body_swapped(vector: ArrayLike) -> FloatArray:
    swapped: FloatArray = _vectors(vector) * _FLIP_YZ
    return swapped


def _with_frames_swapped(quaternion: ArrayLike) -> FloatArray:
    # (0, s, s, 0) * q * (0, 1, 0, 0), negated, with s = sqrt(1/2): half a turn of the world about
    # north-east, half a turn of the body about its nose. It undoes itself.
    values = np.asarray(quaternion, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] != 4:
        raise FrameError(f"quaternion has shape {values.shape}; expected (..., 4)")
    w, x, y, z = (values[..., index] for index in range(4))
    return np.stack((w + z, x + y, x - y, w - z), axis=-1) * math.sqrt(0.5)


def _vectors(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise FrameError(f"vector has shape {array.shape}; expected (..., 3)")
    return array


def _lone_vector(values: ArrayLike) -> list[float]:
    array = _vectors(values)
    if array.ndim != 1:
        raise FrameError(f"vector has shape {array.shape}; expected (3,)")
    return [float(value) for value in array]
