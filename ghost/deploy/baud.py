"""At which speed a serial port brings MAVLink, where it brings bytes and none at the given one."""

from collections.abc import Iterator
from dataclasses import replace

from firmware_bridge.endpoint import Endpoint, Scheme
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.vehicle import ONBOARD_COMPUTER
from ghost.core.clock import SystemClock
from ghost.core.errors import StalledError
from ghost.deploy.finding import Finding, Verdict

USUAL = (57_600, 115_200, 921_600, 460_800, 500_000, 230_400, 1_000_000, 38_400)
LISTEN_NS = 1_200_000_000
"""A heartbeat comes once a second."""


def examine_baud(port: Link) -> Iterator[Finding]:
    """Of a port that is closed by now, as it can be opened only once. Nothing is sent."""
    counts = port.counts
    is_noise = counts.received_bytes > 0 and counts.framer.frames == counts.framer.unknown
    if port.endpoint.scheme is not Scheme.SERIAL or not is_noise:
        return
    given = port.endpoint.number
    for baud in USUAL:
        right = replace(port.endpoint, number=baud)
        if baud != given and _brings_heartbeats(right):
            detail = f"noise at {given}, heartbeats at {baud}"
            yield Finding("baud rate", Verdict.FAIL, detail, f"give --link {right}")
            return
    detail = f"{counts.received_bytes} bytes and no MAVLink at {given}, nor at any usual rate"
    advice = "a console, a GPS or another protocol is on this port; see MAV_0_CONFIG"
    yield Finding("baud rate", Verdict.FAIL, detail, advice)


def _brings_heartbeats(endpoint: Endpoint) -> bool:
    hub = Hub(SystemClock().now_ns, system=1, component=ONBOARD_COMPUTER)
    try:
        hub.add(endpoint)
        hub.wait_for("HEARTBEAT", lambda _: True, within_ns=LISTEN_NS, what="listening")
    except StalledError:
        return False
    finally:
        hub.close()
    return True
