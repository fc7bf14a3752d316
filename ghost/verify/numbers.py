"""What was accepted is made of numbers, and of as many as there must be."""

import math
from dataclasses import fields
from typing import Any

import numpy as np

from ghost.hal.commands import LEVELS
from ghost.hal.message import array_fields
from ghost.verify.reading import ACK
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_MOST_OFF_NORM = 1e-3
_SHARES = ("thrust", "motors")
_FIELDS = {
    kind: tuple(one.name for one in fields(kind) if one.name not in ("stamp_ns", "sequence"))
    for kind in LEVELS
}
_SHAPES = {
    kind: {name: array.shape for name, array in array_fields(kind).items()} for kind in LEVELS
}


class Numbers:
    """Nothing NaN or infinite, attitudes are rotations, thrust is from 0 to 1."""

    name = "finite"

    def __init__(self) -> None:
        self._offences = Offences()
        self._count = 0

    def wants(self, channel: str) -> bool:
        return channel == ACK

    def hear(self, heard: Heard) -> None:
        ack = heard.message
        if not ack.accepted or ack.applied is None:
            return
        self._count += 1
        if wrong := _wrong(ack.applied):
            self._offences.add(heard, wrong)

    def verdict(self) -> Verdict:
        if not self._count:
            return skipped(self.name, "no command was accepted")
        return self._offences.verdict(self.name, f"{self._count} accepted commands")


def _wrong(command: Any) -> str:
    kind = type(command)
    for name in _FIELDS[kind]:
        value = getattr(command, name)
        shape = _SHAPES[kind].get(name)
        if shape is not None:
            if not isinstance(value, np.ndarray) or not _fits(value.shape, shape):
                return f"{name} of {kind.__name__} is not {shape[0]} numbers"
            numbers = value.tolist()
        else:
            numbers = [value]
        if not all(math.isfinite(number) for number in numbers):
            return f"{name} of {kind.__name__} is {value}"
        if name in _SHARES and not all(0.0 <= number <= 1.0 for number in numbers):
            return f"{name} of {kind.__name__} is {value}; expected 0 to 1"
        if name == "attitude" and abs(math.hypot(*numbers) - 1.0) > _MOST_OFF_NORM:
            return f"attitude of {kind.__name__} has norm {math.hypot(*numbers):.6g}; expected 1"
    return ""


def _fits(found: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return len(found) == 1 and expected[0] in (-1, found[0]) and found[0] > 0
