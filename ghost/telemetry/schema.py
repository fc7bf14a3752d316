"""Protobuf schemas made from message types, and protobuf classes made from schemas."""

from enum import IntEnum
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from ghost.telemetry.fields import Field, Kind, fields_of

_TYPES = {
    Kind.INT: FieldDescriptorProto.TYPE_SFIXED64,
    Kind.FLOAT: FieldDescriptorProto.TYPE_DOUBLE,
    Kind.BOOL: FieldDescriptorProto.TYPE_BOOL,
    Kind.ENUM: FieldDescriptorProto.TYPE_ENUM,
    Kind.TEXT: FieldDescriptorProto.TYPE_STRING,
    Kind.JSON: FieldDescriptorProto.TYPE_STRING,
    Kind.MESSAGE: FieldDescriptorProto.TYPE_MESSAGE,
}
_ARRAY_TYPES = {
    "<f8": FieldDescriptorProto.TYPE_DOUBLE,
    "<f4": FieldDescriptorProto.TYPE_FLOAT,
    "|u1": FieldDescriptorProto.TYPE_BYTES,
}


def own_schema(message_type: type) -> FileDescriptorSet:
    """The schema ghost.<TypeName>, in a file of its own with everything it needs nested in it."""
    file = FileDescriptorProto(
        name=f"ghost/{message_type.__name__}.proto", package="ghost", syntax="proto3"
    )
    _fill(file.message_type.add(name=message_type.__name__), fields_of(message_type), "ghost")
    return FileDescriptorSet(file=[file])


def extended_schema(descriptor: Any, extra: list[Field]) -> FileDescriptorSet:
    """A published schema with more fields. Readers of the published one skip what they don't know,
    readers of this one miss nothing.
    """
    files: dict[str, FileDescriptorProto] = {}
    _collect(descriptor.file, files)
    for proto in files[descriptor.file.name].message_type:
        if proto.name == descriptor.name:
            _fill(proto, extra, descriptor.file.package)
    return FileDescriptorSet(file=files.values())


def message_class(schema: FileDescriptorSet, name: str) -> Any:
    """The protobuf class of a message in a schema, in a pool that nothing else shares."""
    pool = descriptor_pool.DescriptorPool()
    for file in schema.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def _collect(file: FileDescriptor, files: dict[str, FileDescriptorProto]) -> None:
    for dependency in file.dependencies:
        _collect(dependency, files)
    if file.name not in files:
        files[file.name] = FileDescriptorProto()
        file.CopyToProto(files[file.name])


def _fill(proto: DescriptorProto, fields: list[Field], scope: str) -> None:
    scope = f"{scope}.{proto.name}"
    for field in fields:
        entry = proto.field.add(name=field.name, number=field.number)
        entry.label = FieldDescriptorProto.LABEL_OPTIONAL
        if field.array is not None:
            entry.type = _ARRAY_TYPES[field.array.dtype]
            if entry.type != FieldDescriptorProto.TYPE_BYTES:
                entry.label = FieldDescriptorProto.LABEL_REPEATED
        else:
            entry.type = _TYPES[field.kind]
        if field.kind is Kind.ENUM:
            entry.type_name = f".{scope}.{field.type.__name__}"
            _add_enum(proto, field.type)
        elif field.kind is Kind.MESSAGE:
            entry.type_name = f".{scope}.{field.type.__name__}"
            if all(nested.name != field.type.__name__ for nested in proto.nested_type):
                nested = proto.nested_type.add(name=field.type.__name__)
                _fill(nested, fields_of(field.type), scope)


def _add_enum(proto: DescriptorProto, enum: type[IntEnum]) -> None:
    if any(known.name == enum.__name__ for known in proto.enum_type):
        return
    added = proto.enum_type.add(name=enum.__name__)
    # proto3 wants a zero, and names unique among sibling enums.
    prefix = enum.__name__.upper()
    added.value.add(name=f"{prefix}_UNSPECIFIED", number=0)
    for member in enum:
        added.value.add(name=f"{prefix}_{member.name}", number=member.value)
