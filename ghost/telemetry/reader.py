"""Read a flight log back: as typed messages, in the order in which they were published."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.records import Channel as McapChannel
from mcap.records import Message, Schema
from mcap.stream_reader import StreamReader

from ghost.core.channels import Channel
from ghost.core.errors import LogError
from ghost.events import Event
from ghost.hal import commands, samples
from ghost.telemetry.codec import codec_for, protobuf_class_of
from ghost.telemetry.log import DERIVED_KEY, TYPE_KEY

MESSAGE_TYPES: tuple[type, ...] = (
    Event,
    commands.CommandAck,
    commands.MotorCommand,
    commands.BodyRateCommand,
    commands.AttitudeCommand,
    commands.VelocityCommand,
    commands.PositionCommand,
    commands.TrajectoryCommand,
    samples.ImuSample,
    samples.GpsSample,
    samples.MagnetometerSample,
    samples.BarometerSample,
    samples.RangefinderSample,
    samples.DepthImage,
    samples.RgbImage,
    samples.LaserScan,
    samples.PointCloud,
    samples.BatterySample,
    samples.RotorSpeedSample,
    samples.Pose,
    samples.GroundTruth,
    samples.Transform,
)
LOG_NAME = "log.mcap"


@dataclass(frozen=True, slots=True)
class LogChannel:
    """A channel as the log describes it. Derived ones are for people and are not replayed."""

    name: str
    schema: str
    count: int
    derived_from: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """One message as it went over the bus."""

    channel: Channel[Any]
    message: Any
    stamp_ns: int
    sequence: int


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One message as bytes, with the schema that reads it."""

    channel: str
    schema: Schema
    data: bytes
    stamp_ns: int
    publish_ns: int
    sequence: int


def log_path(path: Path | str) -> Path:
    """The log itself, given it or the folder of its run."""
    path = Path(path)
    found = path / LOG_NAME if path.is_dir() else path
    if not found.is_file():
        raise LogError(f"no flight log at {found}; give a run folder or an .mcap file")
    return found


class LogReader:
    """A finished log. One that was cut off is refused, with the way to repair it."""

    def __init__(self, path: Path | str, *, types: Collection[type] = ()) -> None:
        """Types are the user's own message types, beside Ghost's."""
        self.path = log_path(path)
        self._types = {known.__name__: known for known in (*MESSAGE_TYPES, *types)}
        self.channels = self._read_summary()

    def raw(self, channels: Collection[str] | None = None) -> Iterator[RawRecord]:
        """Every message, or those of some channels, in file order."""
        self._refuse_unknown(channels)
        schemas: dict[int, Schema] = {}
        topics: dict[int, McapChannel] = {}
        with self.path.open("rb") as stream:
            try:
                for record in StreamReader(stream, validate_crcs=True).records:
                    if isinstance(record, Message):
                        topic = topics[record.channel_id]
                        if channels is None or topic.topic in channels:
                            yield RawRecord(
                                topic.topic,
                                schemas[topic.schema_id],
                                record.data,
                                record.log_time,
                                record.publish_time,
                                record.sequence,
                            )
                    elif isinstance(record, Schema):
                        schemas[record.id] = record
                    elif isinstance(record, McapChannel):
                        topics[record.id] = record
            except Exception as error:
                # Any kind: damage makes mcap, struct and the decompressor raise their own.
                raise LogError(
                    f"{self.path} is damaged ({_said(error)}); run `ghost log recover`"
                ) from error

    def messages(self, channels: Collection[str] | None = None) -> Iterator[Record]:
        """Typed messages in their original total order. Derived channels hold none."""
        typed: dict[str, Channel[Any]] = {
            name: Channel(name, self._type_of(name))
            for name, channel in self.channels.items()
            if channel.derived_from is None and (channels is None or name in channels)
        }
        self._refuse_unknown(channels)
        if derived := sorted(set(channels or ()) - set(typed)):
            source = self.channels[derived[0]].derived_from
            raise LogError(f"{derived[0]} is derived from {source}; read that one instead")
        readers: dict[str, Any] = {}
        for raw in self.raw(tuple(typed)):
            channel = typed[raw.channel]
            if raw.channel not in readers:
                readers[raw.channel] = protobuf_class_of(raw.schema.data, raw.schema.name)
            message = codec_for(channel.message_type).decode(
                raw.data, protobuf_class=readers[raw.channel]
            )
            yield Record(channel, message, raw.stamp_ns, raw.sequence)

    def _read_summary(self) -> dict[str, LogChannel]:
        with self.path.open("rb") as stream:
            try:
                summary = make_reader(stream).get_summary()
            except Exception as error:
                raise _unreadable(self.path, error) from error
        if summary is None or summary.statistics is None:
            raise LogError(f"{self.path} was cut off before its end; run `ghost log recover`")
        self.start_ns = summary.statistics.message_start_time
        self.end_ns = summary.statistics.message_end_time
        self._type_names = {
            channel.topic: channel.metadata.get(TYPE_KEY) for channel in summary.channels.values()
        }
        return {
            channel.topic: LogChannel(
                name=channel.topic,
                schema=summary.schemas[channel.schema_id].name if channel.schema_id else "",
                count=summary.statistics.channel_message_counts.get(channel.id, 0),
                derived_from=channel.metadata.get(DERIVED_KEY),
            )
            for _, channel in sorted(summary.channels.items())
        }

    def _type_of(self, name: str) -> type:
        type_name = self._type_names[name]
        if type_name is None:
            raise LogError(f"{self.path}: {name} was not written by Ghost; it can only be exported")
        if type_name not in self._types:
            raise LogError(
                f"{self.path}: {name} carries {type_name}, which this reader doesn't know; "
                "pass the class as LogReader(path, types=[...])"
            )
        return self._types[type_name]

    def _refuse_unknown(self, channels: Collection[str] | None) -> None:
        for name in sorted(channels or ()):
            if name not in self.channels:
                known = ", ".join(self.channels) or "none"
                raise LogError(f"{self.path} has no channel {name}; it has {known}")


def _unreadable(path: Path, error: Exception) -> LogError:
    with path.open("rb") as stream:
        is_mcap = stream.read(8) == b"\x89MCAP0\r\n"
    if is_mcap:
        return LogError(f"{path} was cut off or damaged ({_said(error)}); run `ghost log recover`")
    return LogError(f"{path} is not an MCAP file")


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
