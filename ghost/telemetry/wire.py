"""A protobuf encoder compiled from a message's fields.

All fixed-size fields of a message go through one struct; the rest follows, each with its length.
Readers need not know: it is ordinary protobuf, with every field present and packed arrays that
are the numpy buffer itself. Building a protobuf object per message costs several times as much
(`make bench` prints both).
"""

import json
import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ghost.core.errors import MessageError
from ghost.hal.message import NO_EXTENSIONS
from ghost.telemetry.fields import Field, Kind, fields_of

Encoder = Callable[[Any], bytes]

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_FORMATS = {Kind.INT: "q", Kind.FLOAT: "d", Kind.BOOL: "?", Kind.ENUM: "B"}


def compile_encoder(message_type: type, fields: list[Field]) -> Encoder:
    """A function that turns a message into the protobuf bytes of the given fields."""
    fixed = [field for field in fields if _is_fixed(field)]
    variable = [(field.python, _variable(field)) for field in fields if not _is_fixed(field)]
    encode_fixed = _compile_fixed(fixed)

    def encode(message: Any) -> bytes:
        try:
            encoded = encode_fixed(message)
            for name, encode_field in variable:
                encoded += encode_field(getattr(message, name))
        except (struct.error, TypeError, AttributeError, ValueError) as error:
            raise MessageError(f"{message_type.__name__} cannot be encoded: {error}") from error
        return encoded

    return encode


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _is_fixed(field: Field) -> bool:
    return field.kind in _FORMATS or field.fixed_shape


def _compile_fixed(fields: list[Field]) -> Encoder:
    if not fields:
        return lambda _: b""
    layout, template = "<", list[Any]()
    arrays: list[int] = []
    for field in fields:
        if field.array is not None:
            size = _byte_count(field)
            prefix = _tag(field, _LENGTH) + varint(size)
            arrays.append(len(template) + 1)
            layout += f"{len(prefix)}s{size}s"
        else:
            prefix = _tag(field, _FIXED64 if field.kind in (Kind.INT, Kind.FLOAT) else _VARINT)
            layout += f"{len(prefix)}s{_FORMATS[field.kind]}"
        template += [prefix, None]
    pack = struct.Struct(layout).pack
    values_of = attrgetter(*(field.python for field in fields))
    single = len(fields) == 1

    def encode(message: Any) -> bytes:
        values = template.copy()
        values[1::2] = (values_of(message),) if single else values_of(message)
        for index in arrays:
            values[index] = values[index].tobytes()
        return pack(*values)

    return encode


def _byte_count(field: Field) -> int:
    assert field.array is not None  # noqa: S101 - for the type checker; the caller looked
    size = int(field.array.dtype[-1])
    for length in field.array.shape:
        size *= length
    return size


def _variable(field: Field) -> Encoder:
    tag = _tag(field, _LENGTH)

    def framed(payload: bytes) -> bytes:
        return tag + varint(len(payload)) + payload

    if field.kind is Kind.TEXT:
        return lambda value: framed(value.encode()) if value else b""
    if field.kind is Kind.JSON:
        return lambda value: (
            b"" if value is NO_EXTENSIONS or not value else framed(to_json(value).encode())
        )
    if field.kind is Kind.ARRAY:
        return lambda value: framed(value.tobytes()) if value.size else b""
    inner_type = field.type
    inner = compile_encoder(inner_type, fields_of(inner_type))
    return lambda value: framed(inner(value)) if value.__class__ is inner_type else b""


def to_json(mapping: Any) -> str:
    """The same text for the same mapping. What JSON can't hold is named by its type."""
    return json.dumps(
        dict(mapping),
        sort_keys=True,
        separators=(",", ":"),
        default=lambda value: f"<{type(value).__qualname__}>",
    )


def _tag(field: Field, wire_type: int) -> bytes:
    return varint(field.number << 3 | wire_type)
