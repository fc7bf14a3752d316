"""What a form is, and the parts that the messages of Foxglove share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Form:
    """encode fills a protobuf object from a message; decode reads the covered fields back."""

    proto: Any
    covers: tuple[str, ...]
    encode: Callable[[Any, Any], None]
    decode: Callable[[Any], dict[str, Any]]


def put_stamp(timestamp: Any, stamp_ns: int) -> None:
    # Floor division keeps nanos in 0 to 999,999,999 for stamps before the run began, too.
    timestamp.seconds, timestamp.nanos = divmod(stamp_ns, 1_000_000_000)


def stamp_ns_of(timestamp: Any) -> int:
    return int(timestamp.seconds * 1_000_000_000 + timestamp.nanos)


def put_vector(target: Any, vector: Any) -> None:
    target.x, target.y, target.z = vector.tolist()


def put_quaternion(target: Any, quaternion: Any) -> None:
    target.w, target.x, target.y, target.z = quaternion.tolist()


def vector_of(source: Any) -> list[float]:
    return [source.x, source.y, source.z]


def quaternion_of(source: Any) -> list[float]:
    return [source.w, source.x, source.y, source.z]
