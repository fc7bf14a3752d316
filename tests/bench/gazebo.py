"""`python -m tests.bench.gazebo 127.0.0.1:9002`: what a frame of a running Gazebo server costs,
from the packet to the state, with a bare client and through the adapter.
"""

import argparse
import time
from collections.abc import Callable

from ghost.core.random import RandomSource
from ghost.deploy import load_robot
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import VehicleSetup, World, load_adapter
from tests.bench.table import LatencyRow, print_latencies
from tests.simulation.gazebo.behaviour import greeted
from tests.simulation.gazebo.client import Client

FRAMES = 5_000
STEP_NS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gazebo", description=__doc__)
    parser.add_argument("address", help="HOST:PORT of the first vehicle's plugin")
    address: str = parser.parse_args().address
    rows = [bare_row(address), adapter_row(address)]
    print_latencies(f"Gazebo: one frame of {STEP_NS / 1e6:g} ms", rows)


def bare_row(address: str) -> LatencyRow:
    host, _, port = address.partition(":")
    with Client(host, int(port)) as client:
        count = greeted(client)

        def frame() -> None:
            nonlocal count
            count += 1
            client.send(count)
            client.receive()

        return _row("bare client", frame)


def adapter_row(address: str) -> LatencyRow:
    robot = load_robot("iris")
    assert robot.airframe is not None
    adapter = load_adapter(f"gazebo@{address}")
    setup = VehicleSetup(robot.airframe, robot.sensors)
    scenario = ScenarioSpec("bench", 1, STEP_NS, 3600 * 1_000_000_000)
    adapter.connect(World(scenario, (setup,), RandomSource(1)))

    def frame() -> None:
        adapter.step(STEP_NS)
        adapter.receive_sensors(0)

    try:
        return _row("adapter, with sensors", frame)
    finally:
        adapter.disconnect()


def _row(name: str, frame: Callable[[], None]) -> LatencyRow:
    latencies_us, cpu_ns = [], time.process_time_ns()
    began_ns = time.monotonic_ns()
    for _ in range(FRAMES):
        before_ns = time.monotonic_ns()
        frame()
        latencies_us.append((time.monotonic_ns() - before_ns) / 1e3)
    rate = FRAMES / ((time.monotonic_ns() - began_ns) / 1e9)
    cpu_us = (time.process_time_ns() - cpu_ns) / FRAMES / 1e3
    return LatencyRow(name, latencies_us, cpu_us, f"{rate:.0f} frames/s")


if __name__ == "__main__":
    main()
