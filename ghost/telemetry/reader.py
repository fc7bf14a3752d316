"""Read a flight log back: as typed messages, in the order in which they were published."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.records import Channel as McapChannel
from mcap.records import Message, Schema
from mcap.stream_reader import StreamReader

from ghost.core.channels import Channel
from ghost.core.errors import LogError, MessageError
from ghost.events import Event
from ghost.hal import commands, obstacles, samples, vehicle
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
    samples.ContactSample,
    samples.Pose,
    samples.GroundTruth,
    samples.Transform,
    samples.CameraCalibration,
    samples.Scene,
    obstacles.Obstacles,
    vehicle.VehicleState,
    vehicle.VehicleStatus,
    vehicle.ControlState,
    vehicle.ActionRequest,
    vehicle.ActionAck,
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
    schema: Schema | None
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
        return self._raw(channels)

    def messages(self, channels: Collection[str] | None = None) -> Iterator[Record]:
        """Typed messages in their original total order. Derived channels hold none."""
        self._refuse_unknown(channels)
        typed: dict[str, Channel[Any]] = {
            name: Channel(name, self._type_of(name))
            for name, channel in self.channels.items()
            if channel.derived_from is None and (channels is None or name in channels)
        }
        if derived := sorted(set(channels or ()) - set(typed)):
            source = self.channels[derived[0]].derived_from
            raise LogError(f"{derived[0]} is derived from {source}; read that one instead")
        return self._messages(typed)

    def _raw(self, channels: Collection[str] | None) -> Iterator[RawRecord]:
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
                                schemas[topic.schema_id] if topic.schema_id else None,
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

    def _messages(self, typed: Mapping[str, Channel[Any]]) -> Iterator[Record]:
        readers: dict[str, Any] = {}
        for raw in self._raw(typed):
            channel = typed[raw.channel]
            try:
                if raw.channel not in readers:
                    readers[raw.channel] = protobuf_class(raw)
                    _refuse_other_schema(raw, channel.message_type)
                message = codec_for(channel.message_type).decode(
                    raw.data, protobuf_class=readers[raw.channel]
                )
            except (LogError, MessageError) as error:
                raise LogError(f"{self.path}: {raw.channel}: {_said(error)}") from error
            yield Record(channel, message, raw.stamp_ns, raw.sequence)

    def _read_summary(self) -> dict[str, LogChannel]:
        with self.path.open("rb") as stream:
            try:
                summary = make_reader(stream).get_summary()
            except Exception as error:
                raise _unreadable(self.path, error) from error
        if summary is None or summary.statistics is None:
            raise LogError(f"{self.path} was written without a summary; `mcap recover` adds one")
        self.start_ns = summary.statistics.message_start_time
        self.end_ns = summary.statistics.message_end_time
        self._type_names = {
            channel.topic: channel.metadata.get(TYPE_KEY) for channel in summary.channels.values()
        }
        return {
            channel.topic: LogChannel(
                name=channel.topic,
                schema=_name_of(summary.schemas.get(channel.schema_id)),
                count=summary.statistics.channel_message_counts.get(channel.id, 0),
                derived_from=channel.metadata.get(DERIVED_KEY),
            )
            for _, channel in sorted(summary.channels.items())
        }

    def _type_of(self, name: str) -> type:
        type_name = self._type_names[name]
        if type_name is None:
            raise LogError(
                f"{self.path}: {name} was not written by Ghost; if it is protobuf, "
                "`ghost log export` reads it"
            )
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


def protobuf_class(raw: RawRecord) -> Any:
    """The protobuf class that reads a record, as the log describes it."""
    if raw.schema is None or raw.schema.encoding != "protobuf":
        encoding = raw.schema.encoding if raw.schema else "missing"
        raise LogError(f"the schema is {encoding}; Ghost reads protobuf alone")
    return protobuf_class_of(raw.schema.data, raw.schema.name)


def _refuse_other_schema(raw: RawRecord, message_type: type) -> None:
    expected = codec_for(message_type).name
    if _name_of(raw.schema) != expected:
        raise LogError(f"the schema is {_name_of(raw.schema)}; expected {expected}")


def _name_of(schema: Schema | None) -> str:
    return schema.name if schema else ""


def _unreadable(path: Path, error: Exception) -> LogError:
    with path.open("rb") as stream:
        is_mcap = stream.read(8) == b"\x89MCAP0\r\n"
    if is_mcap:
        return LogError(f"{path} was cut off or damaged ({_said(error)}); run `ghost log recover`")
    return LogError(f"{path} is not an MCAP file")


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
