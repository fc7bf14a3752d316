"""Hamilton quaternions, w first: q turns vectors of the body into vectors of the world.

Arrays are float64 of shape (..., 4) or (..., 3). A lone quaternion is worked on as Python floats,
several times quicker than numpy on so few values; a stack as arrays, by the same expressions, with
the same bits. Only + - * / and sqrt are used, our own sine and arctangent included: libm and BLAS
round differently from one machine to the next, and a simulated flight must not.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ghost.core.errors import FrameError
from ghost.core.exact import arctangent2

FloatArray = NDArray[np.float64]

_ROTATION_MATRIX_TOLERANCE = 1e-6
_SMALLEST_SQUARED_NORM = 1e-300


def multiply(left: ArrayLike, right: ArrayLike) -> FloatArray:
    """The rotation `right`, then the rotation `left`."""
    lw, lx, ly, lz = _components(left, 4)
    rw, rx, ry, rz = _components(right, 4)
    return _joined(
        lw * rw - lx * rx - ly * ry - lz * rz,
        lw * rx + lx * rw + ly * rz - lz * ry,
        lw * ry - lx * rz + ly * rw + lz * rx,
        lw * rz + lx * ry - ly * rx + lz * rw,
    )


def conjugate(quaternion: ArrayLike) -> FloatArray:
    w, x, y, z = _components(quaternion, 4)
    return _joined(w, -x, -y, -z)


def normalize(quaternion: ArrayLike) -> FloatArray:
    w, x, y, z = _components(quaternion, 4)
    norm = _norm(quaternion, w * w + x * x + y * y + z * z)
    return _joined(w / norm, x / norm, y / norm, z / norm)


def rotate(quaternion: ArrayLike, vector_body: ArrayLike) -> FloatArray:
    """A body vector, seen from the world. The quaternion must be of unit length."""
    w, x, y, z = _components(quaternion, 4)
    vx, vy, vz = _components(vector_body, 3)
    # v + 2w (u x v) + 2 u x (u x v), where u is the vector part
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return _joined(
        vx + w * tx + (y * tz - z * ty),
        vy + w * ty + (z * tx - x * tz),
        vz + w * tz + (x * ty - y * tx),
    )


def rotate_inverse(quaternion: ArrayLike, vector_world: ArrayLike) -> FloatArray:
    """A world vector, seen from the body. The quaternion must be of unit length."""
    return rotate(conjugate(quaternion), vector_world)


def to_matrix(quaternion: ArrayLike) -> FloatArray:
    """Shape (..., 3, 3); the columns are the body's axes in the world."""
    w, x, y, z = _components(quaternion, 4)
    elements = _joined(
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )
    return elements.reshape((*elements.shape[:-1], 3, 3))


def from_matrix(body_to_world: ArrayLike) -> FloatArray:
    """Shepperd's method: divide by the largest of the four components, so by no less than 0.5."""
    matrix = np.asarray(body_to_world, dtype=np.float64)
    _require_rotation_matrix(matrix)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix.tolist()
    # Four times each component's square; the candidate rows are 4 * largest * (w, x, y, z).
    squares = (1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz)
    candidates = (
        (squares[0], zy - yz, xz - zx, yx - xy),
        (zy - yz, squares[1], yx + xy, xz + zx),
        (xz - zx, yx + xy, squares[2], zy + yz),
        (yx - xy, xz + zx, zy + yz, squares[3]),
    )
    return normalize(candidates[squares.index(max(squares))])


def from_axis_angle(axis: ArrayLike, angle_rad: float) -> FloatArray:
    x, y, z = _components(axis, 3)
    scale = angle_rad / _norm(axis, x * x + y * y + z * z)
    return from_rotation_vector(_joined(x * scale, y * scale, z * scale))


def from_rotation_vector(rotation_vector_rad: ArrayLike) -> FloatArray:
    x, y, z = _components(rotation_vector_rad, 3)
    squared_angle = x * x + y * y + z * z
    lone = isinstance(squared_angle, float)
    largest = squared_angle if lone else np.max(squared_angle, initial=0.0)
    if not largest < math.inf:
        raise FrameError(
            f"rotation vector is {_shown(rotation_vector_rad)}; expected finite radians"
        )
    if largest > math.pi * math.pi:
        scale = _shortened(np.sqrt(squared_angle))
        x, y, z = x * scale, y * scale, z * scale
        squared_angle = x * x + y * y + z * z
    squared_half_angle = 0.25 * squared_angle
    half_sinc = 0.5 * _polynomial(_SINC, squared_half_angle)
    return _joined(
        _polynomial(_COSINE, squared_half_angle), half_sinc * x, half_sinc * y, half_sinc * z
    )


def to_rotation_vector(quaternion: ArrayLike) -> FloatArray:
    """The shortest one: no longer than pi."""
    unit = normalize(quaternion)
    rows = [_rotation_vector_of(*row) for row in unit.reshape(-1, 4).tolist()]
    return np.array(rows, dtype=np.float64).reshape((*unit.shape[:-1], 3))


def from_yaw(yaw_rad: float) -> FloatArray:
    return from_rotation_vector((0.0, 0.0, yaw_rad))


def yaw_of(quaternion: ArrayLike) -> float:
    """The heading of the body's x axis, counter-clockwise from the world's x axis."""
    w, x, y, z = normalize(_lone(quaternion)).tolist()
    return arctangent2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)


def tilt_of(quaternion: ArrayLike) -> float:
    """The angle between the body's z axis and the world's, from 0 to pi."""
    w, x, y, z = normalize(_lone(quaternion)).tolist()
    return 2.0 * arctangent2(math.sqrt(x * x + y * y), math.sqrt(w * w + z * z))


def limit_tilt(quaternion: ArrayLike, max_tilt_rad: float) -> FloatArray:
    """The attitude itself when its tilt is within the limit; otherwise tilted by just the limit,
    in the same direction and with the same heading.
    """
    attitude = normalize(_lone(quaternion))
    if tilt_of(attitude) <= max_tilt_rad:
        return np.array(quaternion, dtype=np.float64)
    w, _, _, z = attitude.tolist()
    heading = math.sqrt(w * w + z * z)
    twist = np.array([w / heading, 0.0, 0.0, z / heading] if heading > 1e-150 else [1.0, 0, 0, 0])
    _, swing_x, swing_y, _ = multiply(attitude, conjugate(twist)).tolist()
    return multiply(from_axis_angle([swing_x, swing_y, 0.0], max_tilt_rad), twist)


def from_euler_zyx(roll_rad: float, pitch_rad: float, yaw_rad: float) -> FloatArray:
    """Yaw about z first, then pitch about the new y, then roll about the new x."""
    roll = from_rotation_vector((roll_rad, 0.0, 0.0))
    pitch = from_rotation_vector((0.0, pitch_rad, 0.0))
    return multiply(multiply(from_yaw(yaw_rad), pitch), roll)


def to_euler_zyx(quaternion: ArrayLike) -> tuple[float, float, float]:
    """(roll, pitch, yaw) in radians. Pointing straight up or down, roll is 0 and yaw has it all.

    From half the sum and half the difference of yaw and roll, each of which stays well defined
    where the other vanishes, unlike yaw and roll themselves.
    """
    w, x, y, z = normalize(_lone(quaternion)).tolist()
    sum_length = math.sqrt((z + x) * (z + x) + (w - y) * (w - y))
    difference_length = math.sqrt((z - x) * (z - x) + (w + y) * (w + y))
    half_sum_rad = arctangent2(z + x, w - y)
    half_difference_rad = arctangent2(z - x, w + y)
    # No wider than rounding, or the round trip would lose real roll.
    if sum_length < 1e-15:
        half_sum_rad = half_difference_rad
    elif difference_length < 1e-15:
        half_difference_rad = half_sum_rad
    return (
        _wrapped(half_sum_rad - half_difference_rad),
        2.0 * arctangent2(difference_length, sum_length) - math.pi / 2.0,
        _wrapped(half_sum_rad + half_difference_rad),
    )


def slerp(start: ArrayLike, end: ArrayLike, fraction: float) -> FloatArray:
    """The attitude a fraction of the shortest way from start to end, at a constant rate."""
    from_quaternion = normalize(start)
    turn_rad = to_rotation_vector(multiply(conjugate(from_quaternion), normalize(end)))
    return multiply(from_quaternion, from_rotation_vector(fraction * turn_rad))


def integrate(quaternion: ArrayLike, rate_body_rps: ArrayLike, dt_ns: int) -> FloatArray:
    """The attitude after dt_ns at a constant body rate: exact, and of unit length."""
    dt_s = dt_ns / 1_000_000_000
    x, y, z = _components(rate_body_rps, 3)
    turn = from_rotation_vector(_joined(x * dt_s, y * dt_s, z * dt_s))
    return normalize(multiply(quaternion, turn))


def _components(values: ArrayLike, count: int) -> tuple[Any, ...]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != count:
        raise FrameError(f"array has shape {array.shape}; expected (..., {count})")
    if array.ndim == 1:
        return tuple(array.tolist())
    return tuple(array[..., index] for index in range(count))


def _joined(*components: Any) -> FloatArray:
    if all(isinstance(component, float) for component in components):
        return np.array(components, dtype=np.float64)
    return np.stack(np.broadcast_arrays(*components), axis=-1)


def _lone(quaternion: ArrayLike) -> FloatArray:
    array = np.asarray(quaternion, dtype=np.float64)
    if array.shape != (4,):
        raise FrameError(f"quaternion has shape {array.shape}; expected (4,)")
    return array


def _norm(values: ArrayLike, squared_norm: Any) -> Any:
    if isinstance(squared_norm, float):
        # math.sqrt and np.sqrt are both exactly rounded; the former is the quicker on one value.
        if _SMALLEST_SQUARED_NORM < squared_norm < math.inf:
            return math.sqrt(squared_norm)
    elif np.all((squared_norm > _SMALLEST_SQUARED_NORM) & (squared_norm < math.inf)):
        return np.sqrt(squared_norm)
    raise FrameError(f"got {_shown(values)}; expected finite values that are not all zero")


def _shown(values: ArrayLike) -> str:
    return np.array2string(np.asarray(values), threshold=12).replace("\n", "")


def _require_rotation_matrix(matrix: FloatArray) -> None:
    if matrix.shape != (3, 3):
        raise FrameError(f"matrix has shape {matrix.shape}; expected (3, 3)")
    first, second, third = matrix.tolist()
    errors = (
        _dot(first, first) - 1.0,
        _dot(second, second) - 1.0,
        _dot(third, third) - 1.0,
        _dot(first, second),
        _dot(first, third),
        _dot(second, third),
        _determinant(first, second, third) - 1.0,
    )
    # Written so that NaN fails it.
    if not all(abs(error) <= _ROTATION_MATRIX_TOLERANCE for error in errors):
        raise FrameError(
            f"matrix {_shown(matrix)} is not a rotation; expected rows of unit length at right "
            f"angles to each other, and determinant 1"
        )


def _dot(left: list[float], right: list[float]) -> float:
    return left[0] * right[0] + left[1] * right[1] + left[2] * right[2]


def _determinant(a: list[float], b: list[float], c: list[float]) -> float:
    cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
    return _dot(a, cross)


def _rotation_vector_of(w: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * arctangent2(sine, w) / sine if sine > 0.0 else 2.0
    return (x * scale, y * scale, z * scale)


def _shortened(angle_rad: Any) -> Any:
    """What to scale rotation vectors by to drop whole turns; 1 where there are none."""
    turns = np.rint(angle_rad / (2.0 * math.pi))
    has_turns = turns > 0.0
    safe_angle_rad = np.where(has_turns, angle_rad, 1.0)
    scale = np.where(has_turns, (angle_rad - 2.0 * math.pi * turns) / safe_angle_rad, 1.0)
    return float(scale) if scale.ndim == 0 else scale


def _wrapped(angle_rad: float) -> float:
    return angle_rad - 2.0 * math.pi * round(angle_rad / (2.0 * math.pi))


def _polynomial(coefficients: tuple[float, ...], at: Any) -> Any:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * at + coefficient
    return total


# In powers of the square of a half angle of at most pi / 2, where the next terms are below 2**-70.
_COSINE = tuple((1.0 - 2.0 * (k % 2)) / math.factorial(2 * k) for k in range(13, -1, -1))
_SINC = tuple((1.0 - 2.0 * (k % 2)) / math.factorial(2 * k + 1) for k in range(13, -1, -1))
