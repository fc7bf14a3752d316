"""PNG, written and read: 8-bit RGB, which is all that a camera here needs.

The writer subtracts from each row the one above and compresses at zlib's quickest level. The reader
takes the rows of any encoder, and refuses what is no 8-bit RGB.
"""

import struct
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import LogError

Bytes = NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")
_RGB8 = (8, 2, 0, 0, 0)  # bit depth, colour type, compression, filter method, interlace
_MOST_BYTES = 2**31 - 1
_UP = 2
_CHANNELS = 3


def encode_png(pixels: Bytes) -> bytes:
    """The picture as PNG. One without pixels can be written too, but only decode_png reads it."""
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, width * _CHANNELS)
    filtered = np.empty((height, 1 + rows.shape[1]), np.uint8)
    filtered[:, 0] = _UP
    filtered[:1, 1:] = rows[:1]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    return b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", _HEADER.pack(width, height, *_RGB8)),
            _chunk(b"IDAT", zlib.compress(filtered.data, 1)),
            _chunk(b"IEND", b""),
        ]
    )


def decode_png(data: bytes) -> Bytes:
    """The pixels of an 8-bit RGB picture, shape (height, width, 3)."""
    if not data.startswith(_SIGNATURE):
        raise LogError(f"not a PNG: it begins with {data[:8]!r}")
    chunks = _chunks(data)
    kind, body = next(chunks, (b"", b""))
    if kind != b"IHDR" or len(body) != _HEADER.size:
        raise LogError(f"PNG without a header: its first chunk is {kind!r} of {len(body)} bytes")
    width, height, *form = _HEADER.unpack(body)
    row_bytes = 1 + width * _CHANNELS
    if tuple(form) != _RGB8 or height * row_bytes > _MOST_BYTES:
        raise LogError(
            f"PNG of {width} x {height} pixels, {_said(form)}; "
            f"expected 8-bit RGB in one pass, up to {_MOST_BYTES} bytes"
        )
    compressed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    rows = _decompressed(compressed, height * row_bytes).reshape(height, row_bytes)
    return _unfiltered(rows).reshape(height, width, _CHANNELS)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every chunk up to the end's, its checksum checked."""
    at = len(_SIGNATURE)
    kind = b""
    while kind != b"IEND":
        if len(data) < at + 12:
            raise LogError(f"PNG cut off after {len(data)} bytes, before its end")
        length, kind = struct.unpack_from(">I4s", data, at)
        body, at = data[at + 8 : at + 8 + length], at + 12 + length
        if len(data) < at:
            raise LogError(f"PNG cut off after {len(data)} bytes, within {kind!r}")
        if zlib.crc32(kind + body) != int.from_bytes(data[at - 4 : at], "big"):
            raise LogError(f"PNG damaged: the checksum of {kind!r} is wrong")
        yield kind, body


def _decompressed(compressed: bytes, size: int) -> Bytes:
    """No more than a byte above size, however large the data would become."""
    try:
        content = zlib.decompressobj().decompress(compressed, size + 1)
    except zlib.error as error:
        raise LogError(f"PNG damaged: {error}") from error
    if len(content) != size:
        more = "more than " if len(content) > size else ""
        raise LogError(f"PNG damaged: {more}{min(len(content), size)} bytes of {size}")
    return np.frombuffer(content, np.uint8)


def _unfiltered(rows: Bytes) -> Bytes:
    pixels = np.empty((rows.shape[0], rows.shape[1] - 1), np.uint8)
    above = np.zeros(pixels.shape[1], np.uint8)
    for number, (kind, row) in enumerate(zip(rows[:, 0].tolist(), rows[:, 1:], strict=True)):
        if kind >= len(_UNDO):
            raise LogError(f"PNG damaged: row {number} has filter {kind}; expected 0 to 4")
        pixels[number] = _UNDO[kind](row, above)
        above = pixels[number]
    return pixels


def _undo_sub(row: Bytes, _: Bytes) -> Bytes:
    return np.add.accumulate(row.reshape(-1, _CHANNELS), axis=0, dtype=np.uint8).ravel()


def _undo_average(row: Bytes, above: Bytes) -> Bytes:
    return _undo_in_turn(row, above, lambda left, up, _: (left + up) // 2)


def _undo_paeth(row: Bytes, above: Bytes) -> Bytes:
    return _undo_in_turn(row, above, _paeth)


def _undo_in_turn(row: Bytes, above: Bytes, guess: Callable[[int, int, int], int]) -> Bytes:
    """Each byte needs the one before it. Slow; only other encoders' rows come here."""
    done = [0] * _CHANNELS
    ups = [*done, *above.tolist()]
    for at, value in enumerate(row.tolist()):
        done.append((value + guess(done[at], ups[at + _CHANNELS], ups[at])) & 0xFF)
    return np.array(done[_CHANNELS:], np.uint8)


def _paeth(left: int, up: int, corner: int) -> int:
    """Whichever neighbour is nearest to left + up - corner; in doubt left, then up."""
    return min(left, up, corner, key=lambda each: abs(left + up - corner - each))


_UNDO: tuple[Callable[[Bytes, Bytes], Bytes], ...] = (
    lambda row, _: row,
    _undo_sub,
    lambda row, above: row + above,
    _undo_average,
    _undo_paeth,
)


def _said(form: list[int]) -> str:
    depth, colour, compression, method, interlace = form
    return (
        f"{depth} bits of colour type {colour}, compression {compression}, "
        f"filter method {method}, interlace {interlace}"
    )
