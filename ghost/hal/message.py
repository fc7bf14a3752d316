"""What makes a message: frozen, and its arrays sealed so that nobody downstream can write them.

A sealed array lives in an immutable bytes object. It has no writable base, and numpy refuses to
make it writable again; `setflags(write=False)` on a copy gives neither.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import MessageError, shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Array:
    """How an array field looks: its dtype and its shape, where -1 stands for any length."""

    dtype: str
    shape: tuple[int, ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.shape) and all(
            expected in (-1, actual) for expected, actual in zip(self.shape, shape, strict=True)
        )


Vector3 = Annotated[NDArray[np.float64], Array("<f8", (3,))]
Quaternion = Annotated[NDArray[np.float64], Array("<f8", (4,))]
Matrix3 = Annotated[NDArray[np.float64], Array("<f8", (3, 3))]
Vector = Annotated[NDArray[np.float64], Array("<f8", (-1,))]
Ranges = Annotated[NDArray[np.float64], Array("<f8", (-1,))]
Points = Annotated[NDArray[np.float32], Array("<f4", (-1, 3))]
DepthPixels = Annotated[NDArray[np.float32], Array("<f4", (-1, -1))]
Solids = Annotated[NDArray[np.float64], Array("<f8", (-1, 13))]
Facets = Annotated[NDArray[np.float64], Array("<f8", (-1, 12))]
RgbPixels = Annotated[NDArray[np.uint8], Array("|u1", (-1, -1, 3))]


class FrozenMap(Mapping[str, Any]):
    """A mapping that is a copy and stays as it is."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:  # dataclasses take only hashable defaults
        return hash(tuple(self._items))

    def __repr__(self) -> str:
        return repr(self._items)


_ANY_LENGTH = (-1,)

NO_EXTENSIONS: Mapping[str, Any] = FrozenMap({})


def sealed(values: NDArray[Any]) -> NDArray[Any]:
    """A copy that nothing can write to. Messages take it, and pieces of it, as they are: one copy
    for all arrays of a message instead of one for each.
    """
    flat: NDArray[Any] = np.frombuffer(values.tobytes(), values.dtype)
    return flat if values.ndim == 1 else flat.reshape(values.shape)


def seal(value: Any, array: Array) -> NDArray[Any]:
    """A copy of value as array describes it, which nothing can write to."""
    source = np.asarray(value, dtype=array.dtype)
    if not array.fits(source.shape):
        raise MessageError(f"array of shape {source.shape}; expected {_shape_text(array)}")
    return _frozen_copy(source, array.dtype)


@dataclass_transform(eq_default=False, frozen_default=True)
def message(cls: type[T]) -> type[T]:
    """A frozen, slotted dataclass whose array fields are sealed; refuses wrong shapes."""
    return _message(cls, seal)


@dataclass_transform(eq_default=False, frozen_default=True)
def command(cls: type[T]) -> type[T]:
    """A message that can be built from anything, however wrong: the gate judges, not the
    constructor, so that every bad command gets an ack with its reason.
    """
    return _message(cls, _seal_if_numeric, lenient=True)


def array_fields(cls: type) -> dict[str, Array]:
    """The array fields of a message type, in order of declaration."""
    hints = get_type_hints(cls, include_extras=True)
    found = {name: array_of(hint) for name, hint in hints.items()}
    return {name: array for name, array in found.items() if array is not None}


def array_of(hint: Any) -> Array | None:
    """How an array field with this type hint looks; None for a field of another kind."""
    extras = get_args(hint) if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, Array)), None)


def is_lenient(cls: type) -> bool:
    """Whether a message type takes arrays of any shape, as commands do."""
    return getattr(cls, "__ghost_lenient__", False)


def _message(
    cls: type[T], sealer: Callable[[Any, Array], Any], *, lenient: bool = False
) -> type[T]:
    hints = get_type_hints(cls)
    scalars = tuple(name for name, hint in hints.items() if lenient and hint in (int, float))
    arrays = tuple(
        (name, array, np.dtype(array.dtype), array.shape)
        for name, array in array_fields(cls).items()
    )
    mappings = tuple(name for name, hint in hints.items() if get_origin(hint) is Mapping)
    set_field = object.__setattr__

    def __post_init__(self: T) -> None:  # noqa: N807 - dataclass calls it by this name
        for name, array, dtype, shape in arrays:
            value = getattr(self, name)
            made = _usual(value, dtype, shape)
            if made is None:
                made = _unusual(value, array, sealer, f"{cls.__name__}.{name}")
            if made is not value:
                set_field(self, name, made)
        for name in scalars:
            value = getattr(self, name)
            if issubclass(type(value), np.number):  # isinstance would ask the value itself
                set_field(self, name, _plain(value))
        for name in mappings:
            mapping = getattr(self, name)
            if mapping.__class__ is not FrozenMap:
                set_field(self, name, FrozenMap(mapping))

    if arrays or mappings:
        cls.__post_init__ = __post_init__  # type: ignore[attr-defined]  # added, not overridden
    cls.__ghost_lenient__ = lenient  # type: ignore[attr-defined]  # same
    made = dataclass(frozen=True, slots=True, eq=False)(cls)
    made.__eq__ = _equal  # type: ignore[method-assign]  # bitwise on arrays
    made.__hash__ = None  # type: ignore[assignment]  # equal by content, so not by identity
    return made


def _equal(self: Any, other: object) -> bool:
    """Equal when every field is, arrays bit for bit (so NaN equals the same NaN)."""
    names = self.__dataclass_fields__
    return other.__class__ is self.__class__ and all(
        _same(getattr(self, name), getattr(other, name)) for name in names
    )


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        return (
            ours.dtype == theirs.dtype
            and ours.shape == theirs.shape
            and ours.tobytes() == theirs.tobytes()
        )
    if isinstance(ours, FrozenMap) and isinstance(theirs, FrozenMap):
        return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours.hex() == theirs.hex()
    if isinstance(ours, str) and isinstance(theirs, str):  # a StrEnum is its text
        return str(ours) == str(theirs)
    return bool(ours.__class__ is theirs.__class__ and ours == theirs)


def _plain(value: Any) -> Any:
    if type(value) is np.timedelta64:  # counts as an integer, and is none
        return value
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def _seal_if_numeric(value: Any, array: Array) -> Any:
    if type(value) is str:
        return value
    try:
        source = np.asarray(value)
        if source.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                return _frozen_copy(source, array.dtype)
    except Exception:  # noqa: BLE001, S110 - a foreign __array__ may raise anything
        pass
    return shown(value)


def _frozen_copy(source: NDArray[Any], dtype: str) -> NDArray[Any]:
    flat: NDArray[Any] = np.frombuffer(source.astype(dtype, copy=False).tobytes(), dtype)
    return flat if source.ndim == 1 else flat.reshape(source.shape)


def _usual(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any] | None:
    """The usual case, an array of the right type, in a third of the time: sealed, or as it is where
    it lives in bytes already, as a whole or as a piece of an array that does. Else None.
    """
    if type(value) is not np.ndarray or value.dtype is not dtype:
        return None
    if value.shape != shape and not (shape == _ANY_LENGTH and value.ndim == 1):
        return None
    base: Any = value.base
    if type(base) is np.ndarray:
        base = base.base
    return value if type(base) is bytes and value.flags.c_contiguous else sealed(value)


def _unusual(value: Any, array: Array, sealer: Callable[[Any, Array], Any], where: str) -> Any:
    try:
        return sealer(value, array)
    except (MessageError, OverflowError, TypeError, ValueError) as error:
        raise MessageError(f"{where}: {error}") from None


def _shape_text(array: Array) -> str:
    return "(" + ", ".join("n" if size < 0 else str(size) for size in array.shape) + ")"
