"""Physics beside RotorPy and a bare PyBullet loop, batches of vehicles, and the whole stack."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
from rotorpy.vehicles.crazyflie_params import quad_params
from rotorpy.vehicles.multirotor import Multirotor

from ghost.deploy import (
    Order,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
)
from ghost.simulation.adapter import Start
from ghost.simulation.lightweight import kernel, physics
from ghost.simulation.lightweight.physics import Multirotors
from tests.bench.table import Row, per_call_us

STEP_NS = 1_000_000
STEP_S = STEP_NS / 1e9
Loop = Callable[[int], None]


def physics_rows(calls: int) -> list[Row]:
    """One vehicle, one step of 1 ms, its pose, velocity and rate read after each."""
    few = max(calls // 100, 20)
    return [
        _row("ghost", _ghost(1), calls),
        _row("ghost, interpreted", _ghost_interpreted(), few),
        _row("bare PyBullet loop", _pybullet(), max(calls // 10, 20)),
        _row("RotorPy", _rotorpy(), few),
    ]


def batch_rows(calls: int) -> list[Row]:
    """The cost of one vehicle's step, by how many fly."""
    rows = []
    for count in (1, 10, 100, 1000):
        cost_us = per_call_us(_ghost(count), max(calls // count, 20)) / count
        rows.append(Row(f"{count} vehicles", cost_us, f"{1e6 / cost_us:14,.0f} vehicle-steps/s"))
    return rows


def stack_rows(folder: Path, *, smoke: bool) -> list[Row]:
    """x500: physics at 1 kHz, autopilot and estimator at 250 Hz, everything logged."""
    mission = load_mission(find_shipped("missions", "hover" if smoke else "survey"))
    rows = []
    for index, scenario in enumerate(("calm", "gusty")):
        order = Order(load_robot("x500"), mission, load_scenario(scenario, 1), folder / str(index))
        flight = SimulatedFlight(order)
        start_ns = time.process_time_ns()
        flown = flight.run()
        spent_ns = time.process_time_ns() - start_ns
        assert flown.succeeded
        control_periods = flown.simulated_ns / 4_000_000
        speed = f"{flown.simulated_ns / spent_ns:6.1f} times real time"
        rows.append(Row(f"{mission.name}, {scenario}", spent_ns / control_periods / 1e3, speed))
    return rows


def _row(name: str, loop: Loop, calls: int) -> Row:
    cost_us = per_call_us(loop, calls)
    return Row(name, cost_us, f"{1e6 / cost_us:14,.0f} steps/s")


def _ghost(count: int) -> Loop:
    airframe = load_robot("x500").airframe
    assert airframe is not None
    batch = Multirotors([airframe] * count, [Start((0.0, 0.0, 100.0))] * count, STEP_NS)
    batch.motors[:] = 0.75

    def loop(calls: int) -> None:
        step, body = batch.step, batch.body
        for _ in range(calls):
            step(1)
            body[0, :13].copy()

    return loop


def _ghost_interpreted() -> Loop:
    """The same source, not compiled."""
    spec = importlib.util.spec_from_file_location(
        "plain", Path(physics.__file__).parent / "kernel.py"
    )
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    compiled, kernel.advance = kernel.advance, plain.advance
    try:
        return _ghost(1)
    finally:
        kernel.advance = compiled


def _rotorpy() -> Loop:
    vehicle = Multirotor(quad_params)
    control = {"cmd_motor_speeds": np.full(4, 1800.0)}

    def loop(calls: int) -> None:
        state = vehicle.initial_state
        for _ in range(calls):
            state = vehicle.step(state, control, STEP_S)

    return loop


def _pybullet() -> Loop:
    """A box with four thrusts and a yaw torque, as simple as it can be made."""
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setTimeStep(STEP_S, physicsClientId=client)
    pybullet.setGravity(0, 0, -9.80665, physicsClientId=client)
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_BOX, halfExtents=[0.2, 0.2, 0.05], physicsClientId=client
    )
    body = pybullet.createMultiBody(2.0, shape, basePosition=[0, 0, 100], physicsClientId=client)
    arms = [[0.174, -0.174, 0.0], [-0.174, 0.174, 0.0], [0.174, 0.174, 0.0], [-0.174, -0.174, 0.0]]

    def loop(calls: int) -> None:
        for _ in range(calls):
            for arm in arms:
                pybullet.applyExternalForce(
                    body, -1, [0, 0, 4.9], arm, pybullet.LINK_FRAME, physicsClientId=client
                )
            pybullet.applyExternalTorque(
                body, -1, [0, 0, 0.0], pybullet.LINK_FRAME, physicsClientId=client
            )
            pybullet.stepSimulation(physicsClientId=client)
            pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
            pybullet.getBaseVelocity(body, physicsClientId=client)

    return loop
