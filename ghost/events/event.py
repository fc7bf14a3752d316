"""Events: rare, meaningful, never dropped."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any

from ghost.core.channels import Channel, ChannelName
from ghost.hal.message import NO_EXTENSIONS, message


class Severity(IntEnum):
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4
    CRITICAL = 5


class EventKind(StrEnum):
    """The kinds that Ghost itself emits. A user's own kinds are plain strings."""

    KILL = "KILL"
    COLLISION = "COLLISION"
    SIMULATOR_STARTED = "SIMULATOR_STARTED"
    SIMULATOR_LOST = "SIMULATOR_LOST"
    VEHICLE_LOST = "VEHICLE_LOST"
    SAFETY_VIOLATION = "SAFETY_VIOLATION"
    SUBSCRIBER_FAILED = "SUBSCRIBER_FAILED"
    TELEMETRY_BACKPRESSURE = "TELEMETRY_BACKPRESSURE"
    LOG_FAILED = "LOG_FAILED"
    LINK_UP = "LINK_UP"
    LINK_DOWN = "LINK_DOWN"
    LINK_STATISTICS = "LINK_STATISTICS"
    FLIGHT_CONTROLLER_SAYS = "FLIGHT_CONTROLLER_SAYS"
    FLIGHT_CONTROLLER_CHANGED = "FLIGHT_CONTROLLER_CHANGED"
    FAILSAFE = "FAILSAFE"
    DEADLINE_MISSED = "DEADLINE_MISSED"
    LET_GO = "LET_GO"
    MISSION_WAITING = "MISSION_WAITING"
    MISSION_STARTED = "MISSION_STARTED"
    MISSION_FINISHED = "MISSION_FINISHED"
    MISSION_ABORT_REQUESTED = "MISSION_ABORT_REQUESTED"
    MISSION_ABORTED = "MISSION_ABORTED"
    MISSION_INTERRUPTED = "MISSION_INTERRUPTED"
    MISSION_FAILED = "MISSION_FAILED"
    STEP_STARTED = "STEP_STARTED"
    STEP_FINISHED = "STEP_FINISHED"
    STEP_TIMED_OUT = "STEP_TIMED_OUT"
    WAYPOINT_REACHED = "WAYPOINT_REACHED"
    WAYPOINT_MISSED = "WAYPOINT_MISSED"
    OBSTACLE_AHEAD = "OBSTACLE_AHEAD"
    SEPARATION = "SEPARATION"
    MEMBER_LOST = "MEMBER_LOST"


@message
class Event:
    """payload holds what JSON can hold; correlation_id ties together the events of one cause."""

    stamp_ns: int
    severity: Severity
    kind: str
    source: str
    text: str = ""
    payload: Mapping[str, Any] = NO_EXTENSIONS
    correlation_id: str = ""


EVENTS = Channel(ChannelName.EVENTS, Event)
