"""What a flight controller has to say: its texts put together, and what changed about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from firmware_bridge import modes
from firmware_bridge.hub import Received
from firmware_bridge.messages import dialect
from firmware_bridge.vehicle import Vehicle

if TYPE_CHECKING:
    from firmware_bridge.link import Link

CHUNK_BYTES = 50
CHUNKS_NS = 1_000_000_000
"""What of a long text has not come by then was lost."""
GAP = b"[...]"

_CHECK_NS = 100_000_000
_SENSORS: dict[int, str] = {
    number: str(entry.name).removeprefix("MAV_SYS_STATUS_").removeprefix("SENSOR_")
    for number, entry in dialect.enums["MAV_SYS_STATUS_SENSOR"].items()
    if not entry.name.endswith("ENUM_END")
}
_PREARM: int = dialect.MAV_SYS_STATUS_PREARM_CHECK
_LANDED = ("UNDEFINED", "ON_GROUND", "IN_AIR", "TAKEOFF", "LANDING")


@dataclass(frozen=True, slots=True)
class Text:
    """severity is MAV_SEVERITY: 0 is the end of the world, 7 for developers."""

    severity: int
    text: str


@dataclass(frozen=True, slots=True)
class ModeChanged:
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ArmedChanged:
    is_armed: bool


@dataclass(frozen=True, slots=True)
class LandedChanged:
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FailsafeChanged:
    """state is MAV_STATE without its prefix: PX4 is CRITICAL in a failsafe, and says
    FLIGHT_TERMINATION when it gave up.
    """

    is_failsafe: bool
    state: str


@dataclass(frozen=True, slots=True)
class ReadyChanged:
    """Whether it would arm."""

    is_ready: bool


@dataclass(frozen=True, slots=True)
class HealthChanged:
    """Sensors and subsystems that are there, in use, and not well."""

    unhealthy: tuple[str, ...]


Change = ModeChanged | ArmedChanged | LandedChanged | FailsafeChanged | ReadyChanged | HealthChanged
_T = TypeVar("_T")


@dataclass(slots=True)
class _LongText:
    severity: int
    begun_ns: int
    chunks: dict[int, bytes] = field(default_factory=dict)
    end: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.end is not None and len(self.chunks) == self.end + 1


class Notices:
    """Tells changes, and not how things are at first. PX4's texts come only to a link on which it
    hears the heartbeat of a ground station.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        on_text: Callable[[Text], None] = lambda _: None,
        on_change: Callable[[Change], None] = lambda _: None,
    ) -> None:
        self._vehicle = vehicle
        self._on_text = on_text
        self._on_change = on_change
        self._mode: str | None = None
        self._is_armed: bool | None = None
        self._landed: str | None = None
        self._state: str | None = None
        self._is_ready: bool | None = None
        self._unhealthy: tuple[str, ...] | None = None
        self._long: dict[int, _LongText] = {}
        self._done: dict[int, int] = {}
        self._seen: dict[tuple[bytes, int], tuple[Link, int]] = {}
        hub = vehicle.hub
        self._cancels = (
            hub.on("STATUSTEXT", self._on_statustext),
            hub.on("HEARTBEAT", self._on_heartbeat),
            hub.on("SYS_STATUS", self._on_sys_status),
            hub.on("EXTENDED_SYS_STATE", self._on_extended_state),
            hub.every(_CHECK_NS, self._give_up_on_old),
        )

    @property
    def unhealthy(self) -> tuple[str, ...]:
        return self._unhealthy or ()

    def close(self) -> None:
        for cancel in self._cancels:
            cancel()

    def _on_statustext(self, received: Received) -> None:
        if not self._vehicle.is_mine(received):
            return
        message = received.message
        if self._is_copy(received):
            return
        # UTF-8, which may be cut anywhere: the dialect would decode each chunk by itself.
        text = received.frame.payload[1 : 1 + CHUNK_BYTES].split(b"\0")[0]
        if message.id == 0:
            self._tell(message.severity, text)
            return
        if message.id in self._done:  # a second copy
            return
        long = self._long.setdefault(message.id, _LongText(message.severity, received.at_ns))
        long.chunks[message.chunk_seq] = text
        if len(text) < CHUNK_BYTES:
            long.end = message.chunk_seq
        if long.is_whole:
            self._finish(message.id, received.at_ns)

    def _is_copy(self, received: Received) -> bool:
        """Whether it came over another link already; each link has numbers of its own."""
        piece = received.frame.payload[: 1 + CHUNK_BYTES], received.message.chunk_seq
        link, seen_ns = self._seen.get(piece, (received.link, received.at_ns))
        if link is not received.link and received.at_ns - seen_ns < CHUNKS_NS:
            return True
        self._seen[piece] = received.link, received.at_ns
        return False

    def _finish(self, number: int, now_ns: int) -> None:
        long = self._long.pop(number)
        self._done[number] = now_ns
        last = max(long.chunks) if long.end is None else long.end
        parts = [long.chunks.get(place, GAP) for place in range(last + 1)]
        if long.end is None:
            parts.append(GAP)
        self._tell(long.severity, b"".join(parts))

    def _give_up_on_old(self, now_ns: int) -> None:
        for number, long in tuple(self._long.items()):
            if now_ns - long.begun_ns > CHUNKS_NS:
                self._finish(number, now_ns)
        self._seen = {
            piece: seen for piece, seen in self._seen.items() if now_ns - seen[1] < CHUNKS_NS
        }
        # The numbers are used again after a while.
        self._done = {
            number: at_ns for number, at_ns in self._done.items() if now_ns - at_ns < CHUNKS_NS
        }

    def _tell(self, severity: int, text: bytes) -> None:
        # PX4 ends a text with a tab where it also sends it as an event.
        self._on_text(Text(severity, text.decode("utf-8", "replace").rstrip("\t\n ")))

    def _on_heartbeat(self, received: Received) -> None:
        if not self._vehicle.is_mine(received):
            return
        message = received.message
        mode = modes.name_of(message.custom_mode)
        if _differs(self._mode, mode):
            self._on_change(ModeChanged(self._mode or "", mode))
        self._mode = mode
        is_armed = bool(message.base_mode & modes.ARMED_FLAG)
        if _differs(self._is_armed, is_armed):
            self._on_change(ArmedChanged(is_armed))
        self._is_armed = is_armed
        state = _state(message.system_status)
        if _differs(self._state, state) and _is_failsafe(state) != _is_failsafe(self._state):
            self._on_change(FailsafeChanged(_is_failsafe(state), state))
        self._state = state

    def _on_sys_status(self, received: Received) -> None:
        if not self._vehicle.is_mine(received):
            return
        message = received.message
        # PX4 sets this bit among the healthy only, and never says that it is there.
        is_ready = bool(message.onboard_control_sensors_health & _PREARM)
        if _differs(self._is_ready, is_ready):
            self._on_change(ReadyChanged(is_ready))
        self._is_ready = is_ready
        watched = message.onboard_control_sensors_present & message.onboard_control_sensors_enabled
        ill = watched & ~message.onboard_control_sensors_health
        names = tuple(
            name for bit, name in sorted(_SENSORS.items()) if ill & bit and bit != _PREARM
        )
        if _differs(self._unhealthy, names):
            self._on_change(HealthChanged(names))
        self._unhealthy = names

    def _on_extended_state(self, received: Received) -> None:
        number = received.message.landed_state
        if not self._vehicle.is_mine(received) or not 0 < number < len(_LANDED):
            return
        landed = _LANDED[number]
        if _differs(self._landed, landed):
            self._on_change(LandedChanged(self._landed or "", landed))
        self._landed = landed


def _differs(before: _T | None, after: _T) -> bool:
    return before is not None and before != after


def _is_failsafe(state: str | None) -> bool:
    return state in {"CRITICAL", "EMERGENCY", "FLIGHT_TERMINATION"}


def _state(number: int) -> str:
    entry = dialect.enums["MAV_STATE"].get(number)
    return str(entry.name).removeprefix("MAV_STATE_") if entry else str(number)
