"""`make bench`: what Ghost's parts cost beside their peers, all measured in this one run.

`make bench BENCH=--smoke` only shows that every row still runs; its figures mean little.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import bridge, bus, log, pictures, px4_lockstep, simulation, swarm
from tests.bench.table import print_latencies, print_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few repetitions, to see it run")
    smoke: bool = parser.parse_args().smoke
    calls = 2_000 if smoke else 200_000
    print_table("Bus: one publish", bus.rows(calls))
    print_table("Messages: one IMU sample", log.encoding_rows(calls))
    with TemporaryDirectory() as folder:
        print_table("Flight log: one IMU sample, bus to file", log.rows(calls, Path(folder)))
        print_table("Flight log: one picture", pictures.rows(calls // 1000, Path(folder)))
    print_table("Physics: one step of one vehicle", simulation.physics_rows(calls))
    print_table("Physics: one vehicle of a batch", simulation.batch_rows(calls))
    print_table("PyBullet: one vehicle of one world", simulation.shared_world_rows(calls))
    with TemporaryDirectory() as folder:
        rows = simulation.stack_rows(Path(folder), smoke=smoke)
        print_table("The whole stack, logged: one control period", rows)
    print_table("Swarm in lockstep: one vehicle's control period", swarm.lockstep_rows(smoke=smoke))
    crowd = swarm.crowd_rows(smoke=smoke)
    print_table("Bridges, physics and autopilot: one vehicle's control period", crowd)
    with TemporaryDirectory() as folder:
        linked = swarm.linked_rows(Path(folder), smoke=smoke)
        print_table("Swarm with MAVLink and logs: one vehicle's control period", linked)
    if lockstep := px4_lockstep.rows(smoke=smoke):
        print_latencies("PX4 in lockstep with Ghost's physics: one step of 4 ms", lockstep)
    for title, latencies in bridge.latency_tables(smoke=smoke):
        print_latencies(title, latencies)
    with TemporaryDirectory() as folder:
        logged = bridge.log_rows(Path(folder) / "run", smoke=smoke)
        print_table("Bridge, 1,000 messages/s decoded and logged: one message", logged)
    print_table("Router, 1,000 messages/s: one message", bridge.router_rows(smoke=smoke))


main()
