"""A log as what properties hear: every message, decoded where some property reads it in full."""

from collections.abc import Iterator
from typing import Any

from ghost.core.channels import Channel
from ghost.core.errors import LogError
from ghost.events import EVENTS
from ghost.hal import channels
from ghost.telemetry import LogReader
from ghost.telemetry.codec import codec_for
from ghost.telemetry.reader import RawRecord, protobuf_class
from ghost.verify.verdict import Heard

COMMANDS: tuple[str, ...] = tuple(
    channel.name
    for channel in (
        channels.CMD_MOTOR,
        channels.CMD_BODY_RATE,
        channels.CMD_ATTITUDE,
        channels.CMD_VELOCITY,
        channels.CMD_POSITION,
        channels.CMD_TRAJECTORY,
    )
)
ACK, ACTION, ACTION_ACK = (
    channels.CMD_ACK.name,
    channels.CMD_ACTION.name,
    channels.CMD_ACTION_ACK.name,
)
STATE, STATUS, TRUTH = channels.VEHICLE.name, channels.STATUS.name, channels.GROUNDTRUTH_STATE.name
EVENT = EVENTS.name

_READ: dict[str, Channel[Any]] = {
    channel.name: channel
    for channel in (*vars(channels).values(), EVENTS)
    if isinstance(channel, Channel)
    and channel.name in (*COMMANDS, ACK, ACTION, ACTION_ACK, STATE, STATUS, TRUTH, EVENT)
}


def read(reader: LogReader) -> Iterator[Heard]:
    """In file order. What isn't what its channel carries is an error, not a verdict."""
    derived = {name for name, channel in reader.channels.items() if channel.derived_from}
    classes: dict[tuple[str, int], Any] = {}
    for raw in reader.raw():
        is_derived = raw.channel in derived
        message = None if is_derived else _message(raw, classes, reader)
        yield Heard(raw.channel, message, raw.stamp_ns, raw.publish_ns, raw.sequence, is_derived)


def _message(raw: RawRecord, classes: dict[tuple[str, int], Any], reader: LogReader) -> Any:
    channel = _READ.get(raw.channel)
    key = (raw.channel, raw.schema.id if raw.schema else 0)
    try:
        if key not in classes:
            classes[key] = _class_of(raw, channel)
        if channel is None:
            return classes[key].FromString(raw.data)
        return codec_for(channel.message_type).decode(raw.data, protobuf_class=classes[key])
    except Exception as error:  # of any kind: protobuf raises its own
        reason = " ".join(str(error).split())
        raise LogError(f"{reader.path}: {raw.channel}: {reason}") from error


def _class_of(raw: RawRecord, channel: Channel[Any] | None) -> Any:
    found = protobuf_class(raw)
    if channel is not None:
        expected = codec_for(channel.message_type).name
        if found.DESCRIPTOR.full_name != expected:
            raise LogError(f"the schema is {found.DESCRIPTOR.full_name}; expected {expected}")
    return found
