"""A codec per message type: its schema, and the way to bytes and back."""

import json
from typing import Any

import numpy as np
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from ghost.core.errors import LogError, MessageError
from ghost.hal.message import is_lenient
from ghost.telemetry.fields import Field, Kind, fields_of
from ghost.telemetry.foxglove import FORMS
from ghost.telemetry.schema import extended_schema, message_class, own_schema
from ghost.telemetry.wire import Encoder, compile_encoder

_FIRST_EXTRA_NUMBER = 1000  # far above any field that a Foxglove schema has or will have


class Codec:
    """encode is an attribute, not a method: the hot path calls the compiled function itself."""

    __slots__ = ("_fields", "_form", "_own_class", "encode", "message_type", "name", "schema")

    def __init__(self, message_type: type) -> None:
        self.message_type = message_type
        self._form = FORMS.get(message_type)
        if self._form is None:
            self._fields = fields_of(message_type)
            self.name = f"ghost.{message_type.__name__}"
            self.schema = own_schema(message_type)
        else:
            self._fields = fields_of(
                message_type, skip=self._form.covers, first=_FIRST_EXTRA_NUMBER
            )
            self.name = self._form.proto.DESCRIPTOR.full_name
            self.schema = extended_schema(self._form.proto.DESCRIPTOR, self._fields)
        self._own_class = message_class(self.schema, self.name)
        self.encode: Encoder = self._compile()

    def decode(self, data: bytes, *, protobuf_class: Any = None) -> Any:
        """The message in data, read with the schema that wrote it where that is given."""
        try:
            proto = (protobuf_class or self._own_class).FromString(data)
            values = {} if self._form is None else self._form.decode(proto)
            values |= _values(proto, self._fields, self.message_type)
            return self.message_type(**values)
        except (DecodeError, LogError, AttributeError, TypeError, ValueError, KeyError) as error:
            raise LogError(
                f"not a {self.message_type.__name__} as this Ghost knows it: {error}"
            ) from error

    def _compile(self) -> Encoder:
        encode_fields = compile_encoder(self.message_type, self._fields)
        form = self._form
        if form is None:
            return encode_fields
        proto_type, fill = form.proto, form.encode

        def encode(message: Any) -> bytes:
            proto = proto_type()
            try:
                fill(message, proto)
            except (TypeError, AttributeError, ValueError) as error:
                raise MessageError(
                    f"{type(message).__name__} cannot be encoded: {error}"
                ) from error
            # Protobuf messages concatenate: the fields that Foxglove lacks simply follow.
            encoded: bytes = proto.SerializeToString() + encode_fields(message)
            return encoded

        return encode


_codecs: dict[type, Codec] = {}


def codec_for(message_type: type) -> Codec:
    """The one codec of a message type, made on first use."""
    codec = _codecs.get(message_type)
    if codec is None:
        codec = _codecs[message_type] = Codec(message_type)
    return codec


def protobuf_class_of(schema: bytes, name: str) -> Any:
    """The protobuf class that a log's own schema describes."""
    try:
        return message_class(FileDescriptorSet.FromString(schema), name)
    except (DecodeError, KeyError, TypeError) as error:
        raise LogError(f"schema {name} in the log is not readable protobuf: {error}") from error


def _values(proto: Any, fields: list[Field], message_type: type) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields:
        if field.kind is Kind.MESSAGE:
            values.setdefault(field.python, None)
            if proto.HasField(field.name):
                inner = getattr(proto, field.name)
                values[field.python] = field.type(
                    **_values(inner, fields_of(field.type), field.type)
                )
        else:
            values[field.python] = _value(getattr(proto, field.name), field, message_type)
    return values


def _value(raw: Any, field: Field, message_type: type) -> Any:
    if field.array is not None:
        flat = (
            np.frombuffer(raw, field.array.dtype)
            if isinstance(raw, bytes)
            else np.array(raw, field.array.dtype)
        )
        return flat if is_lenient(message_type) else flat.reshape(field.array.shape)
    if field.kind is Kind.ENUM:
        return field.type(raw)
    if field.kind is Kind.JSON:
        return json.loads(raw) if raw else {}
    return raw
