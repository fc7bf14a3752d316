"""The F450 that JSBSim carries, with motors, propellers, drag and gear of its own."""

from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.core.frames import Geodetic
from ghost.simulation.adapter import Fault, FaultKind, Wind, load_adapter
from tests.simulation.airframes import shipped
from tests.simulation.jsbsim.rig import MS, SECOND, begun

HIGH_M = (0.0, 0.0, 100.0)
F450 = shipped("f450")


def aloft(**settings: Any) -> Any:
    return begun(load_adapter("jsbsim@F450"), F450, position_enu_m=HIGH_M, **settings)


def lift_mps2(adapter: Any, motor: float) -> float:
    """Once the propellers turn, and before it moves much."""
    adapter.send_motors(0, np.full(4, motor))
    adapter.step(300 * MS)
    return float(adapter.ground_truth(0).acceleration_enu_mps2[2]) + 9.807


def test_propellers_lift_as_the_robot_says_and_less_in_thin_air() -> None:
    (rotor, *_), curve = F450.rotors, F450.thrust_curve
    said = 4.0 * rotor.max_thrust_n * (curve * 0.45 + (1.0 - curve)) * 0.45 / F450.mass_kg
    low = lift_mps2(aloft(), 0.45)
    assert low == pytest.approx(said, rel=0.05)
    high = lift_mps2(aloft(origin=Geodetic(27.98, 86.92, 5_364.0)), 0.45)
    density = 0.606  # there, of that here
    assert density < high / low < density**0.5, "less air brakes the propellers less, too"


@pytest.mark.parametrize("motor", range(4))
def test_each_motor_lifts_its_own_corner(motor: int) -> None:
    adapter = aloft()
    motors = np.full(4, 0.42)
    motors[motor] = 0.5
    adapter.send_motors(0, motors)
    adapter.step(100 * MS)
    roll, pitch, yaw = adapter.ground_truth(0).rate_flu_rps.tolist()
    x_m, y_m, _ = F450.rotors[motor].position_flu_m
    assert np.sign((roll, -pitch, -yaw)).tolist() == [
        np.sign(y_m),
        np.sign(x_m),
        F450.rotors[motor].direction,
    ]
    speeds = adapter.ground_truth(0).rotor_speed_rps
    assert int(np.argmax(speeds)) == motor


def test_a_motor_that_lost_strength_lifts_as_much_less() -> None:
    adapter = aloft()
    for motor in range(4):
        adapter.inject(0, Fault(f"motor/{motor}", FaultKind.STRENGTH, (0.5,)))
    assert lift_mps2(adapter, 0.45) == pytest.approx(0.5 * lift_mps2(aloft(), 0.45), rel=0.1)


def test_wind_blows_it_along_by_its_own_drag() -> None:
    adapter = aloft(wind=Wind((0.0, -8.0, 0.0)))
    adapter.step(SECOND // 2)
    east, north, _ = adapter.ground_truth(0).velocity_enu_mps.tolist()
    assert north == pytest.approx(-0.5 * F450.drag_quadratic[1] * 64.0 / F450.mass_kg, rel=0.2)
    assert abs(east) < 0.001


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("jsbsim@c172x", "jsbsim has no model 'c172x' .* expected jsbsim@F450"),
        ("jsbsim@../../etc", "jsbsim has no model"),
    ],
)
def test_a_model_that_cannot_be_flown_by_its_motors_is_refused(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_adapter(name)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ConfigError, match="the robot has 6 rotors, and JSBSim's F450 4"):
        begun(load_adapter("jsbsim@F450"), shipped("hexa"))
    adapter = aloft()
    assert not adapter.capabilities.disturbance
    with pytest.raises(ConfigError, match="nowhere to push"):
        adapter.disturb(0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
