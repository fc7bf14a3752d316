"""MCAP, written. The framing of a message is the hottest line of a simulated flight, and here it is
one struct; the mcap package's writer, which builds an object per record, takes three times as long
(`make bench` prints both). Reading is left to that package, and tests hold this against it.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import zstandard

MAGIC = b"\x89MCAP0\r\n"

_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
_MESSAGE_INDEX, _CHUNK_INDEX, _STATISTICS, _SUMMARY_OFFSET, _DATA_END = 0x07, 0x08, 0x0B, 0x0E, 0x0F
_MESSAGE_HEAD = struct.Struct("<BQHIQQ")
_MESSAGE_FIXED_BYTES = 22  # channel, sequence and two times


@dataclass(slots=True)
class _Chunk:
    """Records that wait for each other, and where each channel's messages lie among them."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    start_ns: int | None = None
    end_ns: int = 0
    index: dict[int, list[int]] = field(default_factory=dict)


class McapFile:
    """Writes chunks to a stream as they fill; finish() adds index and summary."""

    def __init__(self, stream: IO[bytes], *, chunk_bytes: int) -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._written = 0
        self._chunk = _Chunk()
        self._schemas: list[bytes] = []
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._chunk_indexes: list[bytes] = []
        self._start_ns: int | None = None
        self._end_ns = 0
        self._write(MAGIC)
        self._write(_record(_HEADER, _text("") + _text("ghost")))

    def add_schema(self, name: str, encoding: str, definition: bytes) -> int:
        number = len(self._schemas) + 1
        self._schemas.append(schema_record(number, name, encoding, definition))
        self._put(self._schemas[-1])
        return number

    def add_channel(self, topic: str, encoding: str, schema: int, metadata: dict[str, str]) -> int:
        number = len(self._channels) + 1
        self._channels.append(channel_record(number, schema, topic, encoding, metadata))
        self._put(self._channels[-1])
        self._counts[number] = 0
        return number

    def add_message(
        self, channel: int, log_time_ns: int, data: bytes, publish_time_ns: int, sequence: int
    ) -> None:
        chunk = self._chunk
        index = chunk.index.get(channel)
        if index is None:
            index = chunk.index[channel] = []
        index.append(log_time_ns)
        index.append(chunk.size)
        length = _MESSAGE_FIXED_BYTES + len(data)
        chunk.parts.append(
            _MESSAGE_HEAD.pack(_MESSAGE, length, channel, sequence, log_time_ns, publish_time_ns)
        )
        chunk.parts.append(data)
        chunk.size += 9 + length
        if chunk.start_ns is None or log_time_ns < chunk.start_ns:
            chunk.start_ns = log_time_ns
        chunk.end_ns = max(chunk.end_ns, log_time_ns)
        if chunk.size >= self._chunk_bytes:
            self._end_chunk()

    def flush(self) -> None:
        """End the chunk in progress and hand everything to the operating system."""
        self._end_chunk()
        self._stream.flush()

    def finish(self) -> None:
        self._end_chunk()
        self._write(
            ending(
                self._written,
                self._schemas,
                self._channels,
                self._chunk_indexes,
                Span(self._counts, self._start_ns or 0, self._end_ns),
            )
        )
        self._stream.flush()

    def _put(self, record: bytes) -> None:
        self._chunk.parts.append(record)
        self._chunk.size += len(record)

    def _end_chunk(self) -> None:
        chunk = self._chunk
        if not chunk.size:
            return
        records = b"".join(chunk.parts)
        compressed = self._compress(records)
        start_ns = chunk.start_ns or 0
        head = struct.pack("<QQQI", start_ns, chunk.end_ns, chunk.size, zlib.crc32(records))
        body = head + _text("zstd") + struct.pack("<Q", len(compressed)) + compressed
        chunk_at = self._written
        self._write(_record(_CHUNK, body))
        chunk_length = self._written - chunk_at
        index_at, places = self._written, b""
        for channel in sorted(chunk.index):
            entries = chunk.index[channel]
            places += struct.pack("<HQ", channel, self._written)
            packed = struct.pack(f"<HI{len(entries)}Q", channel, len(entries) * 8, *entries)
            self._write(_record(_MESSAGE_INDEX, packed))
            self._counts[channel] += len(entries) // 2
        self._chunk_indexes.append(
            chunk_index_record(
                (start_ns, chunk.end_ns),
                (chunk_at, chunk_length, self._written - index_at),
                places,
                "zstd",
                (len(compressed), chunk.size),
            )
        )
        if chunk.start_ns is not None:
            self._start_ns = start_ns if self._start_ns is None else min(self._start_ns, start_ns)
            self._end_ns = max(self._end_ns, chunk.end_ns)
        self._chunk = _Chunk()

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self._written += len(data)


@dataclass(frozen=True, slots=True)
class Span:
    """How many messages each channel has, and when they were."""

    counts: Mapping[int, int]
    start_ns: int
    end_ns: int


def schema_record(number: int, name: str, encoding: str, definition: bytes) -> bytes:
    body = struct.pack("<H", number) + _text(name) + _text(encoding) + _sized(definition)
    return _record(_SCHEMA, body)


def channel_record(
    number: int, schema: int, topic: str, encoding: str, metadata: Mapping[str, str]
) -> bytes:
    pairs = b"".join(_text(key) + _text(value) for key, value in metadata.items())
    body = struct.pack("<HH", number, schema) + _text(topic) + _text(encoding) + _sized(pairs)
    return _record(_CHANNEL, body)


def chunk_index_record(
    times_ns: tuple[int, int],
    place: tuple[int, int, int],
    places: bytes,
    compression: str,
    sizes: tuple[int, int],
) -> bytes:
    """Of a chunk at a place: where it begins, its length and that of the message indexes behind
    it. Sizes are compressed and not.
    """
    at, length, indexes_length = place
    return _record(
        _CHUNK_INDEX,
        struct.pack("<QQQQ", *times_ns, at, length)
        + _sized(places)
        + struct.pack("<Q", indexes_length)
        + _text(compression)
        + struct.pack("<QQ", *sizes),
    )


def ending(
    at: int,
    schemas: Sequence[bytes],
    channels: Sequence[bytes],
    chunk_indexes: Sequence[bytes],
    span: Span,
) -> bytes:
    """What makes a file whole whose last chunk ends at that byte."""
    data_end = _record(_DATA_END, struct.pack("<I", 0))
    summary_at = at + len(data_end)
    counts = b"".join(struct.pack("<HQ", *entry) for entry in span.counts.items())
    statistics = struct.pack(
        "<QHIIIIQQ",
        sum(span.counts.values()),
        len(schemas),
        len(channels),
        0,
        0,
        len(chunk_indexes),
        span.start_ns,
        span.end_ns,
    )
    groups = [
        (_SCHEMA, b"".join(schemas)),
        (_CHANNEL, b"".join(channels)),
        (_STATISTICS, _record(_STATISTICS, statistics + _sized(counts))),
        (_CHUNK_INDEX, b"".join(chunk_indexes)),
    ]
    summary, offsets = b"", b""
    for opcode, group in groups:
        if group:
            group_at = summary_at + len(summary)
            offsets += _record(_SUMMARY_OFFSET, struct.pack("<BQQ", opcode, group_at, len(group)))
            summary += group
    offsets_at = summary_at + len(summary)
    # The footer's checksum covers the summary and the footer up to the checksum itself.
    footer = struct.pack("<BQQQ", _FOOTER, 20, summary_at, offsets_at)
    checksum = zlib.crc32(summary + offsets + footer)
    return data_end + summary + offsets + footer + struct.pack("<I", checksum) + MAGIC


def _record(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def _text(text: str) -> bytes:
    return _sized(text.encode())


def _sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data
