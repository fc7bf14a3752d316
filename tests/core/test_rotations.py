import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ghost.core import rotations
from ghost.core.errors import FrameError
from ghost.core.random import RandomSource

FloatArray = NDArray[np.float64]

HALF = math.sqrt(0.5)
COMPONENTS = st.floats(-1.0, 1.0)
ANGLES_RAD = st.floats(-math.pi, math.pi)
VECTORS = st.tuples(COMPONENTS, COMPONENTS, COMPONENTS).map(np.array)
QUATERNIONS = (
    st.tuples(COMPONENTS, COMPONENTS, COMPONENTS, COMPONENTS)
    .filter(lambda values: math.hypot(*values) > 1e-3)
    .map(rotations.normalize)
)


def assert_same_rotation(actual: FloatArray, expected: FloatArray) -> None:
    sign = math.copysign(1.0, float(np.sum(actual * expected)))
    np.testing.assert_allclose(actual, sign * expected, rtol=0, atol=1e-14)


def test_multiply_is_hamilton() -> None:
    i, j, k = np.eye(4)[1:]
    np.testing.assert_array_equal(rotations.multiply(i, j), k)
    np.testing.assert_array_equal(rotations.multiply(j, i), -k)


def test_quarter_turn_of_yaw_takes_forward_to_left() -> None:
    quarter_turn = rotations.from_yaw(math.pi / 2)
    np.testing.assert_allclose(quarter_turn, (HALF, 0, 0, HALF), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        rotations.rotate(quarter_turn, (1, 0, 0)), (0, 1, 0), rtol=0, atol=1e-15
    )


@given(QUATERNIONS, QUATERNIONS, VECTORS)
def test_a_product_turns_by_the_right_then_the_left(
    left: FloatArray, right: FloatArray, vector: FloatArray
) -> None:
    by_product = rotations.rotate(rotations.multiply(left, right), vector)
    by_turns = rotations.rotate(left, rotations.rotate(right, vector))
    np.testing.assert_allclose(by_product, by_turns, rtol=0, atol=1e-14)


@given(QUATERNIONS, VECTORS)
def test_rotate_agrees_with_the_matrix_and_its_inverse(
    quaternion: FloatArray, vector: FloatArray
) -> None:
    turned = rotations.rotate(quaternion, vector)
    np.testing.assert_allclose(turned, rotations.to_matrix(quaternion) @ vector, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        rotations.rotate_inverse(quaternion, turned), vector, rtol=0, atol=1e-14
    )


@given(QUATERNIONS)
@example(rotations.normalize((1.0, 0.0, 1.0, 1e-9)))  # almost straight down
def test_representations_round_trip(quaternion: FloatArray) -> None:
    matrix = rotations.to_matrix(quaternion)
    vector_rad = rotations.to_rotation_vector(quaternion)
    euler_rad = rotations.to_euler_zyx(quaternion)
    assert_same_rotation(rotations.from_matrix(matrix), quaternion)
    assert_same_rotation(rotations.from_rotation_vector(vector_rad), quaternion)
    assert_same_rotation(rotations.from_euler_zyx(*euler_rad), quaternion)
    assert math.hypot(*vector_rad) <= math.pi + 1e-15


@pytest.mark.parametrize("largest", range(4))
def test_from_matrix_of_half_turns(largest: int) -> None:
    quaternion = np.eye(4)[largest]
    assert_same_rotation(rotations.from_matrix(rotations.to_matrix(quaternion)), quaternion)


@given(VECTORS, st.floats(-100.0, 100.0))
def test_axis_angle_is_cosine_and_sine_of_the_half_angle(
    axis: FloatArray, angle_rad: float
) -> None:
    length = math.hypot(*axis)
    assume(length > 1e-3)
    half_rad = angle_rad / 2
    expected = np.array([math.cos(half_rad), *(axis / length * math.sin(half_rad))])
    actual = rotations.from_axis_angle(axis, angle_rad)
    sign = math.copysign(1.0, float(np.sum(actual * expected)))
    np.testing.assert_allclose(actual, sign * expected, rtol=0, atol=5e-14)


@given(ANGLES_RAD, st.floats(-1.57, 1.57), ANGLES_RAD)
def test_euler_angles_round_trip(roll_rad: float, pitch_rad: float, yaw_rad: float) -> None:
    quaternion = rotations.from_euler_zyx(roll_rad, pitch_rad, yaw_rad)
    roll, pitch, yaw = rotations.to_euler_zyx(quaternion)
    assert pitch == pytest.approx(pitch_rad, abs=1e-12)
    for actual, expected in ((roll, roll_rad), (yaw, yaw_rad)):
        assert math.remainder(actual - expected, 2 * math.pi) == pytest.approx(0, abs=1e-11)
    assert math.remainder(rotations.yaw_of(quaternion) - yaw, 2 * math.pi) == pytest.approx(
        0, abs=1e-11
    )


@pytest.mark.parametrize("pitch_rad", [math.pi / 2, -math.pi / 2])
def test_pointing_straight_up_or_down_leaves_yaw_alone(pitch_rad: float) -> None:
    quaternion = rotations.from_euler_zyx(0.3, pitch_rad, 0.5)
    roll, pitch, _ = euler_rad = rotations.to_euler_zyx(quaternion)
    assert (roll, pitch) == pytest.approx((0.0, pitch_rad), abs=1e-7)
    assert_same_rotation(rotations.from_euler_zyx(*euler_rad), quaternion)


@pytest.mark.parametrize("tilt_rad", [0.0, 1e-9, 0.2, math.pi / 2, 3.0, math.pi])
def test_tilt_ignores_yaw(tilt_rad: float) -> None:
    tilted = rotations.from_axis_angle((0.6, -0.8, 0.0), tilt_rad)
    quaternion = rotations.multiply(rotations.from_yaw(1.1), tilted)
    assert rotations.tilt_of(quaternion) == pytest.approx(tilt_rad, abs=1e-15)


@given(QUATERNIONS, QUATERNIONS, st.floats(0.0, 1.0))
def test_slerp_goes_the_shortest_way_at_a_constant_rate(
    start: FloatArray, end: FloatArray, fraction: float
) -> None:
    def angle_rad(first: FloatArray, second: FloatArray) -> float:
        between = rotations.multiply(rotations.conjugate(first), second)
        return math.hypot(*rotations.to_rotation_vector(between))

    middle = rotations.slerp(start, end, fraction)
    whole_rad = angle_rad(start, end)
    assert angle_rad(start, middle) == pytest.approx(fraction * whole_rad, abs=1e-13)
    assert angle_rad(middle, end) == pytest.approx((1 - fraction) * whole_rad, abs=1e-13)


def test_integrate_turns_about_the_axes_of_the_body() -> None:
    nose_left = rotations.from_yaw(math.pi / 2)
    rolled = rotations.integrate(nose_left, (math.pi, 0.0, 0.0), 500_000_000)
    assert_same_rotation(rolled, rotations.from_euler_zyx(math.pi / 2, 0.0, math.pi / 2))


def test_integrate_in_steps_is_integrate_at_once() -> None:
    rate_rps = np.array((3.0, -7.0, 20.0))
    stepped = start = rotations.from_euler_zyx(0.1, 0.2, 0.3)
    for _ in range(1000):
        stepped = rotations.integrate(stepped, rate_rps, 1_000_000)
    at_once = rotations.integrate(start, rate_rps, 1_000_000_000)
    sign = math.copysign(1.0, float(np.sum(stepped * at_once)))
    np.testing.assert_allclose(stepped, sign * at_once, rtol=0, atol=1e-12)


def test_stacks_have_the_bits_of_their_rows() -> None:
    source = RandomSource(1)
    quaternions = rotations.normalize(source.normal((100, 4)))
    vectors = 5.0 * source.normal((100, 3))
    stacked = (
        rotations.multiply(quaternions, quaternions[0]),
        rotations.rotate(quaternions, vectors),
        rotations.to_matrix(quaternions),
        rotations.from_rotation_vector(vectors),
        rotations.integrate(quaternions, vectors, 10_000_000),
    )
    by_row = (
        [rotations.multiply(quaternion, quaternions[0]) for quaternion in quaternions],
        [rotations.rotate(*row) for row in zip(quaternions, vectors, strict=True)],
        [rotations.to_matrix(quaternion) for quaternion in quaternions],
        [rotations.from_rotation_vector(vector) for vector in vectors],
        [rotations.integrate(*row, 10_000_000) for row in zip(quaternions, vectors, strict=True)],
    )
    for actual, expected in zip(stacked, by_row, strict=True):
        np.testing.assert_array_equal(actual, np.array(expected))


def test_the_bits_never_change() -> None:
    quaternion = rotations.from_euler_zyx(0.1, -0.7, 2.9)
    assert [value.hex() for value in quaternion.tolist()] == [
        "0x1.89640d1ed6d83p-4",
        "0x1.61ed248ec6c55p-2",
        "0x1.5ddc63653d200p-8",
        "0x1.ddea2c58dd934p-1",
    ]
    assert [value.hex() for value in rotations.to_euler_zyx(quaternion)] == [
        "0x1.9999999999990p-4",
        "-0x1.6666666666666p-1",
        "0x1.7333333333334p+1",
    ]


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (math.nan, 0, 0, 1), (math.inf, 0, 0, 0), (1, 0, 0)])
def test_meaningless_quaternions_are_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(FrameError):
        rotations.normalize(bad)
    with pytest.raises(FrameError):
        rotations.normalize([bad, bad])


@pytest.mark.parametrize(
    "matrix",
    [np.diag((1, 1, -1)), 2 * np.eye(3), np.eye(3) + 0.01, np.full((3, 3), math.nan), np.eye(4)],
)
def test_matrices_that_are_no_rotations_are_refused(matrix: FloatArray) -> None:
    with pytest.raises(FrameError):
        rotations.from_matrix(matrix)


def test_rotations_without_an_axis_or_an_end_are_refused() -> None:
    with pytest.raises(FrameError):
        rotations.from_axis_angle((0, 0, 0), 1.0)
    with pytest.raises(FrameError):
        rotations.from_rotation_vector((math.nan, 0, 0))
    with pytest.raises(FrameError):
        rotations.yaw_of(np.ones((2, 4)))


def test_limiting_tilt_upside_down_without_a_heading_gives_a_unit_quaternion() -> None:
    for sliver in (0.0, 1.6e-162, 1e-154, 1e-140):
        limited = rotations.limit_tilt([sliver, 1.0, 0.0, 0.0], 0.7)
        assert float(limited @ limited) == pytest.approx(1.0)
