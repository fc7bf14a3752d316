"""Missions to a flight controller and back: https://mavlink.io/en/services/mission.html."""

from collections.abc import Callable, Sequence

from firmware_bridge.exchange import is_to, persist, target_of
from firmware_bridge.hub import Received
from firmware_bridge.messages import Message, dialect
from firmware_bridge.mission_items import MissionItem, Plan, compare, item_of
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError

__all__ = ["MissionItem", "Missions", "Plan", "compare"]

ANSWER_NS = 1_500_000_000
ITEM_NS = 250_000_000
RETRIES = 5
ITEM_RETRIES = 20
"""The page says 5; PX4 waits for five seconds, and is busy for everybody until then."""
SETTLE_NS = 50_000_000
"""PX4 v1.18 acknowledges a change and, for some milliseconds after, may still tell the plan before
it: 9 of 120 downloads at once were wrong, and none of 120 after 20 ms.
"""

Progress = Callable[[int, int], None]


class Missions:
    """One plan of the flight controller: its mission, its fence or its rally points."""

    def __init__(self, vehicle: Vehicle, plan: Plan = Plan.MISSION) -> None:
        self._vehicle = vehicle
        self._hub = vehicle.hub
        self._plan = plan
        self._is_busy = False
        self._is_cancelled = False

    def upload(self, items: Sequence[MissionItem], on_progress: Progress = lambda *_: None) -> None:
        """Done when the flight controller has acknowledged the last; RefusedError if it won't."""
        for place, item in enumerate(items):
            if item.seq != place:
                raise ConfigError(f"mission item {item.seq} is at place {place}; expected {place}")
        last: list[Message] = [self._count(len(items))]
        asked_for = -1
        acks: list[int] = []

        def on_request(received: Received) -> None:
            nonlocal asked_for
            seq = received.message.seq
            if acks or not self._concerns(received) or seq >= len(items):
                return
            if seq > asked_for:
                asked_for = seq
                on_progress(seq, len(items))
            if not self._is_cancelled:
                last[0] = self._item(items[seq])
                self._vehicle.send(last[0])

        def is_timely(kind: int) -> bool:
            """An early yes is an old one, of another upload."""
            return kind != dialect.MAV_MISSION_ACCEPTED or asked_for == len(items) - 1

        self._transfer(
            "uploading",
            {
                "MISSION_REQUEST_INT": on_request,
                # Deprecated, and to be answered all the same, with the same item.
                "MISSION_REQUEST": on_request,
                "MISSION_ACK": self._acks_into(acks, when=is_timely),
            },
            lambda: self._vehicle.send(last[0]),
            is_done=lambda: bool(acks),
            progress=lambda: asked_for,
            where=lambda: f"after {asked_for + 1} of {len(items)} items were asked for",
        )
        self._judge("upload", acks[0])
        self._settle()
        on_progress(len(items), len(items))

    def download(self, on_progress: Progress = lambda *_: None) -> tuple[MissionItem, ...]:
        items: list[MissionItem] = []
        total: int | None = None
        acks: list[int] = []

        def ask() -> None:
            if total is None:
                self._vehicle.send(
                    dialect.MAVLink_mission_request_list_message(*self._target, self._plan)
                )
            elif len(items) < total and not self._is_cancelled:
                self._vehicle.send(
                    dialect.MAVLink_mission_request_int_message(
                        *self._target, len(items), self._plan
                    )
                )

        def on_count(received: Received) -> None:
            nonlocal total
            if self._concerns(received) and total is None:
                total = received.message.count
                on_progress(0, total)
                ask()

        def on_item(received: Received) -> None:
            message = received.message
            if self._concerns(received) and total is not None and message.seq == len(items):
                items.append(item_of(message))
                on_progress(len(items), total)
                ask()

        on_ack = self._acks_into(acks, when=lambda kind: kind != dialect.MAV_MISSION_ACCEPTED)
        self._transfer(
            "downloading",
            {"MISSION_COUNT": on_count, "MISSION_ITEM_INT": on_item, "MISSION_ACK": on_ack},
            ask,
            is_done=lambda: bool(acks) or len(items) == total,
            progress=lambda: len(items) + (total is not None),
            where=lambda: f"at item {len(items)} of {'?' if total is None else total}",
        )
        if acks:
            self._judge("download", acks[0])
        self._ack(dialect.MAV_MISSION_ACCEPTED)
        return tuple(items)

    def clear(self) -> None:
        acks: list[int] = []
        message = dialect.MAVLink_mission_clear_all_message(*self._target, self._plan)
        self._transfer(
            "clearing",
            {"MISSION_ACK": self._acks_into(acks, when=lambda _: True)},
            lambda: self._vehicle.send(message),
            is_done=lambda: bool(acks),
            progress=lambda: 0,
            where=lambda: "which was not acknowledged",
        )
        self._judge("clear", acks[0])
        self._settle()

    def cancel(self) -> None:
        """From within a callback: end the transfer that is under way, which then raises."""
        if self._is_busy and not self._is_cancelled:
            self._is_cancelled = True
            self._ack(dialect.MAV_MISSION_OPERATION_CANCELLED)

    def _transfer(
        self,
        doing: str,
        handlers: dict[str, Callable[[Received], None]],
        ask: Callable[[], None],
        *,
        is_done: Callable[[], bool],
        progress: Callable[[], int],
        where: Callable[[], str],
    ) -> None:
        what = f"{doing} the {self._plan.name.lower()}"
        cancels = [self._hub.on(name, handler) for name, handler in handlers.items()]
        self._is_busy, self._is_cancelled = True, False
        began = progress()

        def is_over() -> bool:
            return self._is_cancelled or is_done()

        try:
            # The first answer may take a while; items come quickly.
            persist(
                self._hub,
                ask,
                is_done=lambda: is_over() or progress() != began,
                progress=progress,
                quiet_ns=ANSWER_NS,
                retries=RETRIES,
                what=lambda: f"{what}, {where()}",
            )
            persist(
                self._hub,
                ask,
                ask_first=False,
                is_done=is_over,
                progress=progress,
                quiet_ns=ITEM_NS,
                retries=ITEM_RETRIES,
                what=lambda: f"{what}, {where()}",
            )
        finally:
            self._is_busy = False
            for cancel in cancels:
                cancel()
        if self._is_cancelled:
            raise RefusedError(f"{what} was cancelled, {where()}")

    @property
    def _target(self) -> tuple[int, int]:
        return target_of(self._vehicle)

    def _concerns(self, received: Received) -> bool:
        """Whether it is to us: a router also passes on what a ground station transfers."""
        return (
            self._vehicle.is_mine(received)
            and received.message.mission_type == self._plan
            and is_to(self._hub, received)
        )

    def _acks_into(
        self, acks: list[int], *, when: Callable[[int], bool]
    ) -> Callable[[Received], None]:
        def on_ack(received: Received) -> None:
            if self._concerns(received) and when(received.message.type):
                acks.append(received.message.type)

        return on_ack

    def _count(self, number: int) -> Message:
        return dialect.MAVLink_mission_count_message(*self._target, number, self._plan)

    def _ack(self, kind: int) -> None:
        self._vehicle.send(dialect.MAVLink_mission_ack_message(*self._target, kind, self._plan))

    def _item(self, item: MissionItem) -> Message:
        head = (item.seq, item.frame, item.command, item.current, item.autocontinue)
        values = (item.param1, item.param2, item.param3, item.param4, item.x, item.y, item.z)
        return dialect.MAVLink_mission_item_int_message(*self._target, *head, *values, self._plan)

    def _settle(self) -> None:
        self._hub.spin(self._hub.now_ns() + SETTLE_NS)

    def _judge(self, doing: str, kind: int) -> None:
        if kind != dialect.MAV_MISSION_ACCEPTED:
            entry = dialect.enums["MAV_MISSION_RESULT"].get(kind)
            name = str(entry.name).removeprefix("MAV_MISSION_") if entry else f"result {kind}"
            raise RefusedError(f"{doing} of the {self._plan.name.lower()} was refused: {name}")
