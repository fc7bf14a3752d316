"""Air and magnetic field, against the standard atmosphere and the geometry of a dipole."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.earth import altitude_m, magnetic_field_enu_t, pressure_pa
from ghost.core.frames import Geodetic
from ghost.hal.scenario import ZURICH

POLE = Geodetic(80.8, -72.8, 0.0)  # the geomagnetic north pole of 2025


@pytest.mark.parametrize(
    ("height_m", "expected_pa"),
    [
        (-500.0, 107_478.0),
        (0.0, 101_325.0),
        (1000.0, 89_874.6),
        (5000.0, 54_019.9),
        (11_000.0, 22_632.1),
    ],
)
def test_pressure_is_that_of_the_standard_atmosphere(height_m: float, expected_pa: float) -> None:
    assert pressure_pa(height_m) == pytest.approx(expected_pa, rel=1e-5)


@given(st.floats(-1000.0, 11_000.0))
def test_height_is_found_again_from_pressure(height_m: float) -> None:
    assert altitude_m(pressure_pa(height_m)) == pytest.approx(height_m, abs=1e-7)


@given(st.floats(-1000.0, 10_999.0))
def test_higher_air_is_thinner(height_m: float) -> None:
    assert pressure_pa(height_m + 1.0) < pressure_pa(height_m) - 3.0


def test_the_field_points_down_at_its_northern_pole_and_up_at_the_southern() -> None:
    east, north, up = magnetic_field_enu_t(POLE)
    assert math.hypot(east, north) < 1e-3 * -up
    assert up == pytest.approx(-2.0 * 29_734e-9, rel=1e-3)
    across = Geodetic(-POLE.latitude_deg, POLE.longitude_deg + 180.0, 0.0)
    assert magnetic_field_enu_t(across)[2] == pytest.approx(-up)


@given(st.floats(-75.0, 75.0), st.floats(-180.0, 180.0))
def test_a_compass_points_to_the_geomagnetic_pole(
    latitude_deg: float, longitude_deg: float
) -> None:
    east, north, up = magnetic_field_enu_t(Geodetic(latitude_deg, longitude_deg, 0.0))
    assert 2.9e-5 < math.sqrt(east * east + north * north + up * up) < 6.0e-5
    here, there = math.radians(latitude_deg), math.radians(POLE.latitude_deg)
    turn = math.radians(POLE.longitude_deg - longitude_deg)
    bearing = math.atan2(
        math.sin(turn) * math.cos(there),
        math.cos(here) * math.sin(there) - math.sin(here) * math.cos(there) * math.cos(turn),
    )
    away = math.remainder(math.atan2(east, north) - bearing, 2.0 * math.pi)
    assert abs(away) < 0.02


def test_in_zurich_it_is_near_the_real_one() -> None:
    """Which is about 1, 21 and -43 microtesla there."""
    assert magnetic_field_enu_t(ZURICH) == pytest.approx((1e-6, 21e-6, -43e-6), abs=1e-5)
