"""Repair a log that was cut off: keep every whole chunk, and say what could not be kept."""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO

from mcap.reader import make_reader
from mcap.records import Channel as McapChannel
from mcap.records import Chunk, McapRecord, Message, Schema
from mcap.stream_reader import StreamReader, breakup_chunk

from ghost.core.errors import ConfigError, LogError
from ghost.telemetry.finish import finish_in_place
from ghost.telemetry.log import CHUNK_BYTES, ChannelCount
from ghost.telemetry.manifest import MANIFEST_NAME, Manifest, read_manifest, write_manifest
from ghost.telemetry.mcap_file import MAGIC, McapFile
from ghost.telemetry.reader import LOG_NAME, LogReader, log_path
from ghost.telemetry.run import finished_log

_RECORD_HEAD = struct.Struct("<BQ")
_CHUNK_OPCODE, _SCHEMA_OPCODE, _CHANNEL_OPCODE, _MESSAGE_OPCODE = 0x06, 0x03, 0x04, 0x05
_DATA_END_OPCODE = 0x0F


@dataclass(slots=True)
class Recovery:
    """What a repair found. Times are run time."""

    path: Path
    kept_as: Path | None = None
    messages: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    damaged_chunks: int = 0
    unread_bytes: int = 0
    cut_bytes: int = 0
    was_whole: bool = False
    channels: dict[str, ChannelCount] = field(default_factory=dict)

    @property
    def lost(self) -> str:
        """What is gone, in one line."""
        if self.was_whole and not self.damaged_chunks:
            return "nothing: the log is whole"
        parts = []
        if self.damaged_chunks:
            parts.append(f"{self.damaged_chunks} damaged chunks")
        if self.unread_bytes:
            parts.append(f"{self.unread_bytes} bytes of an unfinished record at the end")
        if self.cut_bytes:
            parts.append(
                f"{self.cut_bytes} bytes at the end, in whose place its index is: the disk is full"
            )
        if not self.was_whole:
            until = "the start" if self.end_ns is None else f"{self.end_ns / 1e9:.3f} s"
            parts.append(f"whatever was not on disk yet after {until}")
        return ", ".join(parts)


def recover(path: Path | str) -> Recovery:
    """Repair the log at path in place. The damaged file stays beside it under another name, where
    the disk has room for both.
    """
    path = log_path(path)
    # Read first: a manifest that can't be completed stops the repair before it changes anything.
    has_manifest = path.name == LOG_NAME and (path.parent / MANIFEST_NAME).exists()
    manifest = _read_manifest(path.parent) if has_manifest else None
    found = Recovery(path)
    repaired = path.with_suffix(".repaired")
    try:
        with path.open("rb") as damaged, repaired.open("wb") as output:
            _refuse_live(damaged, path)
            _copy(damaged, output, found)
            output.flush()
            os.fsync(output.fileno())
    except BaseException as error:
        repaired.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _recover_in_place(path, manifest)
        raise
    is_intact = found.was_whole and not found.damaged_chunks
    if is_intact:
        repaired.unlink()
    else:
        found.kept_as = _unused(path.with_suffix(".damaged.mcap"))
        path.rename(found.kept_as)
        repaired.rename(path)
    if manifest is not None and not (is_intact and manifest.log.status != "recording"):
        _complete(manifest, found)
    return found


def _read_manifest(folder: Path) -> Manifest:
    try:
        return read_manifest(folder)
    except ConfigError as error:
        hint = "move it away, and the log is repaired without it"
        raise ConfigError(f"{error}; {hint}") from None


def _recover_in_place(path: Path, manifest: Manifest | None) -> Recovery:
    cut_bytes = finish_in_place(path)
    found = Recovery(path, cut_bytes=cut_bytes or 0, was_whole=cut_bytes is None)
    reader = LogReader(path)
    for name, channel in reader.channels.items():
        found.channels[name] = ChannelCount(channel.schema, channel.count)
        found.messages += channel.count
    if found.messages:
        found.start_ns, found.end_ns = reader.start_ns, reader.end_ns
    if manifest is not None and not (found.was_whole and manifest.log.status != "recording"):
        _complete(manifest, found)
    return found


def _complete(manifest: Manifest, found: Recovery) -> None:
    log = finished_log(found.path, "recovered", found.channels, found.start_ns, found.end_ns)
    write_manifest(replace(manifest, log=log), found.path.parent)


def _refuse_live(log: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LogError(f"{path} is being recorded; wait until the run ends") from None


def _copy(damaged: IO[bytes], output: IO[bytes], found: Recovery) -> None:
    writer = McapFile(output, chunk_bytes=CHUNK_BYTES)
    schemas: dict[int, int] = {}
    channels: dict[int, int] = {}
    topics: dict[int, str] = {}
    schema_names: dict[int, str] = {}
    for record in chain(_summary(damaged), _records(damaged, found)):
        if isinstance(record, Schema) and record.id not in schemas:
            schemas[record.id] = writer.add_schema(record.name, record.encoding, record.data)
            schema_names[record.id] = record.name
        elif isinstance(record, McapChannel) and record.id not in channels:
            channels[record.id] = writer.add_channel(
                record.topic,
                record.message_encoding,
                schemas.get(record.schema_id, 0),
                record.metadata,
            )
            topics[record.id] = record.topic
            found.channels[record.topic] = ChannelCount(schema_names.get(record.schema_id, ""))
        elif isinstance(record, Message) and record.channel_id in channels:
            writer.add_message(
                channels[record.channel_id],
                record.log_time,
                record.data,
                record.publish_time,
                record.sequence,
            )
            found.messages += 1
            found.channels[topics[record.channel_id]].count += 1
            found.start_ns = record.log_time if found.start_ns is None else found.start_ns
            found.end_ns = record.log_time
    writer.finish()


def _summary(damaged: IO[bytes]) -> list[McapRecord]:
    """Schemas and channels as the end of a log repeats them: a damaged chunk may have held the
    only other copy, and every later chunk needs them.
    """
    try:
        summary = make_reader(damaged).get_summary()
    except Exception:  # noqa: BLE001 - a log that was cut off has none, and needs none
        summary = None
    damaged.seek(0)
    return [] if summary is None else [*summary.schemas.values(), *summary.channels.values()]


def _records(damaged: IO[bytes], found: Recovery) -> Iterator[McapRecord]:
    """Everything readable up to the first record that isn't whole; bad chunks are left out."""
    if damaged.read(len(MAGIC)) != MAGIC:
        raise LogError(f"{found.path} is not an MCAP file")
    size = found.path.stat().st_size
    while True:
        start = damaged.tell()
        head = damaged.read(_RECORD_HEAD.size)
        if len(head) < _RECORD_HEAD.size:
            found.unread_bytes = len(head)
            return
        opcode, length = _RECORD_HEAD.unpack(head)
        if start + _RECORD_HEAD.size + length > size or opcode == 0:
            found.unread_bytes = size - start
            return
        if opcode == _DATA_END_OPCODE:
            damaged.seek(-len(MAGIC), 2)
            found.was_whole = damaged.read() == MAGIC
            return
        if opcode not in (_CHUNK_OPCODE, _SCHEMA_OPCODE, _CHANNEL_OPCODE, _MESSAGE_OPCODE):
            damaged.seek(length, 1)
            continue
        damaged.seek(start)
        try:
            record = next(StreamReader(damaged, skip_magic=True, emit_chunks=True).records)
            yield from (
                breakup_chunk(record, validate_crc=True) if isinstance(record, Chunk) else [record]
            )
        except Exception:  # noqa: BLE001 - whatever a torn chunk makes the decompressor raise
            found.damaged_chunks += 1
        damaged.seek(start + _RECORD_HEAD.size + length)


def _unused(path: Path) -> Path:
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_suffix(f".{number}.mcap")
    return candidate
