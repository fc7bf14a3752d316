"""The rigid body, its rotors, its battery and the ground under it, against pen and paper."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from ghost.core.rotations import from_rotation_vector, normalize, rotate
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.lightweight import kernel
from ghost.simulation.lightweight.physics import Multirotors, standing_m
from ghost.simulation.models import kernel as models
from tests.interpreted import interpreted
from tests.simulation.airframes import HEXA, HOVER, MAINS, QUAD, ROTOR, ring, shipped

FloatArray = NDArray[np.float64]
STEP_NS = 1_000_000
ALOFT = Start(position_enu_m=(0.0, 0.0, 1000.0))
X500 = shipped("x500")
PLAIN = interpreted(kernel)


def alone(airframe: Airframe, start: Start = ALOFT, step_ns: int = STEP_NS) -> Multirotors:
    return Multirotors([airframe], [start], step_ns)


def spun_up(airframe: Airframe, *motors: float) -> Multirotors:
    """In the air, with the rotors where the commands want them."""
    flight = alone(airframe)
    flight.motors[0] = flight.rotor_speed[0] = motors
    return flight


def all_of(flight: Multirotors) -> bytes:
    arrays = (flight.body, flight.rotor_speed, flight.power, flight.felt, flight.touch)
    return b"".join(array.tobytes() for array in arrays)


def row_of(flight: Multirotors, row: int, rotor_count: int) -> bytes:
    speeds = flight.rotor_speed[row, :rotor_count]
    arrays = (flight.body[row], speeds, flight.power[row], flight.felt[row], flight.touch[row])
    return b"".join(array.tobytes() for array in arrays)


def test_free_fall_is_exact() -> None:
    start = replace(ALOFT, velocity_enu_mps=(3.0, -4.0, 5.0))
    flight = alone(QUAD, start)
    flight.step(4000)
    expected = np.array([12.0, -16.0, 1000.0 + 20.0 - 0.5 * GRAVITY_MPS2 * 16.0])
    np.testing.assert_allclose(flight.body[0, :3], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        flight.body[0, 3:6], [3.0, -4.0, 5.0 - 4.0 * GRAVITY_MPS2], rtol=0, atol=1e-11
    )
    assert not flight.felt[0, :6].any(), "who falls feels nothing"


def test_a_fall_ends_at_the_speed_whose_drag_is_the_weight() -> None:
    flight = alone(replace(QUAD, drag_linear=(0.0, 0.0, 0.5), drag_quadratic=(0.0, 0.0, 0.1)))
    flight.step(20_000)
    speed_mps = -flight.body[0, 5]
    assert 0.5 * speed_mps + 0.1 * speed_mps**2 == pytest.approx(GRAVITY_MPS2, rel=1e-6)


def test_drag_goes_with_the_air_not_with_the_ground() -> None:
    flight = spun_up(replace(QUAD, drag_linear=(0.5, 0.5, 0.5)), *[HOVER] * 4)
    flight.push[0, :3] = (4.0, -2.0, 0.0)
    flight.step(20_000)
    np.testing.assert_allclose(flight.body[0, 3:5], (4.0, -2.0), rtol=1e-3)


def test_thrust_that_is_the_weight_hovers() -> None:
    flight = spun_up(QUAD, *[HOVER] * 4)
    flight.step(10_000)
    np.testing.assert_allclose(flight.body[0, :3], (0.0, 0.0, 1000.0), rtol=0, atol=1e-6)
    np.testing.assert_allclose(flight.body[0, 10:13], 0.0, rtol=0, atol=1e-9)
    mean = flight.felt[0, :3] / flight.felt[0, 6]
    np.testing.assert_allclose(mean, (0.0, 0.0, GRAVITY_MPS2), rtol=0, atol=1e-6)


def test_a_thrust_curve_of_nothing_makes_thrust_go_with_the_command() -> None:
    flight = spun_up(replace(QUAD, thrust_curve=0.0), *[GRAVITY_MPS2 / 20.0] * 4)
    flight.step(1000)
    assert flight.body[0, 5] == pytest.approx(0.0, abs=1e-9)


def test_a_free_spin_keeps_its_energy_and_its_momentum() -> None:
    flight = alone(QUAD, replace(ALOFT, rate_flu_rps=(3.0, -6.0, 2.0)))
    inertia = np.array(QUAD.inertia_kgm2)

    def energy_and_momentum() -> FloatArray:
        rate = flight.body[0, 10:13]
        momentum = rotate(flight.body[0, 6:10], inertia * rate)
        return np.array([0.5 * float(rate @ (inertia * rate)), *momentum])

    before = energy_and_momentum()
    flight.step(10_000)
    np.testing.assert_allclose(energy_and_momentum(), before, rtol=0, atol=2e-3 * before[0])
    assert np.linalg.norm(flight.body[0, 6:10]) == pytest.approx(1.0, abs=1e-12)
    spread = abs(flight.body[0, 10:13] - (3.0, -6.0, 2.0)).max()
    assert spread > 0.1, "three unlike axes: the rate wanders in the body"


@pytest.mark.parametrize("time_constant_ns", [20_000_000, 50_000_000, 200_000_000])
def test_a_motor_is_two_thirds_there_after_its_time_constant(time_constant_ns: int) -> None:
    flight = alone(replace(QUAD, rotors=ring(4, time_constant_ns=time_constant_ns)))
    flight.motors[0] = 1.0
    flight.step(time_constant_ns // STEP_NS)
    np.testing.assert_allclose(flight.rotor_speed[0], 1.0 - np.exp(-1.0), rtol=0, atol=0.01)


@pytest.mark.parametrize(("command", "held"), [(-1.0, 0.0), (7.0, 1.0)])
def test_commands_are_held_between_nothing_and_full(command: float, held: float) -> None:
    flight = alone(QUAD)
    flight.motors[0] = command
    flight.step(2000)
    np.testing.assert_allclose(flight.rotor_speed[0], held, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("stronger", "axis", "sign"),
    [
        ((0, 1), 10, 1.0),  # left of the nose: rolls to the right
        ((2, 3), 10, -1.0),
        ((1, 2), 11, 1.0),  # behind: pitches nose down
        ((0, 3), 11, -1.0),
        ((1, 3), 12, -1.0),  # counter-clockwise propellers turn the body clockwise
        ((0, 2), 12, 1.0),
    ],
)
def test_stronger_rotors_turn_the_body(stronger: tuple[int, int], axis: int, sign: float) -> None:
    places = [rotor.position_flu_m for rotor in QUAD.rotors]
    assert [(x > 0.0, y > 0.0) for x, y, _ in places] == [(1, 1), (0, 1), (0, 0), (1, 0)]
    flight = spun_up(QUAD, *(0.8 if rotor in stronger else 0.6 for rotor in range(4)))
    flight.step(10)
    rates = flight.body[0, 10:13]
    assert sign * flight.body[0, axis] > 0.01
    assert np.count_nonzero(abs(rates) > 1e-9) == 1


def test_a_tilted_rotor_pushes_along_its_axis_and_twists_about_the_centre() -> None:
    cant = (0.6, 0.0, 0.8)
    rotors = tuple(
        replace(ROTOR, position_flu_m=(0.3, 0.1, -0.2), axis_flu=cant, direction=sign)
        for sign in (1, -1, 1, -1)
    )
    flight = spun_up(replace(QUAD, rotors=rotors), 1.0, 1.0, 1.0, 1.0)
    flight.step()
    thrust_n = 20.0 * np.array(cant)
    np.testing.assert_allclose(flight.felt[0, :3], thrust_n, rtol=1e-12)
    torque_nm = np.cross((0.3, 0.1, -0.2), thrust_n)  # the reactions cancel
    expected = torque_nm / QUAD.inertia_kgm2 * 1e-3
    np.testing.assert_allclose(flight.body[0, 10:13], expected, rtol=0.02)


def test_a_weak_motor_gives_its_share() -> None:
    flight = spun_up(QUAD, *[HOVER] * 4)
    flight.strength[0] = (1.0, 0.5, 1.0, 0.5)
    flight.step()
    assert flight.felt[0, 2] == pytest.approx(0.75 * GRAVITY_MPS2)


def test_a_battery_gives_its_energy_and_no_more() -> None:
    pack = replace(MAINS, capacity_ah=0.1, idle_power_w=20.0, resistance_ohm=0.1)
    flight = alone(replace(QUAD, battery=pack))
    charges, energy_j = [1.0], 0.0
    while flight.power[0, 0] > 0.0:
        flight.step(100)
        charges.append(float(flight.power[0, 0]))
        energy_j += 20.0 * 0.1
    assert charges == sorted(charges, reverse=True)
    # The open voltage falls in a straight line to the knee at a fifth, and in another to nothing.
    mean_v = 0.8 * 15.5 + 0.2 * 13.5 - 0.1 * 20.0 / 15.1
    assert energy_j == pytest.approx(0.1 * 3600.0 * mean_v, rel=0.01)


@pytest.mark.parametrize(("charge", "open_v"), [(1.0, 16.0), (0.6, 15.5), (0.2, 15.0), (0.1, 13.5)])
def test_voltage_sags_under_load_and_thrust_with_its_square(charge: float, open_v: float) -> None:
    pack = replace(MAINS, resistance_ohm=0.05)
    flight = alone(replace(QUAD, battery=pack), replace(ALOFT, charge=charge))
    assert flight.power[0, 1] == pytest.approx(open_v)
    flight.motors[0] = 1.0
    flight.step(1000)
    _, voltage_v, current_a = flight.power[0]
    assert current_a == pytest.approx(200.0 / voltage_v, rel=1e-3)
    assert voltage_v == pytest.approx(open_v - 0.05 * current_a, abs=1e-3)
    felt = flight.felt[0, 2]
    flight.step()
    assert flight.felt[0, 2] - felt == pytest.approx(20.0 * (voltage_v / 16.0) ** 2, rel=1e-3)


def test_a_vehicle_stands_still_on_its_legs() -> None:
    flight = alone(X500, Start())
    flight.step(60_000)
    np.testing.assert_allclose(flight.body[0, :3], (0.0, 0.0, standing_m(X500)), rtol=0, atol=1e-6)
    assert flight.touch[0, 0] == 4
    mean = flight.felt[0, :3] / flight.felt[0, 6]
    np.testing.assert_allclose(mean, (0.0, 0.0, GRAVITY_MPS2), rtol=0, atol=1e-3)


def test_friction_holds_a_small_push_and_loses_to_a_large_one() -> None:
    weight_n = QUAD.mass_kg * GRAVITY_MPS2
    flight = alone(replace(QUAD, inertia_kgm2=(1.0, 1.0, 1.0)), Start())
    flight.push[0, 3] = 0.1 * weight_n
    flight.step(3000)
    assert abs(flight.body[0, 3]) < 0.01
    flight.push[0, 3] = weight_n
    flight.step(1000)
    before = float(flight.body[0, 3])
    flight.step(1000)
    assert flight.body[0, 3] - before == pytest.approx(0.3 * GRAVITY_MPS2, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(
    height_m=st.floats(0.1, 60.0),
    turn_rad=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
    speed_mps=st.tuples(*[st.floats(-5.0, 5.0)] * 3),
    rate_rps=st.tuples(*[st.floats(-5.0, 5.0)] * 3),
    step_ns=st.sampled_from([1_000_000, 2_000_000, 4_000_000]),
)
def test_a_crash_gains_no_energy_and_stays_on_the_ground(
    height_m: float,
    turn_rad: tuple[float, float, float],
    speed_mps: tuple[float, float, float],
    rate_rps: tuple[float, float, float],
    step_ns: int,
) -> None:
    w, x, y, z = from_rotation_vector(turn_rad).tolist()
    start = Start((0.0, 0.0, 0.3 + height_m), (w, x, y, z), speed_mps, rate_rps)
    flight = alone(X500, start, step_ns)
    inertia = np.array(X500.inertia_kgm2)

    def energy_j() -> float:
        body = flight.body[0]
        spin_j = 0.5 * float(body[10:13] @ (inertia * body[10:13]))
        moved_j = 0.5 * float(body[3:6] @ body[3:6]) + GRAVITY_MPS2 * float(body[2])
        return X500.mass_kg * moved_j + spin_j

    before_j = energy_j()
    for _ in range(10 * 1_000_000_000 // step_ns // 10):
        flight.step(10)
        assert energy_j() < before_j * 1.01 + 0.1
        assert flight.body[0, 2] > -1.0
    np.testing.assert_allclose(flight.body[0, 3:6], 0.0, rtol=0, atol=0.05)
    np.testing.assert_allclose(flight.body[0, 10:13], 0.0, rtol=0, atol=0.3)


def test_the_hardest_touch_is_remembered() -> None:
    flight = alone(QUAD, Start(position_enu_m=(0.0, 0.0, 0.1 + 0.5)))
    flight.step(3000)
    assert flight.touch[0, 1] == pytest.approx(np.sqrt(2.0 * GRAVITY_MPS2 * 0.5), rel=0.01)


def scattered(seed: int, airframes: list[Airframe]) -> Multirotors:
    """A batch in all sorts of states, some of them on the ground."""
    flight = Multirotors(airframes, [Start()] * len(airframes), STEP_NS)
    for row, airframe in enumerate(airframes):
        stream = RandomSource(seed + row % 3)
        flight.body[row, :6] += 3.0 * stream.normal(6)
        flight.body[row, 2] = abs(flight.body[row, 2]) * 0.2
        flight.body[row, 6:10] = normalize(stream.normal(4))
        flight.body[row, 10:13] = 3.0 * stream.normal(3)
        rotor_count = len(airframe.rotors)
        flight.motors[row, :rotor_count] = stream.uniform(rotor_count)
        flight.strength[row, :rotor_count] = stream.uniform(rotor_count)
        flight.push[row] = stream.normal(9)
        flight.power[row, 0] = stream.uniform()
    return flight


@pytest.mark.parametrize("seed", range(5))
def test_a_vehicle_among_many_flies_as_if_alone(seed: int) -> None:
    batch = [QUAD, HEXA, X500, QUAD, HEXA, X500]
    many = scattered(seed, batch)
    many.step(500)
    for row in range(3):
        own = len(batch[row].rotors)
        assert row_of(many, row, own) == row_of(many, row + 3, own)
        lone = scattered(seed, batch[: row + 1])
        lone.step(500)
        assert row_of(lone, row, own) == row_of(many, row, own)
    quad = Multirotors([QUAD], [Start()], STEP_NS)
    for name in ("body", "motors", "strength", "push", "power"):
        before = getattr(scattered(seed, batch), name)
        getattr(quad, name)[0] = before[0, : getattr(quad, name).shape[1]]
    quad.step(500)
    assert row_of(quad, 0, 4) == row_of(many, 0, 4)


@pytest.mark.parametrize("seed", range(5))
def test_four_steps_at_once_are_four_steps(seed: int) -> None:
    at_once, one_by_one = (scattered(seed, [QUAD, HEXA, X500]) for _ in range(2))
    for _ in range(50):
        at_once.step(4)
        for _ in range(4):
            one_by_one.step()
    assert all_of(at_once) == all_of(one_by_one)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_compiled_and_interpreted_are_the_same_bits(seed: int) -> None:
    compiled, plain = (scattered(seed, [QUAD, HEXA, X500]) for _ in range(2))
    assert isinstance(plain._advance, partial)
    plain._advance = partial(PLAIN.advance, *plain._advance.args)
    compiled.step(60)
    plain.step(60)
    assert all_of(compiled) == all_of(plain)
    random = RandomSource(seed)
    rays, draw, top_rps = random.normal((9, 3)), random.normal(12), np.full(4, 160.0)
    seen = []
    for module, shared in ((kernel, models), (PLAIN, interpreted(models))):
        away_m, work, speed_rps = np.full(9, np.inf), np.outer(draw[:5], draw[:7]), np.zeros(4)
        module.cast(plain.body, 1, rays[0], rays, 12.0, away_m)
        shared.read_imu(plain.felt[2], work, draw, 1.5)
        shared.turning(plain.rotor_speed, plain.power, 0, 0.6, 16.8, top_rps, speed_rps)
        seen.append(away_m.tobytes() + work.tobytes() + speed_rps.tobytes())
    assert seen[0] == seen[1]


def test_as_many_starts_as_airframes_are_needed() -> None:
    with pytest.raises(ConfigError, match="2 airframes and 1 starts"):
        Multirotors([QUAD, QUAD], [Start()], STEP_NS)
    with pytest.raises(ConfigError, match="0 airframes"):
        Multirotors([], [], STEP_NS)
