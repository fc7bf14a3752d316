"""The fields of a message type as protobuf sees them.

The dataclass is the only definition of a message. Its protobuf schema and its wire encoding both
follow from the list made here: numbers count up in order of declaration, so a new field goes last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, IntEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ghost.core.errors import MessageError
from ghost.hal.message import Array, array_of, is_lenient


class Kind(Enum):
    INT = "sfixed64"
    FLOAT = "double"
    BOOL = "bool"
    ENUM = "enum"
    TEXT = "string"
    JSON = "string "
    ARRAY = "packed"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: `python` is the attribute, `name` what the schema calls it."""

    python: str
    name: str
    number: int
    kind: Kind
    array: Array | None = None
    type: Any = None
    fixed_shape: bool = False


def fields_of(message_type: type, *, skip: tuple[str, ...] = (), first: int = 1) -> list[Field]:
    """The fields of a message type, but for those in skip, numbered from first."""
    hints = get_type_hints(message_type, include_extras=True)
    found: list[Field] = []
    for name in (field.name for field in fields(message_type)):
        if name not in skip:
            found += _fields(message_type, name, hints[name], first + len(found))
    return found


def _fields(owner: type, name: str, hint: Any, number: int) -> list[Field]:
    array = array_of(hint)
    # The wire carries arrays flat, so that one open side at most can be told from the length.
    if array is not None and array.dtype in ARRAY_DTYPES and array.shape.count(-1) < 2:
        fixed = -1 not in array.shape and not is_lenient(owner)
        return [Field(name, name, number, Kind.ARRAY, array=array, fixed_shape=fixed)]
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option is not NoneType]
        if all(is_dataclass(option) for option in options):
            return [_option(name, number + offset, kind) for offset, kind in enumerate(options)]
    if get_origin(hint) is Mapping:
        return [Field(name, f"{name}_json", number, Kind.JSON)]
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        if not all(0 < member < 128 for member in hint):
            raise MessageError(f"{hint.__name__} has members outside 1 to 127")
        return [Field(name, name, number, Kind.ENUM, type=hint)]
    if is_dataclass(hint):
        return [Field(name, name, number, Kind.MESSAGE, type=hint)]
    if hint in _SCALARS:
        return [Field(name, name, number, _SCALARS[hint])]
    raise MessageError(
        f"{owner.__name__}.{name} is {hint}; a message holds int, float, bool, str, IntEnum, "
        "arrays of ghost.hal.message with one open side at most, mappings and other messages"
    )


def _option(name: str, number: int, message_type: Any) -> Field:
    """One of the messages that a field may hold, in a schema field of its own."""
    snake = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", message_type.__name__)
    return Field(name, name + snake, number, Kind.MESSAGE, type=message_type)


ARRAY_DTYPES = ("<f8", "<f4", "|u1")
_SCALARS = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.TEXT}
