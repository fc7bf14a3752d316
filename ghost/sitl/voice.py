"""An embedded vehicle on the air: its MAVLink system, its links and its face."""

import errno
import os
from collections.abc import Callable, Sequence

from firmware_bridge.endpoint import Endpoint, Scheme
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.ports import PortKind, taken
from firmware_bridge.signing import Signer
from firmware_bridge.tap import share
from ghost.core.errors import LinkError
from ghost.sitl.face import COMPONENT, Face
from ghost.sitl.vehicle import SitlVehicle

MakeSigner = Callable[[int], Signer]
"""For the link of that number."""


class Voice:
    """Made, its links are open: those of its own, and those of shared, another vehicle's. Call
    step() after each step of the vehicle, and let the hub spin in between.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        vehicle: SitlVehicle,
        endpoints: Sequence[Endpoint] = (),
        *,
        system: int,
        shared: "Voice | None" = None,
        speed: float = 1.0,
        make_signer: MakeSigner | None = None,
        on_news: Callable[[Link, bool, str], None] = lambda *_: None,
    ) -> None:
        self.vehicle = vehicle
        self.hub = Hub(now_ns, system=system, component=COMPONENT, on_news=on_news)
        try:
            for number, endpoint in enumerate(endpoints):
                signer = make_signer(number) if make_signer is not None else None
                _refuse_closed(self.hub.add(endpoint, signer=signer), f"vehicle {system}")
            if shared is not None:
                for trunk in shared.hub.links:
                    share(trunk, shared.hub, self.hub)
            self.face = Face(self.hub, vehicle, speed)
        except BaseException:
            self.close()
            raise

    def step(self) -> None:
        self.face.step()

    def close(self) -> None:
        self.hub.close()


def _refuse_closed(link: Link, whose: str) -> None:
    """What can't even be begun, such as a port that is taken; a peer may come later."""
    if link.numbers:
        return
    endpoint = link.endpoint
    if link.problem == os.strerror(errno.EADDRINUSE):
        is_udp = endpoint.scheme in (Scheme.UDP_IN, Scheme.UDP_OUT)
        port = endpoint.local or endpoint.number
        raise taken(port, PortKind.UDP if is_udp else PortKind.TCP, f"{whose}'s link {endpoint}")
    raise LinkError(f"{whose}'s link {endpoint} can't be opened: {link.problem}")
