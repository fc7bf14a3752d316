"""The loops and the mixer: signs, limits and priorities; compiled as interpreted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ghost.control import allocate, derive, kernel
from ghost.control.gains import pack
from ghost.core.random import RandomSource
from ghost.core.rotations import from_euler_zyx, from_yaw, multiply, normalize, tilt_of, yaw_of
from ghost.hal import CommandLevel, SafetyEnvelope
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from tests.control.test_allocation import effects
from tests.interpreted import interpreted
from tests.simulation.airframes import HEXA, QUAD

FloatArray = NDArray[np.float64]
PLAIN = interpreted(kernel)
ENVELOPE = SafetyEnvelope(max_tilt_rad=0.5, max_speed_mps=8.0, max_climb_mps=3.0)
GAINS = pack(derive(QUAD, 4_000_000), QUAD, ENVELOPE)
WEIGHT_N = QUAD.mass_kg * GRAVITY_MPS2
STEP_S = 0.004
# Two rotors of half the strength: what fits one doesn't fit the other.
UNEVEN = replace(
    QUAD,
    rotors=tuple(
        replace(rotor, max_thrust_n=limit_n)
        for rotor, limit_n in zip(QUAD.rotors, (5.0, 2.5, 5.0, 2.5), strict=True)
    ),
)


class Loop:
    """One call of the cascade, from a vehicle that hovers level at the origin."""

    def __init__(self, level: CommandLevel) -> None:
        self.nominal = np.zeros(17)
        self.nominal[6] = 1.0
        self.rate = np.zeros(3)
        self.want = np.zeros(20)
        self.want[0] = level
        self.want[10] = 1.0
        self.integral = np.zeros(6)
        self.demand = np.zeros(4)

    def run(self, module: Any = kernel) -> FloatArray:
        module.cascade(
            self.nominal, self.rate, self.want, self.integral, GAINS, self.demand, STEP_S
        )
        return self.demand

    @property
    def attitude(self) -> FloatArray:
        return self.want[10:14]


@pytest.mark.parametrize("level", [CommandLevel.VELOCITY, CommandLevel.POSITION])
def test_without_an_error_thrust_is_the_weight_and_nothing_turns(level: CommandLevel) -> None:
    demand = Loop(level).run()
    np.testing.assert_allclose(demand, (WEIGHT_N, 0.0, 0.0, 0.0), rtol=1e-12, atol=1e-12)


def test_without_an_error_a_moving_level_vehicle_is_left_alone_but_for_drag() -> None:
    loop = Loop(CommandLevel.TRAJECTORY)
    loop.want[4:7] = loop.nominal[3:6] = (2.0, -1.0, 0.5)
    np.testing.assert_allclose(loop.run(), (WEIGHT_N, 0.0, 0.0, 0.0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("error", "roll", "pitch"),
    [
        ((1.0, 0.0), 0.0, 1.0),
        ((-1.0, 0.0), 0.0, -1.0),
        ((0.0, 1.0), -1.0, 0.0),
        ((0.0, -1.0), 1.0, 0.0),
    ],
)
@pytest.mark.parametrize("first", [1, 4, 7])
def test_it_leans_towards_where_it_should_go(
    first: int, error: tuple[float, float], roll: float, pitch: float
) -> None:
    """Facing east: nose down to go east, left side down to go north."""
    loop = Loop(CommandLevel.TRAJECTORY)
    loop.want[first : first + 2] = error
    _, torque_x, torque_y, torque_z = loop.run()
    assert np.sign(round(torque_x, 9)) == roll
    assert np.sign(round(torque_y, 9)) == pitch
    assert abs(torque_z) < 1e-12


def test_it_leans_the_same_way_in_the_world_whatever_its_heading() -> None:
    leans = []
    for yaw_rad in (0.0, 1.0, -2.5):
        loop = Loop(CommandLevel.POSITION)
        loop.nominal[6:10], loop.want[18] = from_yaw(yaw_rad), yaw_rad
        loop.want[1:3] = (1.0, 2.0)
        loop.run()
        assert yaw_of(loop.attitude) == pytest.approx(yaw_rad, abs=0.15)
        w, x, y, z = loop.attitude
        leans.append((2.0 * (x * z + w * y), 2.0 * (y * z - w * x)))
    np.testing.assert_allclose(leans, [leans[0]] * 3, rtol=1e-9)
    assert leans[0][1] == pytest.approx(2.0 * leans[0][0])


@pytest.mark.parametrize("first", [3, 6, 9])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_up_takes_more_thrust_and_down_less(first: int, sign: float) -> None:
    loop = Loop(CommandLevel.TRAJECTORY)
    loop.want[first] = 0.5 * sign
    assert sign * (loop.run()[0] - WEIGHT_N) > 0.1


def test_yaw_and_rates_turn_the_way_they_say() -> None:
    loop = Loop(CommandLevel.POSITION)
    loop.want[18] = 0.5
    assert loop.run()[3] > 0.0
    for axis in range(3):
        loop = Loop(CommandLevel.BODY_RATE)
        loop.want[14 + axis], loop.want[17] = 0.3, 0.5
        demand = loop.run()
        assert demand[1 + axis] > 0.0
        assert np.count_nonzero(demand[1:]) == 1
        assert demand[0] == pytest.approx(0.5 * QUAD.max_thrust_n)


def test_yaw_takes_the_short_way_round() -> None:
    loop = Loop(CommandLevel.POSITION)
    loop.nominal[6:10], loop.want[18] = from_yaw(3.0), -3.0
    assert loop.run()[3] > 0.0, "over pi, not back through nothing"


@given(
    position_m=st.tuples(*[st.floats(-1000.0, 1000.0)] * 3),
    velocity_mps=st.tuples(*[st.floats(-30.0, 30.0)] * 3),
    yaw_rad=st.floats(-3.1, 3.1),
    roll_rad=st.floats(-3.0, 3.0),
    pitch_rad=st.floats(-1.5, 1.5),
)
def test_no_set_point_breaks_the_limits(
    position_m: tuple[float, float, float],
    velocity_mps: tuple[float, float, float],
    yaw_rad: float,
    roll_rad: float,
    pitch_rad: float,
) -> None:
    loop = Loop(CommandLevel.TRAJECTORY)
    loop.want[1:4], loop.want[18] = position_m, yaw_rad
    loop.nominal[3:6] = velocity_mps
    loop.nominal[6:10] = from_euler_zyx(roll_rad, pitch_rad, 0.3)
    demand = loop.run()
    want = loop.want
    assert np.hypot(want[4], want[5]) <= 8.0 + 1e-9
    assert abs(want[6]) <= 3.0
    assert abs(want[14:16]).max() <= ENVELOPE.max_rate_rps
    assert abs(want[16]) <= 2.0
    assert 0.0 <= want[17] <= 1.0
    assert np.linalg.norm(loop.attitude) == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(demand).all()
    # A tenth of the weight is the least lift, and there the tilt is at its greatest.
    sideways = GRAVITY_MPS2 * np.tan(0.5)
    assert tilt_of(loop.attitude) <= np.arctan2(sideways, 0.1 * GRAVITY_MPS2) + 1e-9


def test_at_the_height_it_should_have_it_never_tilts_beyond_the_limit() -> None:
    loop = Loop(CommandLevel.POSITION)
    loop.want[1:4] = (500.0, -300.0, 0.0)
    loop.run()
    assert tilt_of(loop.attitude) == pytest.approx(0.5, abs=1e-9)


def test_a_lasting_error_is_integrated_and_a_lower_level_forgets() -> None:
    loop = Loop(CommandLevel.VELOCITY)
    loop.want[4:7] = (0.5, -0.5, 0.5)
    first = loop.run().copy()
    for _ in range(100):
        demand = loop.run().copy()
    assert (np.sign(loop.integral[:3]) == (1.0, -1.0, 1.0)).all()
    assert demand[0] > first[0]
    for _ in range(100_000):
        loop.run()
    assert abs(loop.integral[:3]).max() <= 0.5 * GRAVITY_MPS2
    assert abs(loop.integral[3:]).max() <= 40.0
    loop.want[0] = CommandLevel.ATTITUDE
    loop.run()
    assert not loop.integral[:3].any()


def test_a_large_step_on_its_way_is_not_integrated() -> None:
    loop = Loop(CommandLevel.VELOCITY)
    loop.want[4:7] = (5.0, 0.0, 3.0)
    loop.run()
    assert not loop.integral[:3].any()


@given(seed=st.integers(0, 2**32), level=st.sampled_from(list(CommandLevel)[1:]))
def test_the_cascade_has_the_same_bits_compiled_and_interpreted(
    seed: int, level: CommandLevel
) -> None:
    random = RandomSource(seed)
    seen = []
    loop = Loop(level)
    loop.nominal[:] = random.normal(17)
    loop.nominal[6:10] = normalize(random.normal(4))
    loop.rate[:], loop.want[1:] = random.normal(3), 2.0 * random.normal(19)
    loop.want[10:14] = normalize(loop.want[10:14])
    arrays = (loop.want, loop.integral, loop.demand)
    before = [array.copy() for array in arrays]
    for module in (kernel, PLAIN):
        for array, copy in zip(arrays, before, strict=True):
            array[:] = copy
        for _ in range(3):
            loop.run(module)
        seen.append(b"".join(array.tobytes() for array in arrays))
    assert seen[0] == seen[1]


# The mixer.


def limits_of(airframe: Airframe) -> FloatArray:
    return np.array([rotor.max_thrust_n for rotor in airframe.rotors])


def mixed(
    airframe: Airframe, demand: Any, *, curve: float = 1.0, sag: float = 1.0, module: Any = kernel
) -> FloatArray:
    motors = np.zeros(len(airframe.rotors))
    module.mix(
        np.array(demand, dtype=float), allocate(airframe), limits_of(airframe), motors, curve, sag
    )
    return motors


def given_by(
    airframe: Airframe, motors: FloatArray, *, curve: float = 1.0, sag: float = 1.0
) -> FloatArray:
    """Lift and torque of the motors."""
    thrust_n = (curve * motors + (1.0 - curve)) * motors * limits_of(airframe) * sag
    return effects(airframe) @ thrust_n


FRAMES = st.sampled_from([QUAD, HEXA, UNEVEN])
DEMANDS = st.tuples(
    st.floats(-10.0, 60.0, allow_subnormal=False),
    *[st.floats(-5.0, 5.0, allow_subnormal=False)] * 2,
    st.floats(-2.0, 2.0, allow_subnormal=False),
).map(lambda demand: tuple(round(value, 12) for value in demand))
CURVES = st.sampled_from([0.0, 0.3, 1.0])
SAGS = st.floats(0.5, 1.0)


@given(FRAMES, DEMANDS, CURVES, SAGS)
def test_motors_are_always_between_nothing_and_full(
    airframe: Airframe, demand: tuple[float, ...], curve: float, sag: float
) -> None:
    motors = mixed(airframe, demand, curve=curve, sag=sag)
    assert ((motors >= 0.0) & (motors <= 1.0)).all()


@given(FRAMES, st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6), CURVES, SAGS)
def test_what_the_rotors_can_give_they_give(
    airframe: Airframe, shares: list[float], curve: float, sag: float
) -> None:
    limits_n = limits_of(airframe) * sag
    demand = effects(airframe) @ (np.array(shares[: len(limits_n)]) * limits_n)
    even_n = allocate(airframe) @ demand  # a hexarotor has many ways; this is the one taken
    untwisted_n = allocate(airframe)[:, :3] @ demand[:3]
    for thrust_n in (even_n, untwisted_n):
        assume(bool(((thrust_n >= 0.0) & (thrust_n <= limits_n)).all()))
    motors = mixed(airframe, demand, curve=curve, sag=sag)
    np.testing.assert_allclose(
        given_by(airframe, motors, curve=curve, sag=sag), demand, rtol=0, atol=1e-8
    )


@given(FRAMES, DEMANDS, SAGS)
def test_roll_and_pitch_keep_their_direction_and_come_before_thrust_and_yaw(
    airframe: Airframe, demand: tuple[float, ...], sag: float
) -> None:
    lift_n, roll, pitch, yaw = given_by(airframe, mixed(airframe, demand, sag=sag), sag=sag)
    asked = np.array(demand[1:3])
    got = np.array([roll, pitch])
    assert roll * asked[1] == pytest.approx(pitch * asked[0], abs=1e-9), "in the same direction"
    assert float(got @ asked) >= -1e-12
    assert (abs(got) <= abs(asked) + 1e-9).all()
    assert yaw * demand[3] >= -1e-9
    assert abs(yaw) <= abs(demand[3]) + 1e-9
    if np.linalg.norm(got) < np.linalg.norm(asked) - 1e-9:
        # Then it is all that there is: half of every rotor goes up, half of it down.
        tilt_n = abs(allocate(airframe)[:, 1:3] @ got) / allocate(airframe)[:, 0]
        room_n = (limits_of(airframe) * sag / allocate(airframe)[:, 0]).min()
        assert tilt_n.max() == pytest.approx(0.5 * room_n, rel=0.01)
    elif abs(yaw) > 1e-9:
        assert lift_n == pytest.approx(
            np.clip(demand[0], *_possible_lift(airframe, got, sag)), abs=1e-6
        )


def _possible_lift(airframe: Airframe, tilt: FloatArray, sag: float) -> tuple[float, float]:
    shares = allocate(airframe)
    tilt_n = shares[:, 1:3] @ tilt
    lowest = (-tilt_n / shares[:, 0]).max()
    return float(lowest), float(((limits_of(airframe) * sag - tilt_n) / shares[:, 0]).min())


def test_yaw_gives_way_before_thrust_does() -> None:
    lift_n, roll, pitch, yaw = given_by(QUAD, mixed(QUAD, (16.0, 0.3, -0.2, 1.0)))
    assert (lift_n, roll, pitch) == pytest.approx((16.0, 0.3, -0.2))
    assert 0.0 < yaw < 0.1


def test_thrust_gives_way_before_roll_does() -> None:
    lift_n, roll, _, _ = given_by(QUAD, mixed(QUAD, (20.0, 1.0, 0.0, 0.0)))
    assert roll == pytest.approx(1.0)
    assert lift_n < 13.0
    lift_n, roll, _, _ = given_by(QUAD, mixed(QUAD, (0.0, 1.0, 0.0, 0.0)))
    assert roll == pytest.approx(1.0), "even where none was asked for"
    assert lift_n > 7.0


@given(FRAMES, DEMANDS, CURVES, SAGS)
def test_the_mixer_has_the_same_bits_compiled_and_interpreted(
    airframe: Airframe, demand: tuple[float, ...], curve: float, sag: float
) -> None:
    compiled = mixed(airframe, demand, curve=curve, sag=sag)
    plain = mixed(airframe, demand, curve=curve, sag=sag, module=PLAIN)
    assert compiled.tobytes() == plain.tobytes()


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-3.0, 3.0))
def test_an_attitude_is_approached_by_the_shortest_turn(
    roll_rad: float, pitch_rad: float, yaw_rad: float
) -> None:
    loop = Loop(CommandLevel.ATTITUDE)
    turn = from_euler_zyx(roll_rad, pitch_rad, 0.0)
    loop.nominal[6:10] = from_yaw(yaw_rad)
    loop.want[10:14] = multiply(from_yaw(yaw_rad), turn) * -1.0  # the same attitude
    loop.want[17] = 0.5
    loop.run()
    rates = loop.want[14:16]
    assert (rates * turn[1:3] >= -1e-12).all()
