"""The air and the magnetic field, by place: what barometers and compasses measure."""

from ghost.core.exact import exponential, logarithm, sine_cosine
from ghost.core.frames import Geodetic

SEA_LEVEL_PA = 101_325.0
SEA_LEVEL_K = 288.15
_LAPSE_K_PER_M = 0.0065
_EXPONENT = 5.255879812716677  # g M / (R L) of the International Standard Atmosphere
_RADIANS = 0.017453292519943295


def pressure_pa(altitude_m: float) -> float:
    """Of the standard atmosphere, good up to 11 km."""
    ratio = 1.0 - _LAPSE_K_PER_M * altitude_m / SEA_LEVEL_K
    return SEA_LEVEL_PA * exponential(_EXPONENT * logarithm(ratio))


def altitude_m(pressure_pa: float) -> float:
    """Where the standard atmosphere has that pressure."""
    ratio = exponential(logarithm(pressure_pa / SEA_LEVEL_PA) / _EXPONENT)
    return (1.0 - ratio) * SEA_LEVEL_K / _LAPSE_K_PER_M


def magnetic_field_enu_t(place: Geodetic) -> tuple[float, float, float]:
    """A tilted dipole: within about a fifth of the real field, which is enough to fly by when
    simulator and estimator take it from here alike.
    """
    sin_lat, cos_lat = sine_cosine(place.latitude_deg * _RADIANS)
    sin_lon, cos_lon = sine_cosine(place.longitude_deg * _RADIANS)
    # Gauss coefficients g10, g11, h11 of the year 2025, in tesla.
    g10, g11, h11 = -29_350.0e-9, -1_410.3e-9, 4_545.5e-9
    towards = g11 * cos_lon + h11 * sin_lon
    north = -g10 * cos_lat + towards * sin_lat
    east = g11 * sin_lon - h11 * cos_lon
    up = 2.0 * (g10 * sin_lat + towards * cos_lat)
    return east, north, up
