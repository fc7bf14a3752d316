"""One tree of random streams per run, with the same bits on every machine and numpy version.

numpy keeps the raw words of a bit generator stable, but neither its distributions nor its seeding.
So words come from Philox under keys we hash ourselves, and everything after that is + - * / and
sqrt, which every machine rounds alike; log, exp and numpy's sums differ.
"""

import hashlib
import math
import re
from collections.abc import Callable
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError, RandomLabelError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
WordArray = NDArray[np.uint64]
Shape = int | tuple[int, ...]
Coefficients = tuple[float, ...]
ScalarT = TypeVar("ScalarT", bound=np.generic)

_LABEL = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*")
_WORD_COUNT = 2**64
_BLOCK_SIZE = 1024


class RandomSource:
    """A random stream, and the parent of the streams whose paths begin with its own.

    Values depend on the seed and the path alone: not on which other streams exist, on the order in
    which they were made, or on how many values one call asks for. Each distribution draws from a
    stream of its own, so a uniform more or less does not move the normals.
    """

    __slots__ = ("_claimed_paths", "_integer_words", "_normals", "_path", "_seed", "_uniforms")

    def __init__(
        self, seed: int, *, _path: str = "", _claimed_paths: set[str] | None = None
    ) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _WORD_COUNT:
            raise ConfigError(f"seed is {seed!r}; expected an int from 0 to 2**64 - 1")
        self._seed = seed
        self._path = _path
        self._claimed_paths = set() if _claimed_paths is None else _claimed_paths
        stream = f"{seed}|{_path}"
        self._uniforms = _Stream(f"{stream}|uniform", _uniform_from_words, np.float64)
        self._normals = _Stream(f"{stream}|normal", _normal_from_words, np.float64)
        self._integer_words = _Stream(f"{stream}|integers", _same_words, np.uint64)

    def child(self, label: str) -> "RandomSource":
        """The stream at `label` below this one; "a/b" is the child "b" of the child "a".

        A path can be claimed once in a whole tree: two parts that share a stream would see
        correlated noise without knowing it.
        """
        if not isinstance(label, str) or _LABEL.fullmatch(label) is None:
            raise RandomLabelError(
                f"random label is {label!r}; expected segments of A-Z a-z 0-9 _ . - "
                f'joined by single slashes, such as "imu/noise"'
            )
        path = f"{self._path}/{label}" if self._path else label
        if path in self._claimed_paths:
            raise RandomLabelError(
                f"random stream {path!r} is already in use in this run; choose another label, "
                f"or pass on the source that the first child({label!r}) returned"
            )
        self._claimed_paths.add(path)
        return RandomSource(self._seed, _path=path, _claimed_paths=self._claimed_paths)

    @overload
    def uniform(self, shape: None = None) -> float: ...
    @overload
    def uniform(self, shape: Shape) -> FloatArray: ...
    def uniform(self, shape: Shape | None = None) -> float | FloatArray:
        """Multiples of 2**-53 in [0, 1)."""
        if shape is None:
            return self._uniforms.take_one()
        return _reshaped(self._uniforms.take(_count_of(shape)), shape)

    @overload
    def normal(self, shape: None = None) -> float: ...
    @overload
    def normal(self, shape: Shape) -> FloatArray: ...
    def normal(self, shape: Shape | None = None) -> float | FloatArray:
        """Standard normal values; with 52 bits behind each, none lies beyond 8.3."""
        if shape is None:
            return self._normals.take_one()
        return _reshaped(self._normals.take(_count_of(shape)), shape)

    @overload
    def integers(self, low: int, high: int, shape: None = None) -> int: ...
    @overload
    def integers(self, low: int, high: int, shape: Shape) -> IntArray: ...
    def integers(self, low: int, high: int, shape: Shape | None = None) -> int | IntArray:
        """Integers in [low, high), every one equally likely."""
        if not -(2**63) <= low < high <= 2**63:
            raise ConfigError(
                f"integer range is [{low}, {high}); expected low < high, both within 64 bits"
            )
        words = self._take_words_below(high - low, 1 if shape is None else _count_of(shape))
        values = (words + np.uint64(low % _WORD_COUNT)).view(np.int64)
        return int(values[0]) if shape is None else _reshaped(values, shape)

    def __repr__(self) -> str:
        return f"RandomSource(seed={self._seed}, path={self._path!r})"

    def _take_words_below(self, span: int, count: int) -> WordArray:
        # The largest multiple of span: words from there on would favour the low remainders.
        limit = _WORD_COUNT - _WORD_COUNT % span
        words = self._integer_words.take(count)
        if limit < _WORD_COUNT:
            words = words[words < np.uint64(limit)]
            # Never more words than are missing, so that the stream stops at the last value given.
            while (missing_count := count - words.size) > 0:
                more = self._integer_words.take(missing_count)
                words = np.concatenate((words, more[more < np.uint64(limit)]))
        return words if span == _WORD_COUNT else words % np.uint64(span)


class _Stream(Generic[ScalarT]):
    """One distribution of one source, made in blocks: numpy costs a microsecond a call whether it
    makes three values or a thousand, and a sensor at 1 kHz asks for three.
    """

    __slots__ = ("_block", "_convert", "_key", "_philox", "_used_count")

    def __init__(
        self,
        key: str,
        convert: Callable[[WordArray], NDArray[ScalarT]],
        scalar_type: type[ScalarT],
    ) -> None:
        self._key = key
        self._convert = convert
        self._philox: np.random.Philox | None = None
        self._block = np.empty(0, scalar_type)
        self._used_count = 0

    def take(self, count: int) -> NDArray[ScalarT]:
        start = self._used_count
        end = start + count
        if end <= self._block.size:
            self._used_count = end
            return self._block[start:end].copy()
        rest = self._block[start:]
        missing_count = count - rest.size
        if missing_count >= _BLOCK_SIZE:
            self._block, self._used_count = rest[:0], 0
            return np.concatenate((rest, self._make(missing_count)))
        self._block, self._used_count = self._make(_BLOCK_SIZE), missing_count
        return np.concatenate((rest, self._block[:missing_count]))

    def take_one(self) -> float:
        if self._used_count == self._block.size:
            self._block, self._used_count = self._make(_BLOCK_SIZE), 0
        value: float = self._block.item(self._used_count)
        self._used_count += 1
        return value

    def _make(self, count: int) -> NDArray[ScalarT]:
        if self._philox is None:
            key = hashlib.blake2b(self._key.encode("ascii"), digest_size=16).digest()
            # As words, not as one int: the order of the words is then ours.
            self._philox = np.random.Philox(key=np.frombuffer(key, "<u8").astype(np.uint64))
        return self._convert(self._philox.random_raw(count))


def _count_of(shape: Shape) -> int:
    if isinstance(shape, int):
        count, smallest = shape, shape
    else:
        count, smallest = math.prod(shape), min(shape, default=0)
    if smallest < 0:
        raise ConfigError(f"shape is {shape!r}; expected sizes of zero or more")
    return count


def _reshaped(values: NDArray[ScalarT], shape: Shape) -> NDArray[ScalarT]:
    return values if isinstance(shape, int) else values.reshape(shape)


def _same_words(words: WordArray) -> WordArray:
    return words


def _uniform_from_words(words: WordArray) -> FloatArray:
    return (words >> np.uint64(11)).astype(np.float64) * (1.0 / 2**53)


def _normal_from_words(words: WordArray) -> FloatArray:
    # The middle of one of 2**52 equal cells: never 0 or 1, symmetric about 0.5, and exact.
    probability = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * (1.0 / 2**52)
    return _normal_from_probability(probability)


def _normal_from_probability(probability: FloatArray) -> FloatArray:
    """The inverse of the normal distribution function: M. J. Wichura, algorithm AS241, PPND16."""
    offset = probability - 0.5
    square_gap = 0.180625 - offset * offset
    normal = offset * _ratio(_CENTRE, square_gap)

    is_tail = np.abs(offset) > 0.425
    tail_offset = offset[is_tail]
    # 0.5 - |offset| is exact here, and is the probability of lying further out.
    root = np.sqrt(-_log(0.5 - np.abs(tail_offset)))
    far_root = np.maximum(root, 5.0)
    magnitude = np.where(root <= 5.0, _ratio(_TAIL, root - 1.6), _ratio(_FAR_TAIL, far_root - 5.0))
    normal[is_tail] = np.copysign(magnitude, tail_offset)
    return normal


def _log(value: FloatArray) -> FloatArray:
    """Natural logarithm of positive values, by log m = 2 artanh((m - 1) / (m + 1))."""
    mantissa, exponent = np.frexp(value)
    is_low = mantissa < 0.7071067811865476
    mantissa = np.where(is_low, mantissa + mantissa, mantissa)
    power_of_two = exponent.astype(np.float64) - is_low
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    return power_of_two * _LN_2 + 2.0 * ratio * _polynomial(_ARTANH, ratio * ratio)


def _ratio(coefficients: tuple[Coefficients, Coefficients], at: FloatArray) -> FloatArray:
    numerator, denominator = coefficients
    return _polynomial(numerator, at) / _polynomial(denominator, at)


def _polynomial(coefficients: Coefficients, at: FloatArray) -> FloatArray:
    """Horner's rule, highest power first, one ufunc an operation: nothing to fuse or reorder."""
    total: FloatArray = np.full_like(at, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= at
        total += coefficient
    return total


_LN_2 = 0.6931471805599453
# |ratio| is at most 0.172, where the next term is below 2**-60.
_ARTANH: Coefficients = tuple(1.0 / power for power in range(21, 0, -2))
_CENTRE: tuple[Coefficients, Coefficients] = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_TAIL: tuple[Coefficients, Coefficients] = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR_TAIL: tuple[Coefficients, Coefficients] = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)
