"""Make a log that was cut off whole where it lies: a full disk has no room for a repaired copy."""

import os
import shutil
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from mcap.records import Channel, Chunk, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk

from ghost.core.errors import LogError
from ghost.telemetry.mcap_file import (
    MAGIC,
    Span,
    channel_record,
    chunk_index_record,
    ending,
    schema_record,
)

SPARE_BYTES = 16 * 1024
"""For the manifest, and for what a disk rounds up."""

_RECORD_HEAD = struct.Struct("<BQ")
_HEADER, _CHUNK, _MESSAGE_INDEX, _DATA_END = 0x01, 0x06, 0x07, 0x0F


@dataclass(slots=True)
class _Block:
    """A chunk, and the message indexes behind it."""

    chunk: Chunk
    at: int
    length: int
    end: int
    places: bytes = b""
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    @property
    def is_indexed(self) -> bool:
        return len(self.places) == 10 * len(self.counts)

    @property
    def index(self) -> bytes:
        chunk = self.chunk
        return chunk_index_record(
            (chunk.message_start_time, chunk.message_end_time),
            (self.at, self.length, self.end - self.at - self.length),
            self.places,
            chunk.compression,
            (len(chunk.data), chunk.uncompressed_size),
        )


def finish_in_place(path: Path) -> int | None:
    """Put an ending behind the last whole chunk; where there is no room for one, the last chunks
    give theirs. How many bytes that cost, or None for a log that is whole.
    """
    size = path.stat().st_size
    begin, blocks, is_whole = _whole_blocks(path, size)
    if is_whole:
        return None
    room = shutil.disk_usage(path.parent).free
    while True:
        at = blocks[-1].end if blocks else begin
        end = _ending(at, blocks)
        if size - at + room >= len(end) + SPARE_BYTES:
            break
        if not blocks:
            raise LogError(_no_room(path, len(end) + SPARE_BYTES))
        blocks.pop()
    with path.open("r+b") as stream:
        stream.truncate(at)
        stream.seek(at)
        stream.write(end)
        stream.flush()
        os.fsync(stream.fileno())
    return size - at


def _whole_blocks(path: Path, size: int) -> tuple[int, list[_Block], bool]:
    blocks: list[_Block] = []
    begin, is_whole = len(MAGIC), False
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise LogError(f"{path} is not an MCAP file")
        for opcode, at, end in _records(stream, size):
            if opcode == _CHUNK:
                blocks.append(_block(path, stream, at, end))
            elif opcode == _MESSAGE_INDEX and blocks:
                stream.seek(at + _RECORD_HEAD.size)
                blocks[-1].places += stream.read(2) + struct.pack("<Q", at)
                blocks[-1].end = end
            elif opcode == _HEADER:
                begin = end
            elif opcode == _DATA_END:
                stream.seek(-len(MAGIC), os.SEEK_END)
                is_whole = stream.read() == MAGIC
                break
            else:  # not a log of ours; only a copy can be told what to leave out
                raise LogError(_no_room(path, size))
    if blocks and not blocks[-1].is_indexed:
        blocks.pop()
    return begin, blocks, is_whole


def _records(stream: IO[bytes], size: int) -> Iterator[tuple[int, int, int]]:
    """Kind, begin and end of each record up to the first that isn't whole."""
    at = stream.tell()
    while at + _RECORD_HEAD.size <= size:
        stream.seek(at)
        opcode, length = _RECORD_HEAD.unpack(stream.read(_RECORD_HEAD.size))
        end = at + _RECORD_HEAD.size + length
        if end > size:
            return
        yield opcode, at, end
        at = end


def _block(path: Path, stream: IO[bytes], at: int, end: int) -> _Block:
    stream.seek(at)
    try:
        chunk = next(StreamReader(stream, skip_magic=True, emit_chunks=True).records)
        assert isinstance(chunk, Chunk)  # noqa: S101 - by its opcode
        records = breakup_chunk(chunk, validate_crc=True)
    except Exception as error:
        # Any kind: whatever a damaged chunk makes the decompressor raise.
        raise LogError(_no_room(path, end)) from error
    block = _Block(chunk, at, end - at, end)
    for record in records:
        if isinstance(record, Schema):
            block.schemas[record.id] = record
        elif isinstance(record, Channel):
            block.channels[record.id] = record
        elif isinstance(record, Message):
            block.counts[record.channel_id] += 1
    return block


def _ending(at: int, blocks: list[_Block]) -> bytes:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    counts: Counter[int] = Counter()
    for block in blocks:
        schemas |= block.schemas
        channels |= block.channels
        counts += block.counts
    return ending(
        at,
        [schema_record(one.id, one.name, one.encoding, one.data) for one in schemas.values()],
        [
            channel_record(one.id, one.schema_id, one.topic, one.message_encoding, one.metadata)
            for one in channels.values()
        ],
        [block.index for block in blocks],
        Span(
            {number: counts[number] for number in channels},
            min((block.chunk.message_start_time for block in blocks if block.counts), default=0),
            max((block.chunk.message_end_time for block in blocks if block.counts), default=0),
        ),
    )


def _no_room(path: Path, needed: int) -> str:
    return f"no room to repair {path}; make {needed} bytes of room and try again"
