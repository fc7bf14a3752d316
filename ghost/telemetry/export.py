"""Take a log apart: one channel's hash, or each channel as CSV."""

import csv
import hashlib
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ghost.core.errors import LogError
from ghost.telemetry.codec import protobuf_class_of
from ghost.telemetry.reader import LogReader

_FRAME = struct.Struct("<QI")


def channel_sha256(reader: LogReader, channel: str) -> str:
    """SHA-256 over a channel's messages, each with its log time and length.

    Independent of every other channel: what else was logged doesn't change it.
    """
    digest = hashlib.sha256()
    for raw in reader.raw((channel,)):
        digest.update(_FRAME.pack(raw.stamp_ns, len(raw.data)))
        digest.update(raw.data)
    return digest.hexdigest()


def export_csv(
    reader: LogReader, folder: Path, channels: Collection[str] | None = None
) -> dict[str, Path]:
    """One file a channel, one row a message, a column for every number and text in it.

    Read by the log's own schemas, so it works on any protobuf MCAP. Columns are those of the
    first message; a list that grows later on keeps the columns it started with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for name in channels if channels is not None else reader.channels:
        rows = _rows(reader, name)
        path = folder / f"{name.strip('/').replace('/', '_')}.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            first = next(rows, None)
            if first is not None:
                table = csv.DictWriter(stream, list(first), extrasaction="ignore", restval="")
                table.writeheader()
                table.writerow(first)
                table.writerows(rows)
        written[name] = path
    return written


def _rows(reader: LogReader, channel: str) -> Iterator[dict[str, Any]]:
    protobuf_class: Any = None
    for raw in reader.raw((channel,)):
        if protobuf_class is None:
            protobuf_class = protobuf_class_of(raw.schema.data, raw.schema.name)
        row: dict[str, Any] = {"log_time_ns": raw.stamp_ns, "sequence": raw.sequence}
        try:
            _flatten(protobuf_class.FromString(raw.data), "", row)
        except DecodeError:
            raise LogError(
                f"{reader.path}: {channel} holds a message that is not {raw.schema.name}"
            ) from None
        yield row


def _flatten(proto: Any, prefix: str, row: dict[str, Any]) -> None:
    for entry in proto.DESCRIPTOR.fields:
        name = prefix + entry.name
        value = getattr(proto, entry.name)
        if entry.is_repeated:
            for index, item in enumerate(value):
                _put(item, entry, f"{name}[{index}]", row)
        elif entry.message_type is None or proto.HasField(entry.name):
            _put(value, entry, name, row)


def _put(value: Any, entry: Any, name: str, row: dict[str, Any]) -> None:
    if entry.message_type is not None:
        _flatten(value, f"{name}.", row)
    elif isinstance(value, bytes):
        row[name] = f"{len(value)} bytes"
    elif entry.enum_type is not None:
        known = entry.enum_type.values_by_number.get(value)
        row[name] = known.name if known else value
    else:
        row[name] = repr(value) if isinstance(value, float) else value
