"""A flight controller at the other end: found by its heartbeat, asked by commands with answers."""

from dataclasses import dataclass

from firmware_bridge import modes
from firmware_bridge.hub import Handler, Hub, Received
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect, id_of
from ghost.core.errors import RefusedError, StalledError

HEARTBEAT_NS = 1_000_000_000
FIND_NS = 10_000_000_000
ACK_NS = 500_000_000
RETRIES = 4
LONGEST_PROGRESS_NS = 30_000_000_000
ONBOARD_COMPUTER = 191

_NOT_FOUND = "no flight controller was heard yet; call find first"
_NOT_A_VEHICLE = (
    dialect.MAV_TYPE_GCS,
    dialect.MAV_TYPE_ONBOARD_CONTROLLER,
    dialect.MAV_TYPE_GIMBAL,
    dialect.MAV_TYPE_ADSB,
    dialect.MAV_TYPE_CAMERA,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a flight controller says it is."""

    system: int
    component: int
    autopilot: str
    kind: str
    firmware: str = ""
    git_hash: str = ""
    board: int = 0
    uid: str = ""


class Vehicle:
    """Listens to one flight controller. The newest heartbeat says how it is; None before one."""

    def __init__(self, hub: Hub, *, system: int | None = None, link: Link | None = None) -> None:
        """On which system and link it is, where that is known beforehand."""
        self.hub = hub
        self._links: dict[Link, int] = {} if link is None else {link: 0}
        self.system = system
        self.component = dialect.MAV_COMP_ID_AUTOPILOT1
        self.heartbeat: Message | None = None
        self.heard_ns: int | None = None
        self._others: dict[tuple[int, int], int] = {}
        self._rivals: set[int] = set()
        hub.on("HEARTBEAT", self._on_heartbeat)
        hub.every(HEARTBEAT_NS, self._beat)

    @property
    def link(self) -> Link | None:
        """That which it was heard on last, of those that are up."""
        links = [link for link in self._links if link.is_up] or list(self._links)
        return max(links, key=self._links.__getitem__, default=None)

    @property
    def rivals(self) -> tuple[int, ...]:
        """Systems of other flight controllers that were heard."""
        return tuple(sorted(self._rivals))

    @property
    def mode(self) -> str:
        return modes.name_of(self.heartbeat.custom_mode) if self.heartbeat else ""

    @property
    def is_armed(self) -> bool:
        return bool(self.heartbeat and self.heartbeat.base_mode & modes.ARMED_FLAG)

    def find(self, within_ns: int = FIND_NS) -> None:
        """Wait for the first heartbeat of an autopilot; says what was heard instead."""
        try:
            self.hub.spin_until(
                lambda: self.heartbeat is not None,
                within_ns=within_ns,
                what="waiting for the heartbeat of a flight controller",
            )
        except StalledError as error:
            raise StalledError(f"{error}; {self._heard()}") from None

    def is_mine(self, received: Received) -> bool:
        frame = received.frame
        return frame.system == self.system and frame.component == self.component

    def command(
        self,
        number: int,
        *parameters: float,
        within_ns: int = ACK_NS,
        retries: int = RETRIES,
        progress_ns: int = LONGEST_PROGRESS_NS,
        target_component: int | None = None,
    ) -> None:
        """Send until it is answered. RefusedError when the answer is no, StalledError when there
        is none.
        """
        name = dialect.enums["MAV_CMD"][number].name if number in dialect.enums["MAV_CMD"] else ""
        name = name or f"command {number}"
        values = [*parameters, *[0.0] * (7 - len(parameters))]
        system = self._target
        component = self.component if target_component is None else target_component
        results: list[int] = []
        cancel = self.hub.on("COMMAND_ACK", self._acks(number, component, results))
        try:
            for attempt in range(retries + 1):
                self.send(
                    dialect.MAVLink_command_long_message(
                        system, component, number, attempt, *values
                    )
                )
                if self._is_answered(results, name, within_ns, is_last=attempt == retries):
                    break
            # Once it is in progress it has arrived, and isn't sent again.
            self.hub.spin_until(
                lambda: _end(results) is not None,
                within_ns=progress_ns,
                what=f"waiting for the end of {name}, which is in progress",
            )
        finally:
            cancel()
        result = _end(results)
        if result != dialect.MAV_RESULT_ACCEPTED:
            raise RefusedError(f"{name} was refused: {_enum_name('MAV_RESULT', result)}")

    def request(self, name: str, *, within_ns: int = ACK_NS, retries: int = RETRIES) -> Message:
        """Ask for one message, and wait for it: the answer is the message. An ack is one only
        when it says no.
        """
        number = dialect.MAV_CMD_REQUEST_MESSAGE
        found: list[Message] = []
        results: list[int] = []

        def take(received: Received) -> None:
            if self.is_mine(received):
                found.append(received.message)

        cancels = (
            self.hub.on(name, take),
            self.hub.on("COMMAND_ACK", self._acks(number, self.component, results)),
        )
        try:
            for attempt in range(retries + 1):
                self.ask_for(name, attempt)
                try:
                    self.hub.spin_until(
                        lambda: bool(found) or _is_denied(results),
                        within_ns=within_ns,
                        what=f"waiting for {name}",
                    )
                except StalledError:
                    if attempt == retries:
                        raise
                if found:
                    return found[0]
                if _is_denied(results):
                    reason = _enum_name("MAV_RESULT", results[-1])
                    raise RefusedError(f"the flight controller won't send {name}: {reason}")
        finally:
            for cancel in cancels:
                cancel()
        raise AssertionError  # the loop returns or raises

    def ask_for(self, name: str, attempt: int = 0) -> None:
        """Ask for one message, and don't wait."""
        values = (id_of(name), *[0.0] * 6)
        self.send(
            dialect.MAVLink_command_long_message(
                self._target,
                self.component,
                dialect.MAV_CMD_REQUEST_MESSAGE,
                attempt,
                *values,
            )
        )

    def set_interval(self, name: str, rate_hz: float) -> None:
        """How often a message is streamed; 0 stops it."""
        period_us = 1e6 / rate_hz if rate_hz > 0.0 else -1.0
        self.command(dialect.MAV_CMD_SET_MESSAGE_INTERVAL, id_of(name), period_us)

    def identify(self) -> Identity:
        if self.heartbeat is None or self.system is None:
            raise StalledError(_NOT_FOUND)
        version = self.request("AUTOPILOT_VERSION")
        number = version.flight_sw_version
        parts = [number >> 24 & 0xFF, number >> 16 & 0xFF, number >> 8 & 0xFF]
        uid = bytes(version.uid2).hex() if any(version.uid2) else f"{version.uid:x}"
        return Identity(
            self.system,
            self.component,
            _enum_name("MAV_AUTOPILOT", self.heartbeat.autopilot),
            _enum_name("MAV_TYPE", self.heartbeat.type),
            ".".join(str(part) for part in parts),
            bytes(version.flight_custom_version)[::-1].hex(),
            version.board_version,
            uid,
        )

    def set_mode(self, name: str) -> None:
        mode = modes.mode_named(name)
        self.command(
            dialect.MAV_CMD_DO_SET_MODE, float(modes.CUSTOM_MODE_FLAG), mode.main, mode.sub
        )

    def arm(self, *, armed: bool, force: bool = False) -> None:
        magic = 21196.0 if force else 0.0
        self.command(dialect.MAV_CMD_COMPONENT_ARM_DISARM, float(armed), magic)

    def send(self, message: Message) -> None:
        self.hub.send(message, self.link)

    @property
    def _target(self) -> int:
        if self.system is None:
            raise StalledError(_NOT_FOUND)
        return self.system

    def _acks(self, number: int, component: int, results: list[int]) -> Handler:
        """A handler that notes the results of that command, if it was ours."""

        def take(received: Received) -> None:
            frame, ack = received.frame, received.message
            if (
                frame.system == self.system
                and component in (frame.component, dialect.MAV_COMP_ID_ALL)
                and ack.command == number
                and ack.target_system in (self.hub.system, 0)
                and ack.target_component in (self.hub.component, 0)
            ):
                results.append(ack.result)

        return take

    def _is_answered(self, results: list[int], name: str, within_ns: int, *, is_last: bool) -> bool:
        try:
            self.hub.spin_until(
                lambda: bool(results), within_ns=within_ns, what=f"waiting for the answer to {name}"
            )
        except StalledError:
            if is_last:
                raise
        return bool(results)

    def _on_heartbeat(self, received: Received) -> None:
        frame, message = received.frame, received.message
        source = (frame.system, frame.component)
        is_autopilot = (
            message.autopilot != dialect.MAV_AUTOPILOT_INVALID
            and message.type not in _NOT_A_VEHICLE
            and frame.component == self.component
        )
        if not is_autopilot or self.system not in (None, frame.system):
            self._others[source] = self._others.get(source, 0) + 1
            if is_autopilot:
                self._rivals.add(frame.system)
            return
        self.system = frame.system
        self._links[received.link] = received.at_ns
        self.heartbeat = message
        self.heard_ns = received.at_ns

    def _beat(self, now_ns: int) -> None:
        del now_ns
        self.hub.send(
            dialect.MAVLink_heartbeat_message(
                dialect.MAV_TYPE_ONBOARD_CONTROLLER,
                dialect.MAV_AUTOPILOT_INVALID,
                0,
                0,
                dialect.MAV_STATE_ACTIVE,
                3,
            )
        )

    def _heard(self) -> str:
        links = ", ".join(
            f"{link.endpoint}: {link.counts.received_bytes} bytes and "
            f"{link.counts.framer.frames} frames heard"
            for link in self.hub.links
        )
        others = ", ".join(f"{system}/{component}" for system, component in sorted(self._others))
        return f"{links}; {f'only from {others}' if others else 'no heartbeat from anybody'}"


def _is_denied(results: list[int]) -> bool:
    """For good: what is rejected for now may be asked for again."""
    return bool(results) and results[-1] in (
        dialect.MAV_RESULT_DENIED,
        dialect.MAV_RESULT_UNSUPPORTED,
        dialect.MAV_RESULT_FAILED,
    )


def _end(results: list[int]) -> int | None:
    """The first result that is one: a command that was sent twice may be answered twice."""
    ends = (result for result in results if result != dialect.MAV_RESULT_IN_PROGRESS)
    return next(ends, None)


def _enum_name(enum: str, number: int | None) -> str:
    entry = dialect.enums[enum].get(number)
    return str(entry.name).removeprefix("MAV_RESULT_") if entry is not None else str(number)
