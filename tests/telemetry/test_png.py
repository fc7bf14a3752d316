"""PNG, held against the standard by hand and against Pillow where it is installed."""

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ghost.core.errors import LogError
from ghost.telemetry.png import Bytes, decode_png, encode_png

PICTURES = hnp.arrays(np.uint8, st.tuples(st.integers(0, 9), st.integers(0, 9), st.just(3)))
PIXELS = np.random.Generator(np.random.Philox(7)).integers(0, 256, (5, 4, 3), np.uint8)
RGB8 = (8, 2, 0, 0, 0)


@given(PICTURES)
def test_every_picture_survives(pixels: Bytes) -> None:
    read = decode_png(encode_png(pixels))
    assert read.dtype == np.uint8
    assert np.array_equal(read, pixels)


def test_what_is_written_is_what_the_standard_says() -> None:
    data = encode_png(PIXELS)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        assert checksum == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[0][1]) == (4, 5, *RGB8)
    rows = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(5, 13)
    assert set(rows[:, 0]) == {2}
    # The filter Up: a row is the sum of all the differences so far, modulo 256.
    assert np.array_equal(np.cumsum(rows[:, 1:], axis=0) % 256, PIXELS.reshape(5, 12))


def test_pillow_reads_what_is_written_and_is_read() -> None:
    image: Any = pytest.importorskip("PIL.Image", reason="needs Pillow, which nothing else does")
    smooth = np.add.outer(np.arange(40), np.arange(50))[:, :, None] * [1, 2, 3]
    for pixels in (PIXELS, (smooth % 256).astype(np.uint8)):
        assert np.array_equal(np.asarray(image.open(io.BytesIO(encode_png(pixels)))), pixels)
        written = io.BytesIO()
        image.fromarray(pixels).save(written, "png")
        assert np.array_equal(decode_png(written.getvalue()), pixels)


@given(PICTURES.filter(lambda pixels: pixels.size), st.data())
def test_every_filter_is_undone(pixels: Bytes, data: st.DataObject) -> None:
    height, width, _ = pixels.shape
    kinds = data.draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    filtered = b"".join(bytes([kind, *_filtered(kind, pixels, y)]) for y, kind in enumerate(kinds))
    packed = zlib.compress(filtered)
    middle = len(packed) // 2
    extras = (b"tEXt", b"a word"), (b"IDAT", packed[:middle]), (b"IDAT", packed[middle:])
    assert np.array_equal(decode_png(_png((width, height, *RGB8), *extras)), pixels)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a PNG: it begins with b''"),
        (b"GIF89a", "not a PNG: it begins with b'GIF89a'"),
        (encode_png(PIXELS)[:-1], "cut off after"),
        (encode_png(PIXELS)[:-12], "before its end"),
        (encode_png(PIXELS)[:60], "within b'IDAT'"),
        (encode_png(PIXELS).replace(b"IDAT", b"IDAT\x00", 1), "checksum of b'IDAT'"),
        (b"\x89PNG\r\n\x1a\n" + encode_png(PIXELS)[-12:], "first chunk is b'IEND' of 0 bytes"),
    ],
    ids=["empty", "gif", "cut", "no end", "cut within", "damaged", "no header"],
)
def test_what_is_no_whole_png_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(LogError, match=said.replace("(", r"\(")):
        decode_png(data)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ((16, 2, 0, 0, 0), "16 bits of colour type 2"),
        ((8, 6, 0, 0, 0), "8 bits of colour type 6"),
        ((8, 2, 1, 0, 0), "compression 1"),
        ((8, 2, 0, 1, 0), "filter method 1"),
        ((8, 2, 0, 0, 1), "interlace 1"),
    ],
)
def test_another_kind_of_picture_is_named(form: tuple[int, ...], said: str) -> None:
    with pytest.raises(LogError, match=f"{said}.*expected 8-bit RGB"):
        decode_png(_png((4, 5, *form), (b"IDAT", zlib.compress(bytes(65)))))


@pytest.mark.parametrize(
    ("size", "content", "said"),
    [
        ((4, 5), zlib.compress(bytes(64)), "64 bytes of 65"),
        ((4, 5), zlib.compress(bytes(10_000_000)), "more than 65 bytes of 65"),
        ((4, 5), zlib.compress(bytes([5] + 64 * [0])), "row 0 has filter 5"),
        ((4, 5), b"garbage", "PNG damaged: Error -3"),
        ((2**31, 2**31), zlib.compress(b""), "up to 2147483647 bytes"),
    ],
    ids=["short", "bomb", "filter", "garbage", "huge"],
)
def test_a_picture_that_does_not_fill_its_frame_is_refused(
    size: tuple[int, int], content: bytes, said: str
) -> None:
    with pytest.raises(LogError, match=said):
        decode_png(_png((*size, *RGB8), (b"IDAT", content)))


def _png(header: tuple[int, ...], *chunks: tuple[bytes, bytes]) -> bytes:
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", *header)), *chunks, (b"IEND", b"")):
        parts.append(struct.pack(">I", len(body)) + kind + body)
        parts.append(struct.pack(">I", zlib.crc32(kind + body)))
    return b"".join(parts)


def _filtered(kind: int, pixels: Bytes, y: int) -> list[int]:
    """One row, filtered byte by byte as the standard writes it down."""
    rows = pixels.reshape(len(pixels), -1).tolist()

    def at(row: int, column: int) -> int:
        return int(rows[row][column]) if row >= 0 and column >= 0 else 0

    filtered = []
    for x in range(len(rows[y])):
        a, b, c = at(y, x - 3), at(y - 1, x), at(y - 1, x - 3)
        p = a + b - c
        pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
        paeth = a if pa <= pb and pa <= pc else b if pb <= pc else c
        guess = (0, a, b, (a + b) // 2, paeth)[kind]
        filtered.append((at(y, x) - guess) % 256)
    return filtered
