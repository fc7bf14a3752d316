"""Take a log apart: one channel's hash, or each channel as CSV."""

import csv
import hashlib
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ghost.core.errors import LogError
from ghost.telemetry.reader import LogReader, RawRecord, protobuf_class

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
    tables = {
        name: _rows(reader, reader.raw((name,)))
        for name in (channels if channels is not None else reader.channels)
    }
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for name, rows in tables.items():
        path = folder / f"{name.strip('/').replace('/', '_')}.csv"
        if path in written.values():
            raise LogError(f"{name} and another channel would both be {path}; export one at a time")
        with path.open("w", newline="", encoding="utf-8") as stream:
            first = next(rows, None)
            if first is not None:
                table = csv.DictWriter(stream, list(first), extrasaction="ignore", restval="")
                table.writeheader()
                table.writerow(first)
                table.writerows(rows)
        written[name] = path
    return written


def _rows(reader: LogReader, records: Iterator[RawRecord]) -> Iterator[dict[str, Any]]:
    form: Any = None
    for raw in records:
        row: dict[str, Any] = {"log_time_ns": raw.stamp_ns}
        try:
            form = form or protobuf_class(raw)
            _flatten(form.FromString(raw.data), "", row)
        except LogError as error:
            raise LogError(f"{reader.path}: {raw.channel}: {error}") from error
        except DecodeError:
            raise LogError(
                f"{reader.path}: {raw.channel} holds a message that is not "
                f"{form.DESCRIPTOR.full_name}"
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
