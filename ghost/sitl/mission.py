"""Missions: stored, told, uploaded and downloaded, by MAVLink's mission protocol."""

from collections.abc import Callable
from dataclasses import dataclass, field

from firmware_bridge.hub import Hub, Received
from firmware_bridge.link import Link
from firmware_bridge.messages import dialect
from firmware_bridge.mission_items import MissionItem, item_of

MISSION = dialect.MAV_MISSION_TYPE_MISSION
ASK_AGAIN_NS = 250_000_000
MOST_QUESTIONS = 10
MOST_ITEMS = 1000


@dataclass(slots=True)
class _Upload:
    system: int
    component: int
    link: Link
    count: int
    items: list[MissionItem] = field(default_factory=list)
    asked_ns: int = 0
    questions: int = 0


class MissionStore:
    """The mission that is on board. judge says what is wrong with an item: a MAV_MISSION_RESULT
    and a text, or ACCEPTED.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        is_ours: Callable[[int, int], bool],
        tell: Callable[[str], None],
    ) -> None:
        self.items: tuple[MissionItem, ...] = ()
        self.judge: Callable[[MissionItem], tuple[int, str]] = _accept
        self.on_change: Callable[[], None] = lambda: None
        self.on_current: Callable[[int], bool] = lambda _: False
        self.is_flown: Callable[[], bool] = lambda: False
        self._hub = hub
        self._is_ours = is_ours
        self._tell = tell
        self._upload: _Upload | None = None
        for name, handler in (
            ("MISSION_COUNT", self._on_count),
            ("MISSION_ITEM_INT", self._on_item),
            ("MISSION_REQUEST_LIST", self._on_request_list),
            ("MISSION_REQUEST_INT", self._on_request),
            ("MISSION_CLEAR_ALL", self._on_clear),
            ("MISSION_SET_CURRENT", self._on_set_current),
        ):
            hub.on(name, self._if_ours(handler))
        hub.every(ASK_AGAIN_NS, self._ask_again)

    def _if_ours(self, handler: Callable[[Received], None]) -> Callable[[Received], None]:
        def checked(received: Received) -> None:
            message = received.message
            if self._is_ours(message.target_system, message.target_component):
                handler(received)

        return checked

    def _on_count(self, received: Received) -> None:
        message, frame = received.message, received.frame
        if message.mission_type != MISSION:
            # Nothing to store is stored; fences and rally points are the envelope's business.
            empty, unsupported = dialect.MAV_MISSION_ACCEPTED, dialect.MAV_MISSION_UNSUPPORTED
            self._answer(received, empty if message.count == 0 else unsupported)
        elif self.is_flown():
            self._tell("Mission refused: one is being flown")
            self._answer(received, dialect.MAV_MISSION_DENIED)
        elif message.count > MOST_ITEMS:
            self._answer(received, dialect.MAV_MISSION_NO_SPACE)
        elif message.count == 0:
            self._replace(())
            self._answer(received, dialect.MAV_MISSION_ACCEPTED)
        else:
            self._upload = _Upload(frame.system, frame.component, received.link, message.count)
            self._ask(self._upload)

    def _on_item(self, received: Received) -> None:
        upload, message = self._upload, received.message
        source = (received.frame.system, received.frame.component)
        if upload is None or source != (upload.system, upload.component):
            return
        if message.seq != len(upload.items):
            return  # one that came twice, or one that will be asked for again
        item = item_of(message)
        verdict, why = self.judge(item)
        if verdict != dialect.MAV_MISSION_ACCEPTED:
            self._upload = None
            self._tell(f"Mission refused, item {message.seq}: {why}")
            self._answer(received, verdict)
            return
        upload.items.append(item)
        upload.questions = 0
        if len(upload.items) < upload.count:
            self._ask(upload)
            return
        self._upload = None
        self._replace(tuple(upload.items))
        self._answer(received, dialect.MAV_MISSION_ACCEPTED)

    def _on_request_list(self, received: Received) -> None:
        kind = received.message.mission_type
        self._hub.send(
            dialect.MAVLink_mission_count_message(
                received.frame.system,
                received.frame.component,
                len(self.items) if kind == MISSION else 0,
                kind,
            ),
            received.link,
        )

    def _on_request(self, received: Received) -> None:
        message, frame = received.message, received.frame
        if message.mission_type != MISSION or message.seq >= len(self.items):
            self._answer(received, dialect.MAV_MISSION_INVALID_SEQUENCE)
            return
        item = self.items[message.seq]
        self._hub.send(
            dialect.MAVLink_mission_item_int_message(
                frame.system,
                frame.component,
                message.seq,
                item.frame,
                item.command,
                0,
                item.autocontinue,
                item.param1,
                item.param2,
                item.param3,
                item.param4,
                item.x,
                item.y,
                item.z,
                MISSION,
            ),
            received.link,
        )

    def _on_clear(self, received: Received) -> None:
        if self.is_flown():
            self._answer(received, dialect.MAV_MISSION_DENIED)
            return
        if received.message.mission_type in (MISSION, dialect.MAV_MISSION_TYPE_ALL):
            self._replace(())
        self._answer(received, dialect.MAV_MISSION_ACCEPTED)

    def _on_set_current(self, received: Received) -> None:
        if not self.on_current(received.message.seq):
            self._tell(f"No mission item {received.message.seq}")

    def _replace(self, items: tuple[MissionItem, ...]) -> None:
        self.items = items
        self.on_change()

    def _ask(self, upload: _Upload) -> None:
        upload.asked_ns = self._hub.now_ns()
        upload.questions += 1
        self._hub.send(
            dialect.MAVLink_mission_request_int_message(
                upload.system, upload.component, len(upload.items), MISSION
            ),
            upload.link,
        )

    def _ask_again(self, now_ns: int) -> None:
        upload = self._upload
        if upload is None or now_ns - upload.asked_ns < ASK_AGAIN_NS:
            return
        if upload.questions < MOST_QUESTIONS:
            self._ask(upload)
        else:
            self._upload = None
            self._tell("Mission upload broke off")

    def _answer(self, received: Received, result: int) -> None:
        self._hub.send(
            dialect.MAVLink_mission_ack_message(
                received.frame.system,
                received.frame.component,
                result,
                received.message.mission_type,
            ),
            received.link,
        )


def _accept(item: MissionItem) -> tuple[int, str]:
    del item
    return dialect.MAV_MISSION_ACCEPTED, ""
