"""JSBSim's Earth is round and turns, a run's world is flat. Between them nothing is lost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.exact import arctangent2, sine_cosine
from ghost.core.frames import Geodetic
from ghost.core.rotations import from_rotation_vector
from ghost.simulation.adapter import load_adapter
from tests.simulation.airframes import QUAD, shipped
from tests.simulation.jsbsim.rig import SECOND, begun

PLACES = {
    "zurich": Geodetic(47.397742, 8.545594, 488.0),
    "la paz": Geodetic(-16.5, -68.15, 3640.0),
    "dead sea": Geodetic(31.5, 35.5, -430.0),
    "equator": Geodetic(0.0, 179.999, 0.0),
    "svalbard": Geodetic(78.2, 15.6, 20.0),
}
SMOOTH = replace(QUAD, drag_linear=(0.0, 0.0, 0.0), drag_quadratic=(0.0, 0.0, 0.0))
EARTH_RPS = 7.292115e-5
POSES = {
    "level": (0.0, 0.0, 0.0),
    "askew": (0.5, -0.4, 2.9),
    "nose up": (0.0, -np.pi / 2.0, 0.0),
    "nose down": (0.0, np.pi / 2.0, 0.0),
    "upside down": (np.pi, 0.0, 0.0),
}


def truth(adapter: Any) -> Any:
    return adapter.ground_truth(0)


@pytest.mark.parametrize("origin", PLACES.values(), ids=PLACES)
def test_a_vehicle_starts_where_it_was_asked_to(origin: Geodetic) -> None:
    for turn in POSES.values():
        w, x, y, z = from_rotation_vector(turn).tolist()
        asked: dict[str, Any] = {
            "position_enu_m": (800.0, -300.0, 120.0),
            "velocity_enu_mps": (3.0, -2.0, 1.0),
            "attitude": (w, x, y, z),
            "rate_flu_rps": (0.3, -0.2, 0.1),
        }
        found = truth(begun(load_adapter("jsbsim"), QUAD, origin=origin, **asked))
        np.testing.assert_allclose(found.position_enu_m, asked["position_enu_m"], atol=1e-6)
        np.testing.assert_allclose(found.velocity_enu_mps, asked["velocity_enu_mps"], atol=1e-9)
        np.testing.assert_allclose(found.rate_flu_rps, asked["rate_flu_rps"], atol=1e-9)
        same = abs(float(np.sum(found.attitude * asked["attitude"])))
        assert same == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("origin", PLACES.values(), ids=PLACES)
def test_what_falls_falls_as_on_earth(origin: Geodetic) -> None:
    """With the gravity of its latitude and height, and east, because the ground turns less fast."""
    adapter = begun(load_adapter("jsbsim"), SMOOTH, origin=origin, position_enu_m=(0.0, 0.0, 200.0))
    adapter.step(4 * SECOND)
    east_m, north_m, up_m = truth(adapter).position_enu_m.tolist()
    sine, cosine = sine_cosine(np.radians(origin.latitude_deg))
    square = sine * sine
    level_mps2 = 9.7803253359 * (1.0 + 0.00193185265 * square) / (1.0 - 0.00669438 * square) ** 0.5
    gravity_mps2 = level_mps2 - 3.086e-6 * (origin.altitude_m + 150.0)
    assert 2.0 * (200.0 - up_m) / 16.0 == pytest.approx(gravity_mps2, abs=3e-4)
    assert east_m == pytest.approx(EARTH_RPS * gravity_mps2 * 64.0 / 3.0 * cosine, rel=0.01)
    assert abs(north_m) < 0.001


def test_who_flies_level_rises_over_a_flat_world_or_the_ground_falls_away() -> None:
    """10 km out the ground lies 7.8 m below z = 0, and is where rangefinders see it."""
    adapter = begun(load_adapter("jsbsim"), QUAD, position_enu_m=(10_000.0, 0.0, 0.0))
    down = np.array([[0.0, 0.0, -1.0]])
    (seen_m,) = adapter._flight.physics.cast_m(0, np.zeros(3), down, 40.0)
    assert seen_m == pytest.approx(7.83, abs=0.01)


@pytest.mark.parametrize("robot", ["x500", "crazyflie", "hexa"])
def test_a_vehicle_stands_still_on_its_legs(robot: str) -> None:
    """Where it was put, to a tenth of a millimetre, with g in its accelerometer."""
    adapter = begun(load_adapter("jsbsim"), shipped(robot))
    before = truth(adapter)
    adapter.step(2 * SECOND)
    after = truth(adapter)
    np.testing.assert_allclose(after.position_enu_m, before.position_enu_m, atol=1e-4)
    np.testing.assert_allclose(after.attitude, before.attitude, atol=1e-5)
    felt = adapter._flight.physics.felt[0]
    np.testing.assert_allclose(felt[:3] / felt[6], (0.0, 0.0, 9.807), atol=0.001)


def test_gyroscopes_feel_the_earth_turn() -> None:
    """Standing with the nose to the east: north is at its left, and the axis is up by latitude."""
    adapter = begun(load_adapter("jsbsim"), shipped("x500"))
    adapter.step(2 * SECOND)
    settled = adapter._flight.physics.felt[0].copy()
    adapter.step(2 * SECOND)
    felt = adapter._flight.physics.felt[0] - settled
    ahead, left, up = (felt[3:6] / felt[6]).tolist()
    assert ahead == pytest.approx(0.0, abs=1e-7)
    latitude_deg = np.degrees(arctangent2(up, left))
    assert latitude_deg == pytest.approx(47.397742, abs=0.1)
    assert (left * left + up * up) ** 0.5 == pytest.approx(EARTH_RPS, rel=1e-3)
