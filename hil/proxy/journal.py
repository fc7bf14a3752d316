"""What a proxy did, counted and written down: the evidence that a case met its fault."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from firmware_bridge.frame import Frame
from firmware_bridge.messages import known_name
from hil.proxy.faults import Direction


@dataclass(slots=True)
class LaneCounts:
    """One direction. The actions count how often: one frame may meet several, and a run of bytes
    that belong to no frame counts as one.
    """

    frames: int = 0
    """Heard at its beginning."""
    bytes: int = 0
    sent_bytes: int = 0
    """Taken by its end."""
    dropped: int = 0
    delayed: int = 0
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    injected: int = 0
    replayed: int = 0
    unsent: int = 0
    """Packets for which its end had no room, or nobody."""


@dataclass(slots=True)
class Counts:
    to_vehicle: LaneCounts = field(default_factory=LaneCounts)
    to_unit: LaneCounts = field(default_factory=LaneCounts)

    def of(self, direction: Direction) -> LaneCounts:
        return self.to_vehicle if direction is Direction.TO_VEHICLE else self.to_unit


@dataclass(frozen=True, slots=True)
class Entry:
    """at_ns is this machine's monotonic clock. fault counts from 0 in the order of application and
    is -1 where none is to blame. An entry about a fault, a side or bytes of no frame names no
    message.
    """

    at_ns: int
    action: str
    direction: str = ""
    fault: int = -1
    message: str = ""
    system: int = 0
    component: int = 0
    sequence: int = 0
    detail: str = ""


class Journal:
    """One line of JSON an entry. Lines reach the file when it is flushed, not when the link is
    busy.
    """

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w", encoding="utf-8")

    def add(self, entry: Entry) -> None:
        plain = {name: getattr(entry, name) for name in Entry.__slots__}  # asdict is slow
        self._file.write(json.dumps(plain, separators=(",", ":")) + "\n")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def named(frame: Frame | None) -> tuple[str, int, int, int]:
    """What an entry says of a frame."""
    if frame is None:
        return "", 0, 0, 0
    return known_name(frame.message_id), frame.system, frame.component, frame.sequence


def read_journal(path: Path) -> Iterator[Entry]:
    """A last line that is not whole is left out: its writer may have been killed."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield Entry(**json.loads(line))
