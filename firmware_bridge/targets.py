"""To whom a frame is addressed, read from its bytes and decoded by nobody."""

import struct
from typing import Any

from firmware_bridge.frame import Frame
from firmware_bridge.messages import dialect

EVERYBODY = 0
NAMES: dict[int, str] = {number: kind.msgname for number, kind in dialect.mavlink_map.items()}


def offset_of(message_id: int, field: str) -> int | None:
    """Where a field begins in the payload; None where the message lacks it."""
    return _offsets(dialect.mavlink_map[message_id]).get(field)


def target_of(frame: Frame) -> tuple[int, int]:
    """System and component; 0 where all are meant, or none is named, or nobody knows."""
    places = _PLACES.get(frame.message_id)
    if places is None:
        return EVERYBODY, EVERYBODY
    system_at, component_at = places
    payload = frame.payload
    # Trailing zeros are not sent, so what is beyond the end is 0.
    system = payload[system_at] if system_at < len(payload) else EVERYBODY
    if component_at is None or component_at >= len(payload):
        return system, EVERYBODY
    return system, payload[component_at]


def _offsets(kind: Any) -> dict[str, int]:
    formats = kind.native_format.decode("ascii").lstrip("<")
    offsets: dict[str, int] = {}
    at = 0
    for name, form, length in zip(
        kind.ordered_fieldnames, formats, kind.array_lengths, strict=True
    ):
        offsets[name] = at
        at += struct.calcsize(f"<{form}") * max(length, 1)
    return offsets


def _places() -> dict[int, tuple[int, int | None]]:
    places: dict[int, tuple[int, int | None]] = {}
    for number, kind in dialect.mavlink_map.items():
        offsets = _offsets(kind)
        system = "target" if kind.msgname == "MANUAL_CONTROL" else "target_system"
        if system in offsets:
            places[number] = offsets[system], offsets.get("target_component")
    return places


_PLACES = _places()
