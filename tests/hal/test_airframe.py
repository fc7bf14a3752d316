"""An airframe that can't be, or can't fly, is refused with the number that is wrong."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.deploy import find_robots, read_robot
from ghost.hal.airframe import GRAVITY_MPS2
from tests.simulation.airframes import MAINS, QUAD, ROTOR, ring


@pytest.mark.parametrize(
    ("part", "change", "complaint"),
    [
        (ROTOR, {"direction": 0}, "direction is 0; expected 1"),
        (ROTOR, {"max_thrust_n": 0.0}, "max_thrust_n is 0.0"),
        (ROTOR, {"max_speed_rps": -1.0}, "max_speed_rps is -1.0"),
        (ROTOR, {"max_power_w": np.nan}, "max_power_w is nan"),
        (ROTOR, {"time_constant_ns": 0}, "time_constant_ns is 0"),
        (ROTOR, {"torque_per_thrust_m": -0.1}, "torque_per_thrust_m is -0.1"),
        (ROTOR, {"axis_flu": (0.0, 0.0, 2.0)}, "has length 2; expected 1"),
        (ROTOR, {"axis_flu": (np.nan, 0.0, 1.0)}, "has length nan"),
        (MAINS, {"capacity_ah": 0.0}, "capacity_ah is 0.0"),
        (MAINS, {"empty_v": 0.0}, "empty_v is 0.0"),
        (MAINS, {"knee_v": 17.0}, "expected empty_v < knee_v < full_v"),
        (MAINS, {"resistance_ohm": -0.1}, "can't be negative"),
        (MAINS, {"idle_power_w": np.nan}, "can't be negative"),
        (QUAD, {"mass_kg": 0.0}, "mass_kg is 0.0"),
        (QUAD, {"inertia_kgm2": (0.01, 0.0, 0.01)}, "expected three above 0"),
        (QUAD, {"inertia_kgm2": (0.01, 0.01, 0.03)}, "above the other two"),
        (QUAD, {"thrust_curve": 1.1}, "thrust_curve is 1.1"),
        (QUAD, {"drag_linear": (0.0, -1.0, 0.0)}, "drag_linear is"),
        (QUAD, {"drag_quadratic": (np.inf, 0.0, 0.0)}, "drag_quadratic is"),
        (QUAD, {"drag_angular": (0.0, 0.0, np.nan)}, "drag_angular is"),
        (QUAD, {"rotors": ring(2)}, "2 rotors; expected 3 or more"),
        (QUAD, {"legs_flu_m": ()}, "no legs_flu_m"),
        (QUAD, {"mass_kg": 2.1}, "lift 20.00 N and the vehicle weighs 20.59 N"),
    ],
)
def test_what_cannot_be_is_refused(part: Any, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        replace(part, **change)


def test_thrust_counts_along_the_bodys_axis() -> None:
    canted = replace(QUAD, rotors=ring(4, axis_flu=(0.6, 0.0, 0.8)))
    assert canted.max_thrust_n == pytest.approx(16.0)
    assert canted.thrust_to_weight == pytest.approx(16.0 / GRAVITY_MPS2)


def test_shipped_robots_could_fly_with_a_fifth_of_their_thrust_gone() -> None:
    flying = [
        robot.airframe for path in find_robots().values() if (robot := read_robot(path)).airframe
    ]
    assert len(flying) >= 3
    for airframe in flying:
        assert airframe is not None
        assert airframe.thrust_to_weight > 1.25
