"""The flight log: every message of the bus in one MCAP file that Foxglove opens as it is.

The writer is synchronous and holds no wall time and no version: the same run writes the same
bytes. log_time is run time at the publish, publish_time the message's own stamp, and the MCAP
sequence is the bus's global one, so a gap in it shows what was dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.Log_pb2 import Log
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage

from ghost.core.channels import Channel
from ghost.events import Event
from ghost.hal import DepthImage, Pose
from ghost.telemetry.codec import codec_for
from ghost.telemetry.foxglove import event_text, pose_transform
from ghost.telemetry.images import depth_in_millimetres
from ghost.telemetry.mcap_file import McapFile
from ghost.telemetry.schema import extended_schema

CHUNK_BYTES = 256 * 1024
TRANSFORM_PERIOD_NS = 20_000_000  # a 3D view needs no more than 50 poses a second
DEPTH_PERIOD_NS = 200_000_000  # nor an eye more than 5 depth images

TYPE_KEY = "ghost.type"
DERIVED_KEY = "ghost.derived_from"


@dataclass(slots=True)
class ChannelCount:
    """How many messages of which schema a channel of the log holds."""

    schema: str
    count: int = 0


@dataclass(slots=True)
class _View:
    """A second form of a message, for people: derived, so never replayed."""

    channel_id: int
    encode: Callable[[Any], bytes]
    count: ChannelCount
    period_ns: int
    due_ns: int = field(default=-(2**63))


@dataclass(slots=True)
class _Route:
    channel_id: int
    encode: Callable[[Any], bytes]
    count: ChannelCount
    view: _View | None


_VIEWS: dict[type, tuple[str, Any, Callable[[Any], bytes], int]] = {
    Event: ("/text", Log, event_text, 0),
    Pose: ("/tf", FrameTransform, pose_transform, TRANSFORM_PERIOD_NS),
    DepthImage: ("/mm", RawImage, depth_in_millimetres, DEPTH_PERIOD_NS),
}


class LogWriter:
    """A bus sink that writes MCAP to a stream. Close it to make the file whole."""

    def __init__(self, stream: IO[bytes], *, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._mcap = McapFile(stream, chunk_bytes=chunk_bytes)
        self._routes: dict[str, _Route] = {}
        self._schemas: dict[str, int] = {}
        self.channels: dict[str, ChannelCount] = {}
        self.start_ns: int | None = None
        self.end_ns: int | None = None

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        route = self._routes.get(channel.name) or self._register(channel)
        data = route.encode(message)
        publish_ns = max(message.stamp_ns, 0)  # MCAP has no time before 0; the message has
        sequence &= 0xFFFFFFFF
        self._mcap.add_message(route.channel_id, stamp_ns, data, publish_ns, sequence)
        route.count.count += 1
        view = route.view
        if view is not None and stamp_ns >= view.due_ns:
            view.due_ns = stamp_ns + view.period_ns
            view.count.count += 1
            data = view.encode(message)
            self._mcap.add_message(view.channel_id, stamp_ns, data, publish_ns, sequence)
        if self.start_ns is None:
            self.start_ns = stamp_ns
        self.end_ns = stamp_ns

    def flush(self) -> None:
        """End the chunk in progress and hand everything to the operating system."""
        self._mcap.flush()

    def close(self) -> None:
        """Write index and summary. The stream stays open: whoever opened it closes it."""
        self._mcap.finish()

    def _register(self, channel: Channel[Any]) -> _Route:
        codec = codec_for(channel.message_type)
        channel_id, count = self._add_channel(
            channel.name,
            codec.name,
            codec.schema.SerializeToString(deterministic=True),
            {TYPE_KEY: channel.message_type.__name__},
        )
        route = _Route(channel_id, codec.encode, count, self._view_of(channel))
        self._routes[channel.name] = route
        return route

    def _view_of(self, channel: Channel[Any]) -> _View | None:
        if channel.message_type not in _VIEWS:
            return None
        suffix, proto, encode, period_ns = _VIEWS[channel.message_type]
        name = channel.name + suffix
        schema = extended_schema(proto.DESCRIPTOR, [])
        channel_id, count = self._add_channel(
            name,
            proto.DESCRIPTOR.full_name,
            schema.SerializeToString(deterministic=True),
            {DERIVED_KEY: channel.name},
        )
        return _View(channel_id, encode, count, period_ns)

    def _add_channel(
        self, name: str, schema: str, definition: bytes, metadata: dict[str, str]
    ) -> tuple[int, ChannelCount]:
        # Keyed by definition: extended and plain forms of one schema share its name.
        key = f"{schema}:{definition.hex()}"
        if key not in self._schemas:
            self._schemas[key] = self._mcap.add_schema(schema, "protobuf", definition)
        channel_id = self._mcap.add_channel(name, "protobuf", self._schemas[key], metadata)
        self.channels[name] = ChannelCount(schema)
        return channel_id, self.channels[name]
