"""What verification says of one property of a flight."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Result(StrEnum):
    """SKIP: the log holds nothing that the property could be judged by; the figure says what."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of a log. Of a channel that no property reads in full, message is the protobuf
    object, with no more known of it than that.
    """

    channel: str
    message: Any
    log_ns: int
    publish_ns: int
    sequence: int
    is_derived: bool = False

    def __str__(self) -> str:
        return f"{self.channel} at {self.log_ns / 1e9:.9f} s, sequence {self.sequence}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """first is the first message that offends; there is none where what offends is the file."""

    name: str
    result: Result
    figure: str
    first: Heard | None = None

    def __str__(self) -> str:
        place = f"; first: {self.first}" if self.first is not None else ""
        return f"[{self.result}] {self.name}: {self.figure}{place}"


class Property(Protocol):
    """Hears a log once, front to back, and keeps no more of it than it needs."""

    name: str

    def wants(self, channel: str) -> bool: ...
    def hear(self, heard: Heard) -> None: ...
    def verdict(self) -> Verdict: ...


class Offences:
    """The first offence of a property, and how many there were."""

    __slots__ = ("count", "first", "text")

    def __init__(self) -> None:
        self.count = 0
        self.first: Heard | None = None
        self.text = ""

    def add(self, heard: Heard, text: str) -> None:
        self.count += 1
        if self.first is None:
            self.first, self.text = heard, text

    def verdict(self, name: str, figure: str) -> Verdict:
        """PASS with the figure, or FAIL with the first offence."""
        if self.first is None:
            return Verdict(name, Result.PASS, figure)
        more = f" ({self.count} such)" if self.count > 1 else ""
        return Verdict(name, Result.FAIL, f"{self.text}{more}", self.first)


def skipped(name: str, why: str) -> Verdict:
    return Verdict(name, Result.SKIP, why)
