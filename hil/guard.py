"""Who holds a bench's one link: `python -m hil.guard LINK --to URL ...`.

It shares the link with all who are to have one, and it is the last to leave: when its input ends,
whatever the reason, it disarms the vehicle before it lets go of the link. So it outlives a rig that
crashed.
"""

import argparse
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.guard import Guard
from firmware_bridge.hub import Hub
from firmware_bridge.messages import dialect
from firmware_bridge.router import Router
from firmware_bridge.udp_server import UdpPeer
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import GhostError, RefusedError, StalledError

COMPONENT = dialect.MAV_COMP_ID_ONBOARD_COMPUTER2
FIND_NS = 20_000_000_000
SLICE_NS = 20_000_000
SAFE_S = 15.0
"""How long it tries to disarm, and then says that it couldn't."""
ASK_NS = 500_000_000


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hil.guard", description=__doc__)
    parser.add_argument("link")
    parser.add_argument("--to", action="append", default=[], metavar="URL")
    options = parser.parse_args(words)
    is_over = threading.Event()
    # Ctrl-C is the rig's to hear; and whoever tells it to end wants a safe vehicle, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    threading.Thread(target=_read, args=(is_over,), daemon=True).start()
    hub = Hub(time.monotonic_ns, system=1, component=COMPONENT)
    try:
        link = hub.add(parse_endpoint(options.link))
        peers = [UdpPeer(parse_endpoint(url), lambda *_: None) for url in options.to]
        vehicle = Vehicle(hub)
        vehicle.find(FIND_NS)
        try:
            _share(Router(link, peers, hub.now_ns, guard=Guard()), hub, is_over)
        finally:
            _say({"safe": make_safe(vehicle)})
    except GhostError as error:
        _say({"failed": str(error)})
        return 1
    finally:
        hub.close()
    return 0


def _share(router: Router, hub: Hub, is_over: threading.Event) -> None:
    """Nobody but the guard speaks any more once it is over."""
    release = router.attach(hub)
    try:
        _say({"ready": True})
        while not is_over.is_set():
            hub.spin(hub.now_ns() + SLICE_NS)
    finally:
        release()
        router.close()


def make_safe(vehicle: Vehicle) -> str:
    """Disarm it; in the air by force, as whatever flies on a bench is simulated. How it went."""
    hub = vehicle.hub
    end_s = time.monotonic() + SAFE_S
    if not _is_armed(vehicle):
        return "was disarmed"
    is_forced = False
    while time.monotonic() < end_s:
        with contextlib.suppress(RefusedError, StalledError):
            vehicle.arm(armed=False, force=is_forced)
        if not _is_armed(vehicle):
            return "disarmed by force" if is_forced else "disarmed"
        is_forced = True
        hub.spin(hub.now_ns() + ASK_NS)
    raise StalledError(f"the vehicle is still armed after {SAFE_S:g} s: cut its power")


def _is_armed(vehicle: Vehicle) -> bool:
    """By a heartbeat of now; by the last one, where there is none."""
    with contextlib.suppress(RefusedError, StalledError):
        vehicle.request("HEARTBEAT", within_ns=ASK_NS)
    return vehicle.is_armed


def _read(is_over: threading.Event) -> None:
    sys.stdin.read()
    is_over.set()


def _say(answer: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):  # of a rig that is no more
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
