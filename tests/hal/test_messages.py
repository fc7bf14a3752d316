import inspect
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost import hal
from ghost.core.errors import MessageError
from ghost.hal import samples
from ghost.hal.message import Array, FrozenMap, array_fields, is_lenient

MESSAGES: list[Any] = [
    kind
    for kind in (getattr(hal, name) for name in hal.__all__)
    if inspect.isclass(kind) and is_dataclass(kind) and hasattr(kind, "__ghost_lenient__")
]
OF_VEHICLE = (hal.VehicleState, hal.VehicleStatus, hal.ControlState)
SAMPLES = [kind for kind in MESSAGES if kind.__module__ == samples.__name__ or kind in OF_VEHICLE]
WITH_ARRAYS = [kind for kind in MESSAGES if array_fields(kind)]
WITH_MAPPINGS = [kind for kind in MESSAGES if "extensions" in get_type_hints(kind)]

NAN_BITS = np.array([0x7FF8_0000_0000_0001, 0x7FF8_0000_0000_0002, 0], "<u8").view("<f8")


def source(array: Array, *, any_length: int = 2) -> NDArray[Any]:
    shape = tuple(any_length if size < 0 else size for size in array.shape)
    return np.arange(np.prod(shape)).reshape(shape).astype(array.dtype)


def built(kind: Any, **values: Any) -> Any:
    hints = get_type_hints(kind)
    arrays = array_fields(kind)
    defaults = {
        field.name: source(arrays[field.name])
        if field.name in arrays
        else {int: 3, float: 0.25, str: "name"}.get(hints[field.name])
        for field in fields(kind)
        if field.name not in ("health", "fix", "extensions")
    }
    return kind(**(defaults | values))


def test_the_introspection_finds_every_sample_and_command() -> None:
    own = {hal.CameraCalibration, hal.GroundTruth, hal.Pose, hal.Scene, hal.Transform}
    assert {*hal.SAMPLE_TYPES.values(), *own} == set(SAMPLES)
    assert {kind for kind in MESSAGES if is_lenient(kind)} == {
        hal.MotorCommand,
        hal.BodyRateCommand,
        hal.AttitudeCommand,
        hal.VelocityCommand,
        hal.PositionCommand,
        hal.TrajectoryCommand,
    }


@pytest.mark.parametrize("kind", MESSAGES)
def test_messages_are_frozen(kind: Any) -> None:
    message = built(kind)
    for field in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(message, field.name, None)
    with pytest.raises((AttributeError, TypeError)):
        message.another_field = 1


@pytest.mark.parametrize("kind", WITH_ARRAYS)
@pytest.mark.parametrize("any_length", [0, 2])
def test_arrays_are_copies_that_nobody_can_write(kind: Any, any_length: int) -> None:
    for name, array in array_fields(kind).items():
        given = source(array, any_length=any_length)
        kept = given.copy()
        sealed = getattr(built(kind, **{name: given}), name)
        given += 1
        np.testing.assert_array_equal(sealed, kept)
        assert sealed.dtype == np.dtype(array.dtype)
        owner = sealed
        while isinstance(owner, np.ndarray):
            assert not owner.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                owner.setflags(write=True)
            owner = owner.base
        assert isinstance(owner, bytes)


@pytest.mark.parametrize("kind", WITH_MAPPINGS)
def test_extensions_are_a_copy_that_nobody_can_write(kind: Any) -> None:
    given = {"gpu_buffer": 7}
    extensions = built(kind, extensions=given).extensions
    given["gpu_buffer"] = 8
    given["more"] = 9
    assert dict(extensions) == {"gpu_buffer": 7}
    assert isinstance(extensions, Mapping)
    assert not hasattr(extensions, "update")
    for write in ("__setitem__", "__delitem__"):
        assert not hasattr(extensions, write)


@pytest.mark.parametrize("kind", [kind for kind in WITH_ARRAYS if not is_lenient(kind)])
def test_a_wrong_array_names_type_and_field(kind: Any) -> None:
    for name, array in array_fields(kind).items():
        right = source(array)
        wrong: list[Any] = [right[np.newaxis], right.item(0), "wind", None, [[1.0], [1.0, 2.0]]]
        wrong += [[10**400] * 3, object()]
        if array.shape[-1] > 0:
            wrong.append(right[..., 1:])
        for value in wrong:
            with pytest.raises(MessageError, match=rf"^{kind.__name__}\.{name}: "):
                built(kind, **{name: value})


def test_a_pixel_beyond_a_byte_is_refused() -> None:
    with pytest.raises(MessageError, match=r"RgbImage\.pixels"):
        hal.RgbImage(0, 0, [[[300, 0, 0]]])  # type: ignore[arg-type]  # a list, as users write


@pytest.mark.parametrize("kind", WITH_ARRAYS)
def test_equality_is_bit_for_bit(kind: Any) -> None:
    message = built(kind)
    assert message == built(kind)
    assert message != object()
    for name, array in array_fields(kind).items():
        right = source(array)
        changed = right.copy()
        changed.flat[0] += 1
        assert message != replace(message, **{name: changed})
        if array.dtype == "<f8" and array.shape in ((3,), (-1,)):
            other_nan = NAN_BITS[[1, 1, 2]]
            assert built(kind, **{name: NAN_BITS}) == built(kind, **{name: NAN_BITS.copy()})
            assert built(kind, **{name: NAN_BITS}) != built(kind, **{name: other_nan})
            assert built(kind, **{name: [0.0] * 3}) != built(kind, **{name: [-0.0] * 3})


@pytest.mark.parametrize("kind", MESSAGES)
def test_equality_looks_at_every_scalar(kind: Any) -> None:
    message = built(kind)
    for name, hint in get_type_hints(kind).items():
        if hint in (int, float, str):
            other = {int: 4, float: 0.5, str: "other"}[hint]
            assert message != replace(message, **{name: other})
        if hint is float:
            not_a_number = replace(message, **{name: float("nan")})
            assert not_a_number == replace(message, **{name: float("nan")})


def test_extensions_with_arrays_can_be_compared() -> None:
    first, same, other = (
        built(hal.BarometerSample, extensions={"raw": np.array(raw)})
        for raw in ([1.0, np.nan], [1.0, np.nan], [2.0, np.nan])
    )
    assert first == same
    assert first != other
    assert first != built(hal.BarometerSample, extensions={})


def test_a_message_cannot_be_a_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(built(hal.Pose))


def test_a_frozen_map_is_the_mapping_it_copied() -> None:
    frozen = FrozenMap({"a": 1, "b": [2]})
    assert frozen == {"a": 1, "b": [2]}
    assert repr(frozen) == "{'a': 1, 'b': [2]}"


@pytest.mark.parametrize(
    "value",
    [
        "fast",
        None,
        object(),
        [1j, 0, 0],
        [True, False, True],
        [[1.0], [1.0, 2.0]],
        [10**30, 0, 0],
        [10**5000, 0, 0],
        np.array(["2026-01-01"], "datetime64[D]"),
        {1.0},
        float("nan"),
        [1.0, 2.0],
    ],
)
def test_a_command_can_be_built_from_anything(value: Any) -> None:
    wrong = hal.VelocityCommand(0, 0, value, value)
    assert wrong == replace(wrong)


@pytest.mark.parametrize(
    "number", [np.float64(0.5), np.float32(0.5), np.float16(0.5), np.longdouble("0.5")]
)
def test_a_command_takes_numpy_scalars_as_the_numbers_they_are(number: Any) -> None:
    command = hal.BodyRateCommand(np.int64(5), np.uint8(6), np.zeros(3), number)  # type: ignore[arg-type]  # numpy integers, as users have them
    assert command == hal.BodyRateCommand(5, 6, np.zeros(3), 0.5)
    assert [type(value) for value in (command.stamp_ns, command.sequence)] == [int, int]
    assert type(command.thrust) is float
