"""MAVLink frames out of a stream of bytes, whatever else is in it."""

import re
from dataclasses import dataclass

from fastcrc import crc16
from pymavlink.dialects.v20 import common as dialect

MAGIC_V1, MAGIC_V2 = 0xFE, 0xFD
SIGNED_FLAG = 0x01
SIGNATURE_BYTES = 13

_MAGICS = (MAGIC_V2, MAGIC_V1)
_MAGIC = re.compile(b"[\xfd\xfe]")
_CHECKSUM_BYTES = 2
_HEADER_V1_BYTES, _HEADER_V2_BYTES = 6, 10
_KINDS = dialect.mavlink_map
_CRC_EXTRA: dict[int, int] = {number: kind.crc_extra for number, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class Frame:
    """One packet as it came; raw is all of its bytes. signature is empty where it has none."""

    message_id: int
    system: int
    component: int
    sequence: int
    payload: bytes
    raw: bytes
    signature: bytes = b""


@dataclass(slots=True)
class FramerCounts:
    frames: int = 0
    bad_crc: int = 0
    noise_bytes: int = 0
    """Bytes that belong to no frame."""
    unknown: int = 0
    """Frames of messages that the dialect lacks: passed on, but their checksum can't be checked."""


class Framer:
    """Feed it what was read; it keeps what is not whole yet, never more than one frame's worth."""

    def __init__(self) -> None:
        self.counts = FramerCounts()
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        stream = self._rest + data if self._rest else data
        frames: list[Frame] = []
        at, end, counts = 0, len(stream), self.counts
        while at < end:
            magic = stream[at]
            if magic not in _MAGICS:
                skipped = _next_magic(stream, at + 1) - at
                counts.noise_bytes += skipped
                at += skipped
                continue
            if _asks_for_what_nobody_knows(stream, at):  # as noise does; it isn't waited for
                counts.noise_bytes += 1
                at += 1
                continue
            size = _size(stream, at, magic)
            if size is None or at + size > end:
                break
            if not self._is_sound(stream, at, at + size):
                counts.noise_bytes += 1
                at += 1
                continue
            frames.append(_frame(stream[at : at + size], magic))
            at += size
        counts.frames += len(frames)
        self._rest = stream[at:]
        return frames

    def feed_datagram(self, datagram: bytes) -> list[Frame]:
        """The frames that it begins with, back to back; what follows them is noise, looked at once
        and never kept.
        """
        frames: list[Frame] = []
        at, end = 0, len(datagram)
        while at < end and datagram[at] in _MAGICS:
            size = _size(datagram, at, datagram[at])
            if size is None or at + size > end or _asks_for_what_nobody_knows(datagram, at):
                break
            if not self._is_sound(datagram, at, at + size):
                break
            frames.append(_frame(datagram[at : at + size], datagram[at]))
            at += size
        self.counts.frames += len(frames)
        self.counts.noise_bytes += end - at
        return frames

    def _is_sound(self, stream: bytes, at: int, after: int) -> bool:
        """Before a Frame is made of it: noise may have a first byte at every other place."""
        extra = _CRC_EXTRA.get(_message_id(stream, at))
        if extra is None:
            # Noise looks like this more often than not; what another frame follows is one.
            if after < len(stream) and stream[after] not in _MAGICS:
                return False
            self.counts.unknown += 1
            return True
        end = after - _signature_bytes(stream, at)
        told = int.from_bytes(stream[end - _CHECKSUM_BYTES : end], "little")
        if checksum(stream[at + 1 : end - _CHECKSUM_BYTES], extra) != told:
            self.counts.bad_crc += 1
            return False
        return True


def is_checked(frame: Frame) -> bool:
    """Whether its checksum could be checked, and so was right."""
    return frame.message_id in _CRC_EXTRA


def checksum(data: bytes, extra: int) -> int:
    value: int = crc16.mcrf4xx(data + bytes((extra,)))
    return value


def _next_magic(stream: bytes, start: int) -> int:
    """Where the next frame may begin, or the end."""
    found = _MAGIC.search(stream, start)
    return found.start() if found is not None else len(stream)


def _asks_for_what_nobody_knows(stream: bytes, at: int) -> bool:
    is_told = stream[at] == MAGIC_V2 and at + 2 < len(stream)
    return is_told and bool(stream[at + 2] & ~SIGNED_FLAG)


def _size(stream: bytes, at: int, magic: int) -> int | None:
    """How many bytes the frame has, or None where that is still to come."""
    if at + 3 > len(stream):
        return None
    if magic == MAGIC_V1:
        return _HEADER_V1_BYTES + stream[at + 1] + _CHECKSUM_BYTES
    return _HEADER_V2_BYTES + stream[at + 1] + _CHECKSUM_BYTES + _signature_bytes(stream, at)


def _signature_bytes(stream: bytes, at: int) -> int:
    is_signed = stream[at] == MAGIC_V2 and stream[at + 2] & SIGNED_FLAG
    return SIGNATURE_BYTES if is_signed else 0


def _message_id(stream: bytes, at: int) -> int:
    if stream[at] == MAGIC_V1:
        return stream[at + 5]
    return int.from_bytes(stream[at + 7 : at + 10], "little")


def _frame(raw: bytes, magic: int) -> Frame:
    length = raw[1]
    if magic == MAGIC_V1:
        payload = raw[_HEADER_V1_BYTES : _HEADER_V1_BYTES + length]
        return Frame(raw[5], raw[3], raw[4], raw[2], payload, raw)
    payload = raw[_HEADER_V2_BYTES : _HEADER_V2_BYTES + length]
    signature = raw[-SIGNATURE_BYTES:] if raw[2] & SIGNED_FLAG else b""
    return Frame(_message_id(raw, 0), raw[5], raw[6], raw[4], payload, raw, signature)
