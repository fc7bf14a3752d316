"""One link for several systems: the first hub has it, and each other one a tap of it."""

from firmware_bridge.frame import Frame
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link


class Tap(Link):
    """Sends over another hub's link, with a sequence of its own; what comes is handed to it."""

    def __init__(self, link: Link) -> None:
        super().__init__(link.endpoint, on_news=lambda *_: None, signer=link.signer)
        self._trunk = link

    @property
    def can_send(self) -> bool:
        return self._trunk.can_send

    def has_room(self, now_ns: int) -> bool:
        return self._trunk.has_room(now_ns)

    def send(self, raw: bytes, now_ns: int) -> bool:
        return self._trunk.send(raw, now_ns)

    def maintain(self, now_ns: int) -> None:
        """The trunk is looked after by its own hub."""

    def close(self) -> None:
        """The trunk is its own hub's, signer and all."""


def share(trunk: Link, owner: Hub, other: Hub) -> None:
    """Let another hub, a system of its own, hear and speak over a link of owner's. What is meant
    for whom is told by each message's target.
    """
    tap = Tap(trunk)
    other.links.append(tap)

    def pass_on(frame: Frame, link: Link, now_ns: int) -> None:
        if link is trunk:
            other.hear(frame, tap, now_ns)

    owner.on_frame(pass_on)
