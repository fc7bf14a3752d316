"""What was read, taken apart into frames and the bytes between them; nothing lost or moved."""

from dataclasses import dataclass

from firmware_bridge.frame import Frame, Framer


@dataclass(frozen=True, slots=True)
class Piece:
    """One frame, or bytes that belong to none."""

    raw: bytes
    frame: Frame | None


def split_datagram(datagram: bytes) -> list[Piece]:
    frames = Framer().feed_datagram(datagram)
    pieces = [Piece(frame.raw, frame) for frame in frames]
    rest = datagram[sum(len(frame.raw) for frame in frames) :]
    return [*pieces, Piece(rest, None)] if rest else pieces


class StreamSplitter:
    def __init__(self) -> None:
        self.tail = b""
        """The beginning of a frame that is not whole yet."""
        self._framer = Framer()

    def feed(self, data: bytes) -> list[Piece]:
        stream = self.tail + data
        noise_before = self._framer.counts.noise_bytes
        frames = self._framer.feed(data)
        noise_bytes = self._framer.counts.noise_bytes - noise_before
        pieces: list[Piece] = []
        at = 0
        for frame in frames:
            start = stream.find(frame.raw, at)
            if start > at:
                pieces.append(Piece(stream[at:start], None))
            pieces.append(Piece(frame.raw, frame))
            at = start + len(frame.raw)
        end = sum(len(frame.raw) for frame in frames) + noise_bytes
        if end > at:
            pieces.append(Piece(stream[at:end], None))
        self.tail = stream[end:]
        return pieces
