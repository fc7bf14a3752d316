"""Channels: a name and the one message type that may travel under it.

Every name is a constant here, so no module spells one by hand. The typed channels stand beside
their message types (`ghost.hal.channels`, `ghost.events`), because core knows no messages.
"""

import re
from enum import StrEnum
from typing import Generic, TypeVar

from ghost.core.errors import ChannelError

M = TypeVar("M")

_NAME = re.compile(r"(/[A-Za-z0-9_]+)+")


class ChannelName(StrEnum):
    """The names of Ghost's own channels."""

    IMU = "/sensors/imu"
    GPS = "/sensors/gps"
    MAGNETOMETER = "/sensors/magnetometer"
    BAROMETER = "/sensors/barometer"
    RANGEFINDER = "/sensors/rangefinder"
    DEPTH_CAMERA = "/sensors/depth_camera"
    RGB_CAMERA = "/sensors/rgb_camera"
    LASER_SCAN = "/sensors/laser_scan"
    POINT_CLOUD = "/sensors/point_cloud"
    BATTERY = "/sensors/battery"
    ROTOR_SPEED = "/sensors/rotor_speed"
    CONTACT = "/sensors/contact"
    GROUNDTRUTH_POSE = "/groundtruth/pose"
    GROUNDTRUTH_STATE = "/groundtruth/state"
    SCENE = "/groundtruth/scene"
    OBSTACLES = "/perception/obstacles"
    CMD_MOTOR = "/cmd/motor"
    CMD_BODY_RATE = "/cmd/body_rate"
    CMD_ATTITUDE = "/cmd/attitude"
    CMD_VELOCITY = "/cmd/velocity"
    CMD_POSITION = "/cmd/position"
    CMD_TRAJECTORY = "/cmd/trajectory"
    CMD_ACK = "/cmd/ack"
    CMD_ACTION = "/cmd/action"
    CMD_ACTION_ACK = "/cmd/action_ack"
    VEHICLE = "/state/vehicle"
    STATUS = "/state/status"
    CONTROL = "/state/control"
    TRANSFORMS = "/tf"
    EVENTS = "/events"
    EVENTS_TEXT = "/events/text"


class Channel(Generic[M]):
    """A typed channel. Two channels are the same when name and type are."""

    __slots__ = ("message_type", "name")

    def __init__(self, name: str, message_type: type[M]) -> None:
        if not _NAME.fullmatch(name):
            raise ChannelError(f"channel name {name!r}; expected a form like /sensors/imu")
        self.name = str(name)
        self.message_type = message_type

    def under(self, prefix: str) -> "Channel[M]":
        """The same channel for one of several vehicles, under a prefix such as /vehicle/3."""
        return Channel(prefix + self.name, self.message_type)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        return self.name == other.name and self.message_type is other.message_type

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Channel({self.name!r}, {self.message_type.__name__})"
