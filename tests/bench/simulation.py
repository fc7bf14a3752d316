"""Physics beside RotorPy and a bare PyBullet loop, batches of vehicles, and the whole stack."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet
from rotorpy.vehicles.crazyflie_params import quad_params
from rotorpy.vehicles.multirotor import Multirotor

from ghost.autopilot import Autopilot
from ghost.core.random import RandomSource
from ghost.deploy import (
    Order,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
)
from ghost.deploy.hal import estimator_config
from ghost.estimation import Estimator
from ghost.hal import Action, ScenarioSpec
from ghost.simulation.adapter import Start, VehicleSetup, World
from ghost.simulation.jsbsim.carried import Carried, read_model
from ghost.simulation.jsbsim.physics import Vehicles
from ghost.simulation.lightweight import kernel
from ghost.simulation.lightweight.physics import Multirotors
from ghost.simulation.models import kernel as models
from ghost.simulation.pybullet.adapter import PyBulletAdapter
from ghost.simulation.pybullet.physics import Bodies
from tests.bench.table import Row, per_call_us
from tests.interpreted import interpreted

STEP_NS = 1_000_000
STEP_S = STEP_NS / 1e9
Loop = Callable[[int], None]


def physics_rows(calls: int) -> list[Row]:
    """One vehicle, one step of 1 ms, its pose, velocity and rate read after each."""
    few = max(calls // 100, 20)
    return [
        _row("ghost", _ghost(1), calls),
        _row("ghost, interpreted", _ghost_interpreted(), few),
        _row("ghost on PyBullet", _ghost_on_pybullet(1), max(calls // 10, 20)),
        _row("ghost on JSBSim", _ghost_on_jsbsim("x500", None), few),
        _row("JSBSim's own F450", _ghost_on_jsbsim("f450", read_model("F450")), few),
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


def shared_world_rows(calls: int) -> list[Row]:
    """The cost of one vehicle's step in one PyBullet world, where all can touch all."""
    rows = []
    for count in (1, 10):
        cost_us = per_call_us(_ghost_on_pybullet(count), max(calls // count // 10, 20))
        speed = f"{STEP_NS / 1e3 / cost_us:8.1f} times real time"
        rows.append(Row(f"{count} vehicles", cost_us / count, speed))
    cost_us = per_call_us(_flown_together(10), max(calls // 200, 20)) / 4.0
    speed = f"{STEP_NS / 1e3 / cost_us:8.1f} times real time"
    rows.append(Row("10 vehicles with sensors and autopilots", cost_us / 10, speed))
    return rows


def stack_rows(folder: Path, *, smoke: bool) -> list[Row]:
    """Physics at 1 kHz, autopilot and estimator at 250 Hz, everything logged."""
    mission = load_mission(find_shipped("missions", "hover" if smoke else "survey"))
    hover = load_mission(find_shipped("missions", "hover"))
    flights = [
        ("x500", "x500", mission, load_scenario("calm", 1), "lightweight"),
        ("x500, gusts", "x500", mission, load_scenario("gusty", 1), "lightweight"),
        ("x500 on PyBullet", "x500", mission, load_scenario("calm", 1), "pybullet"),
    ]
    for robot in ("x500", "x500_lidar", "x500_depth"):
        forest = load_scenario("calm", 1, "forest")
        flights.append((f"{robot} on PyBullet in a forest", robot, hover, forest, "pybullet"))
    rows = []
    for index, (name, robot, what, scenario, simulator) in enumerate(flights):
        order = Order(load_robot(robot), what, scenario, folder / str(index), simulator)
        flight = SimulatedFlight(order)
        start_ns = time.process_time_ns()
        flown = flight.run()
        spent_ns = time.process_time_ns() - start_ns
        assert flown.succeeded
        control_periods = flown.simulated_ns / 4_000_000
        speed = f"{flown.simulated_ns / spent_ns:6.1f} times real time"
        rows.append(Row(name, spent_ns / control_periods / 1e3, speed))
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
    plain = interpreted(kernel)
    plain.models = interpreted(models)
    compiled, kernel.advance = kernel.advance, plain.advance
    try:
        return _ghost(1)
    finally:
        kernel.advance = compiled


def _ghost_on_pybullet(count: int) -> Loop:
    """The same rotors, air and battery on Bullet's bodies, contacts asked for."""
    return _steps(Bodies(_aloft("x500", count)))


def _ghost_on_jsbsim(robot: str, model: Carried | None) -> Loop:
    return _steps(Vehicles(_aloft(robot, 1), model))


def _aloft(robot: str, count: int) -> World:
    airframe = load_robot(robot).airframe
    assert airframe is not None
    setups = tuple(
        VehicleSetup(airframe, (), Start((2.0 * column, 0.0, 100.0))) for column in range(count)
    )
    spec = ScenarioSpec("bench", 1, STEP_NS, 3600 * 1_000_000_000)
    return World(spec, setups, RandomSource(1))


def _steps(bodies: Bodies | Vehicles) -> Loop:
    bodies.motors[:] = 0.75

    def loop(calls: int) -> None:
        step, body = bodies.step, bodies.body
        for _ in range(calls):
            step(1)
            body[0, :13].copy()

    return loop


def _flown_together(count: int) -> Loop:
    """Ten x500 in one world, each on its own estimate; a call is a control period of 4 ms."""
    robot = load_robot("x500")
    assert robot.airframe is not None
    setups = tuple(
        VehicleSetup(robot.airframe, robot.sensors, Start((2.0 * column, 0.0, 0.2)))
        for column in range(count)
    )
    spec = ScenarioSpec("bench", 1, STEP_NS, 3600 * 1_000_000_000)
    adapter = PyBulletAdapter()
    adapter.connect(World(spec, setups, RandomSource(1)))
    autopilots = [
        Autopilot(
            robot.airframe,
            robot.envelope,
            Estimator(estimator_config(robot.sensors, spec.origin)),
            robot.autopilot,
        )
        for _ in setups
    ]

    def loop(calls: int) -> None:
        for _ in range(calls):
            adapter.step(4 * STEP_NS)
            for row, autopilot in enumerate(autopilots):
                for _, sample in adapter.receive_sensors(row):
                    autopilot.sense(sample)
                if not autopilot.armed and autopilot.estimator.ready:
                    autopilot.request(Action.ARM)
                    autopilot.request(Action.TAKEOFF, altitude_m=5.0)
                adapter.send_motors(row, autopilot.update(adapter.sim_time_ns))

    loop(1000)
    assert all(autopilot.armed for autopilot in autopilots)
    return loop


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
