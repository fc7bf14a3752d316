"""MAVSDK-Python as a companion: python -m tests.bench.bridge_mavsdk NAME URL. It answers each state
with a set-point to hold that very place, until it is ended.

MAVSDK 4 is a library in this process; there is no server beside it. On a serial port 4.1 reads
without waiting, over and over (VMIN and VTIME are 0), and takes a whole core.
"""

import asyncio
import signal
import sys
from typing import Any

import mavsdk
import mavsdk.asyncio
from mavsdk.asyncio.plugins.offboard import OffboardAsync
from mavsdk.asyncio.plugins.telemetry import TelemetryAsync
from mavsdk.plugins.offboard import Offboard, PositionNedYaw
from mavsdk.plugins.telemetry import Telemetry

LONGEST_S = 120
FIND_S = 15.0
FIRST = PositionNedYaw(0.0, 0.0, -10.0, 0.0)


async def with_asyncio(url: str) -> None:
    client = mavsdk.asyncio.Mavsdk(_configuration())
    await client.add_any_connection(url)
    system = await client.first_autopilot(FIND_S)
    telemetry, offboard = TelemetryAsync(system), OffboardAsync(system)
    await offboard.set_position_ned(FIRST)
    await offboard.start()
    async for state in telemetry.subscribe_odometry():
        await offboard.set_position_ned(_held(state.position_body))


def with_callback(url: str) -> None:
    """Called by a thread of MAVSDK's own."""
    client = mavsdk.Mavsdk(_configuration())
    result = client.add_any_connection(url)
    if result.name != "SUCCESS":
        raise OSError(f"MAVSDK can't open {url}: {result.name}")
    system = client.first_autopilot(FIND_S)
    telemetry, offboard = Telemetry(system), Offboard(system)
    offboard.set_position_ned(FIRST)
    offboard.start()
    telemetry.subscribe_odometry(
        lambda state, _: offboard.set_position_ned(_held(state.position_body))
    )
    signal.pause()


def _configuration() -> Any:
    kind = mavsdk.ComponentType.COMPANION_COMPUTER
    return mavsdk.Configuration.create_with_component_type(kind)


def _held(place: Any) -> Any:
    return PositionNedYaw(place.x_m, place.y_m, place.z_m, 0.0)


if __name__ == "__main__":
    signal.alarm(LONGEST_S)  # whoever started it may be gone
    name, url = sys.argv[1:]
    if name == "asyncio":
        asyncio.run(with_asyncio(url))
    else:
        with_callback(url)
