"""pymavlink's message classes, and the way from them to frames and back.

This is the one door to the dialect: nothing of pymavlink's own state leaks through it.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from pymavlink.dialects.v20 import common as dialect

from firmware_bridge.frame import MAGIC_V2, SIGNED_FLAG, Frame, checksum

__all__ = [
    "Message",
    "decode",
    "decode_values",
    "dialect",
    "encode",
    "encode_values",
    "id_of",
    "known_name",
]

Message = Any
"""A message of the dialect. Its classes are made by a generator and have no useful types."""

_KINDS: dict[int, Any] = dialect.mavlink_map
_IDS: dict[str, int] = {kind.msgname: number for number, kind in _KINDS.items()}


def _places(kind: Any) -> list[int | slice]:
    """Where each field is among the unpacked values: a message's order is not the wire's."""
    ends = list(accumulate(kind.lengths))
    spans = zip(ends, kind.lengths, strict=True)
    wire = [end - 1 if length == 1 else slice(end - length, end) for end, length in spans]
    return [wire[order] for order in kind.orders]


_PLACES = {number: _places(kind) for number, kind in _KINDS.items()}


class _Packer:
    """What a message's pack() asks of its sender: nothing that we use but the payload."""

    class signing:  # noqa: N801 - the name that pymavlink reads
        sign_outgoing = False

    seq = srcSystem = srcComponent = 0  # noqa: N815 - the names that pymavlink reads


_PACKER = _Packer()


def id_of(name: str) -> int:
    if name not in _IDS:
        raise KeyError(f"no MAVLink message named {name}")
    return _IDS[name]


def known_name(message_id: int) -> str:
    kind = _KINDS.get(message_id)
    return kind.msgname if kind is not None else f"message {message_id}"


def decode(frame: Frame) -> Message | None:
    """The message in a frame; None where the dialect doesn't know it. Payloads may be cut short
    (MAVLink 2 drops trailing zeros) or be longer than this dialect knows (extensions).
    """
    kind = _KINDS.get(frame.message_id)
    if kind is None:
        return None
    values = decode_values(frame)
    return kind(*[_field(values[place]) for place in _PLACES[frame.message_id]])


def encode(
    message: Message, *, system: int, component: int, sequence: int, signed: bool = False
) -> bytes:
    """A MAVLink 2 frame; a signed one still lacks its signature."""
    message.pack(_PACKER)
    payload = bytes(message.get_payload())
    head = bytes((MAGIC_V2, len(payload), SIGNED_FLAG if signed else 0, 0, sequence))
    return _framed(head, system, component, message.get_msgId(), payload)


def encode_values(
    number: int, values: Sequence[Any], *, system: int, component: int, sequence: int
) -> bytes:
    """The same from its fields in the order of the wire, without a message around them: a fifth of
    the cost, for whoever sends the same hundreds of times a second.
    """
    payload = _KINDS[number].unpacker.pack(*values).rstrip(b"\0") or b"\0"
    head = bytes((MAGIC_V2, len(payload), 0, 0, sequence))
    return _framed(head, system, component, number, payload)


def decode_values(frame: Frame) -> Sequence[Any]:
    """The fields of a known message in the order of the wire, its arrays spread out."""
    unpacker = _KINDS[frame.message_id].unpacker
    values: Sequence[Any] = unpacker.unpack(
        frame.payload[: unpacker.size].ljust(unpacker.size, b"\0")
    )
    return values


def _framed(head: bytes, system: int, component: int, number: int, payload: bytes) -> bytes:
    head += bytes((system, component)) + number.to_bytes(3, "little")
    crc = checksum(head[1:] + payload, _KINDS[number].crc_extra)
    return head + payload + crc.to_bytes(2, "little")


def _field(value: Any) -> Any:
    if type(value) is bytes:
        return value.rstrip(b"\0")
    return list(value) if type(value) is tuple else value
