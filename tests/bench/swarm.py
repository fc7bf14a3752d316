"""Swarms in lockstep: what a vehicle costs by their number, alone and with MAVLink and logs."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ghost.deploy import load_robot
from ghost.deploy.hal import make_autopilot, vehicle_setup
from ghost.deploy.swarm import Swarm
from ghost.hal import Action, ScenarioSpec
from ghost.simulation.adapter import Start, load_adapter
from ghost.simulation.embedded import EmbeddedVehicle
from ghost.sitl.bridge import SitlBridge
from ghost.sitl.firmware import Seat
from ghost.sitl.time import MAVLINK_STEP_NS, TimePlan
from ghost.sitl.vehicles import Vehicle
from tests.bench.table import Row

PERIOD_NS = 4_000_000
SPACING_M = 5.0
WINDOW_S, WINDOWS = 0.1, 20
IDS_IN_A_BRIDGE = 250


def lockstep_rows(*, smoke: bool) -> list[Row]:
    """One control period of one vehicle: physics at 1 kHz, sensors, estimator and autopilot at
    250 Hz, each on a bus of its own. Each number is the best of several windows.
    """
    rows = []
    for count in (1, 10) if smoke else (1, 10, 100):
        with Swarm(seed=1) as swarm:
            for index in range(count):
                swarm.spawn("x500", place=(_place(index), 0.0))
            swarm.step(2.0)
            for drone in swarm.alive:
                drone.take_off(4.0)
            swarm.step(1.0)
            spent_ns = min(_cpu_ns(swarm) for _ in range(2 if smoke else WINDOWS))
            name = f"{count} vehicle{'s' * (count > 1)}"
            rows.append(_row(name, spent_ns, round(WINDOW_S * 1e9), count))
    return rows


def crowd_rows(*, smoke: bool) -> list[Row]:
    """Physics and autopilots alone, in as many bridges as ids make necessary."""
    rows = []
    for count in (10,) if smoke else (250, 1000):
        bridges = [_bridge(IDS_IN_A_BRIDGE) for _ in range(count // IDS_IN_A_BRIDGE)]
        bridges = bridges or [_bridge(count)]
        for bridge in bridges:
            bridge.step(2_000_000_000)
            for number in bridge.alive:
                firmware = bridge.firmware(number)
                assert isinstance(firmware, EmbeddedVehicle)
                assert firmware.request(Action.ARM).accepted
                assert firmware.request(Action.TAKEOFF, altitude_m=4.0).accepted
            bridge.step(200_000_000)
        step_ns, spent_ns = 20_000_000, []
        for _ in range(2 if smoke else WINDOWS):
            start_ns = time.process_time_ns()
            for bridge in bridges:
                bridge.step(step_ns)
            spent_ns.append(time.process_time_ns() - start_ns)
        for bridge in bridges:
            bridge.stop()
        rows.append(_row(f"{count} vehicles", min(spent_ns), step_ns, count))
    return rows


def linked_rows(folder: Path, *, smoke: bool) -> list[Row]:
    """A MAVLink endpoint and a log each; steps of 4 ms by the wall clock, so that a busy machine
    shows. The aim for ten is p50 below 2 ms, p99 below 5 ms.
    """
    rows = []
    for count in (10,) if smoke else (10, 20, 50):
        plan = TimePlan(step_ns=MAVLINK_STEP_NS)
        with (
            _stations(count) as ports,
            Swarm(seed=1, time_plan=plan, out=folder / str(count)) as swarm,
        ):
            for index, port in enumerate(ports):
                link = f"udpout://127.0.0.1:{port}"
                swarm.spawn("x500", place=(_place(index), 0.0), links=[link])
            swarm.step(2.0)
            for drone in swarm.alive:
                drone.take_off(4.0)
            steps = 50 if smoke else 2500
            cpu_ns, marks_ns = time.process_time_ns(), [time.perf_counter_ns()]
            for _ in range(steps):
                swarm.step()
                marks_ns.append(time.perf_counter_ns())
            cpu_ns = time.process_time_ns() - cpu_ns
        p50_ms, p99_ms, p999_ms = np.percentile(np.diff(marks_ns) / 1e6, (50, 99, 99.9)).tolist()
        speed = steps * MAVLINK_STEP_NS / (marks_ns[-1] - marks_ns[0])
        latency = f"p50 {p50_ms:.2f}, p99 {p99_ms:.2f}, p99.9 {p999_ms:.2f} ms a step"
        note = f"{speed:6.2f} times real time by the wall; {latency}"
        rows.append(Row(f"{count} vehicles", cpu_ns / steps / count / 1e3, note))
    return rows


def _bridge(count: int) -> SitlBridge:
    robot = load_robot("x500")
    assert robot.sim is not None

    def firmware(seat: Seat) -> EmbeddedVehicle:
        return EmbeddedVehicle(
            make_autopilot(robot, seat.scenario),
            robot.envelope,
            tuple(model.spec for model in robot.sensors),
            seat.clock,
            step_ns=seat.scenario.step_ns,
            control_period_ns=robot.autopilot.control_period_ns,
            feels_contacts=seat.feels_contacts,
        )

    bridge = SitlBridge(ScenarioSpec("bench", 1, 1_000_000, 3600 * 1_000_000_000))
    bridge.adapters.register("lightweight", load_adapter("lightweight"))
    for index in range(count):
        x_m, y_m, _ = _place(index)
        setup = vehicle_setup(robot, Start((x_m, y_m, 0.0)))
        bridge.vehicles.add(Vehicle(index + 1, setup, "lightweight", firmware))
    bridge.start()
    return bridge


def _place(index: int) -> tuple[float, float, float]:
    return SPACING_M * (index % 20), SPACING_M * (index // 20), 0.0


def _cpu_ns(swarm: Swarm) -> int:
    start_ns = time.process_time_ns()
    swarm.step(WINDOW_S)
    return time.process_time_ns() - start_ns


def _row(name: str, spent_ns: int, simulated_ns: int, count: int) -> Row:
    cost_us = spent_ns / (simulated_ns / PERIOD_NS) / count / 1e3
    return Row(name, cost_us, f"{simulated_ns / spent_ns:6.2f} times real time")


@contextmanager
def _stations(count: int) -> Iterator[list[int]]:
    """Ports that hear everything and say nothing."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        yield [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
