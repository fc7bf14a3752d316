"""MAVLink frames out of a stream of bytes, whatever else is in it."""

from dataclasses import dataclass

from fastcrc import crc16
from pymavlink.dialects.v20 import common as dialect

MAGIC_V1, MAGIC_V2 = 0xFE, 0xFD
SIGNED_FLAG = 0x01
SIGNATURE_BYTES = 13

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
            if magic not in (MAGIC_V2, MAGIC_V1):
                skipped = _next_magic(stream, at + 1) - at
                counts.noise_bytes += skipped
                at += skipped
                continue
            if magic == MAGIC_V2 and at + 2 < end and stream[at + 2] & ~SIGNED_FLAG:
                # It asks for what nobody knows. Noise does so too, and isn't waited for.
                counts.noise_bytes += 1
                at += 1
                continue
            size = _size(stream, at, magic)
            if size is None or at + size > end:
                break
            frame = _frame(stream[at : at + size], magic)
            if not self._is_sound(frame, stream, at + size):
                counts.noise_bytes += 1
                at += 1
                continue
            frames.append(frame)
            at += size
        counts.frames += len(frames)
        self._rest = stream[at:]
        return frames

    def _is_sound(self, frame: Frame, stream: bytes, after: int) -> bool:
        extra = _CRC_EXTRA.get(frame.message_id)
        if extra is None:
            # Noise looks like this more often than not; what another frame follows is one.
            if after < len(stream) and stream[after] not in (MAGIC_V2, MAGIC_V1):
                return False
            self.counts.unknown += 1
            return True
        body = frame.raw[: len(frame.raw) - len(frame.signature)]
        if checksum(body[1:-_CHECKSUM_BYTES], extra) != int.from_bytes(body[-2:], "little"):
            self.counts.bad_crc += 1
            return False
        return True


def checksum(data: bytes, extra: int) -> int:
    value: int = crc16.mcrf4xx(data + bytes((extra,)))
    return value


def _next_magic(stream: bytes, start: int) -> int:
    """Where the next frame may begin, or the end."""
    places = [place for magic in (MAGIC_V2, MAGIC_V1) if (place := stream.find(magic, start)) >= 0]
    return min(places, default=len(stream))


def _size(stream: bytes, at: int, magic: int) -> int | None:
    """How many bytes the frame has, or None where that is still to come."""
    if at + 3 > len(stream):
        return None
    if magic == MAGIC_V1:
        return _HEADER_V1_BYTES + stream[at + 1] + _CHECKSUM_BYTES
    signature = SIGNATURE_BYTES if stream[at + 2] & SIGNED_FLAG else 0
    return _HEADER_V2_BYTES + stream[at + 1] + _CHECKSUM_BYTES + signature


def _frame(raw: bytes, magic: int) -> Frame:
    length = raw[1]
    if magic == MAGIC_V1:
        payload = raw[_HEADER_V1_BYTES : _HEADER_V1_BYTES + length]
        return Frame(raw[5], raw[3], raw[4], raw[2], payload, raw)
    payload = raw[_HEADER_V2_BYTES : _HEADER_V2_BYTES + length]
    signature = raw[-SIGNATURE_BYTES:] if raw[2] & SIGNED_FLAG else b""
    message_id = int.from_bytes(raw[7:10], "little")
    return Frame(message_id, raw[5], raw[6], raw[4], payload, raw, signature)
