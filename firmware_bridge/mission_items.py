"""Mission items as data, and two missions side by side."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

from firmware_bridge.messages import Message
from ghost.core.errors import ConfigError, shown

MOST_ITEMS = 65535

_SAME_FRAMES = {5: 0, 6: 3, 11: 10}
"""MAV_FRAME_GLOBAL_INT and its kin mean what the names without _INT do; PX4 answers with those."""


class Plan(IntEnum):
    MISSION = 0
    FENCE = 1
    RALLY = 2


@dataclass(frozen=True, slots=True)
class MissionItem:
    """As MISSION_ITEM_INT has it: x and y are degrees times 1e7, or metres times 1e4 in local
    frames. Floats are the nearest that 32 bits hold.
    """

    seq: int
    frame: int
    command: int
    param1: float = 0.0
    param2: float = 0.0
    param3: float = 0.0
    param4: float = 0.0
    x: int = 0
    y: int = 0
    z: float = 0.0
    current: int = 0
    autocontinue: int = 1

    def __post_init__(self) -> None:
        for name in ("param1", "param2", "param3", "param4", "z"):
            try:
                (value,) = struct.unpack("<f", struct.pack("<f", getattr(self, name)))
            except (struct.error, OverflowError):
                raise ConfigError(
                    f"mission item {self.seq}: {name} is {shown(getattr(self, name))}; "
                    "expected a number of 32 bits"
                ) from None
            object.__setattr__(self, name, value)
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ConfigError(
                    f"mission item {shown(self.seq)}: {name} is {shown(value)}; "
                    f"expected {least} to {most}"
                )


_RANGES = (
    ("seq", 0, MOST_ITEMS - 1),
    ("frame", 0, 255),
    ("command", 0, 65535),
    ("x", -(2**31), 2**31 - 1),
    ("y", -(2**31), 2**31 - 1),
    ("current", 0, 255),
    ("autocontinue", 0, 255),
)


def compare(wanted: Sequence[MissionItem], got: Sequence[MissionItem]) -> tuple[str, ...]:
    """How they differ, to the last bit; nothing where they are the same. Which one is current is
    the flight controller's affair.
    """
    found = [f"{len(wanted)} items became {len(got)}"] if len(wanted) != len(got) else []
    for one, other in zip(wanted, got, strict=False):
        for field in fields(MissionItem):
            before, after = getattr(one, field.name), getattr(other, field.name)
            if field.name == "frame":
                before, after = _SAME_FRAMES.get(before, before), _SAME_FRAMES.get(after, after)
            if field.name == "current" or before == after:
                continue
            if not (math.isnan(before) and math.isnan(after)):
                found.append(f"item {one.seq}: {field.name} {before} became {after}")
    return tuple(found)


def item_of(message: Message) -> MissionItem:
    """From a MISSION_ITEM_INT."""
    return MissionItem(
        **{field.name: getattr(message, field.name) for field in fields(MissionItem)}
    )
