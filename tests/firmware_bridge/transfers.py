"""The parts of the scripted flight controller that move missions and logs."""

from dataclasses import dataclass, field

from firmware_bridge.hub import Received
from firmware_bridge.messages import Message, dialect
from tests.firmware_bridge.peer import SYSTEM, Peer

US = (SYSTEM, 191)
RETRY_NS = 60_000_000


@dataclass
class MissionStore:
    """PX4's manner: asks for item after item, again after a while, and takes a late last item."""

    items: list[Message] = field(default_factory=list)
    refuses_at: int | None = None
    refusal: int = 0
    asks_old_way: bool = False
    is_silent_after: int | None = None
    reboots_at: int | None = None
    acks: list[int] = field(default_factory=list)

    def __call__(self, peer: Peer) -> None:
        self._peer = peer
        self._wanted: list[Message] = []
        self._total = 0
        self._plan = 0
        self._is_receiving = False
        peer.on("MISSION_COUNT", self._on_count)
        peer.on("MISSION_ITEM_INT", self._on_item)
        peer.on("MISSION_REQUEST_LIST", self._on_list)
        peer.on("MISSION_REQUEST_INT", self._on_request)
        peer.on("MISSION_CLEAR_ALL", self._on_clear)
        peer.on("MISSION_ACK", self._on_ack)
        peer.hub.every(RETRY_NS, self._ask_again)

    def _ask_again(self, _now_ns: int) -> None:
        if self._is_receiving:
            self._ask()

    def _ask(self) -> None:
        if self.is_silent_after is not None and len(self._wanted) >= self.is_silent_after:
            return
        old, new = (
            dialect.MAVLink_mission_request_message,
            dialect.MAVLink_mission_request_int_message,
        )
        kind = old if self.asks_old_way else new
        self._peer.send(kind(*US, len(self._wanted), self._plan))

    def _ack(self, number: int) -> None:
        self._peer.send(dialect.MAVLink_mission_ack_message(*US, number, self._plan))

    def _on_count(self, received: Received) -> None:
        self._wanted, self._total = [], received.message.count
        self._plan = received.message.mission_type
        self._is_receiving = self._total > 0
        if self._is_receiving:
            self._ask()
        else:
            self.items = []
            self._ack(0)

    def _on_item(self, received: Received) -> None:
        message = received.message
        if not self._is_receiving:
            if self._wanted and message.seq == len(self._wanted) - 1:
                self._ack(0)
            return
        if message.seq != len(self._wanted):
            return
        if message.seq == self.refuses_at:
            self._is_receiving = False
            self._ack(self.refusal)
            return
        if message.seq == self.reboots_at:
            self._wanted, self._is_receiving = [], False
            return
        self._wanted.append(message)
        if len(self._wanted) == self._total:
            self._is_receiving = False
            self.items = self._wanted
            self._ack(0)
        else:
            self._ask()

    def _on_list(self, received: Received) -> None:
        plan = received.message.mission_type
        self._peer.send(dialect.MAVLink_mission_count_message(*US, len(self.items), plan))

    def _on_request(self, received: Received) -> None:
        seq = received.message.seq
        if self.is_silent_after is not None and seq >= self.is_silent_after:
            return
        if seq < len(self.items):
            item = self.items[seq]
            item.target_system, item.target_component = US
            self._peer.send(item)

    def _on_clear(self, _received: Received) -> None:
        self.items = []
        self._ack(0)

    def _on_ack(self, received: Received) -> None:
        self._is_receiving = False
        self.acks.append(received.message.type)


@dataclass
class LogStore:
    """PX4's manner: nothing before a list, one request at a time, full chunks."""

    logs: list[bytes]
    stops_at: int | None = None
    hole_at: int | None = None
    requests: list[tuple[int, int]] = field(default_factory=list)
    ends: int = 0

    def __call__(self, peer: Peer) -> None:
        self._peer = peer
        self._is_listed = False
        peer.on("LOG_REQUEST_LIST", self._on_list)
        peer.on("LOG_REQUEST_DATA", self._on_data)
        peer.on("LOG_REQUEST_END", self._on_end)

    def _on_list(self, _received: Received) -> None:
        self._is_listed = True
        count = len(self.logs)
        if not count:
            self._peer.send(dialect.MAVLink_log_entry_message(0, 0, 0, 0, 0))
        for number, log in enumerate(self.logs):
            self._peer.send(
                dialect.MAVLink_log_entry_message(number, count, count, 1_700_000_000, len(log))
            )

    def _on_data(self, received: Received) -> None:
        message = received.message
        self.requests.append((message.ofs, message.count))
        if not self._is_listed:
            return
        log = self.logs[message.id]
        for offset in range(message.ofs, min(message.ofs + message.count, len(log)), 90):
            if self.stops_at is not None and offset >= self.stops_at:
                return
            if offset == self.hole_at:
                continue
            chunk = log[offset : offset + 90]
            data = list(chunk.ljust(90, b"\0"))
            self._peer.send(dialect.MAVLink_log_data_message(message.id, offset, len(chunk), data))

    def _on_end(self, _received: Received) -> None:
        self.ends += 1
