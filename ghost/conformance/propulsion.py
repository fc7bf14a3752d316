"""Rotors and battery: thrust, torque and charge, beside what the airframe says."""

import numpy as np
from numpy.typing import NDArray

from ghost.conformance.check import Check, Need, require
from ghost.conformance.commands import HEIGHT_M, hover_motor
from ghost.conformance.factory import Factory
from ghost.conformance.flight import MILLISECOND_NS, SECOND_NS, Flight, fresh
from ghost.hal import Action, CommandLevel, GroundTruth, MotorCommand, SensorKind
from ghost.hal.airframe import GRAVITY_MPS2, Airframe

FloatArray = NDArray[np.float64]

_PULSE = 0.15


def hover_thrust(factory: Factory) -> str:
    """By the speed of the rotors: thrust goes with its square, and is full at full speed."""
    airframe = factory.airframe
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    flight.truths.clear()
    flight.step(4 * SECOND_NS)
    thrust_n = float(np.mean([np.sum(_forces(airframe, truth), 0)[2] for truth in flight.truths]))
    climb = flight.truths[-1].velocity_enu_mps[2] - flight.truths[0].velocity_enu_mps[2]
    weight_n = airframe.mass_kg * GRAVITY_MPS2
    needed_n = weight_n + airframe.mass_kg * float(climb) / 4.0
    require(
        abs(thrust_n - needed_n) < 0.03 * weight_n,
        f"{thrust_n:.4g} N of thrust in hover",
        f"{needed_n:.4g} N",
    )
    return f"{thrust_n:.4g} N for {weight_n:.4g} N of weight"


def motor_torques(factory: Factory) -> str:
    """Each motor in turn a little stronger: the vehicle tips away from it, and yaws against it."""
    airframe = factory.airframe
    flight = fresh(factory)
    flight.take_off(5.0)
    worst = 0.0
    signs = []
    for index in range(len(airframe.rotors)):
        seen, expected = _pulse(flight, airframe, index)
        for axis, name in enumerate(("roll", "pitch", "yaw")):
            largest = float(np.max(np.abs(expected[:2] if axis < 2 else expected[2:])))
            error = abs(float(seen[axis] - expected[axis])) / largest if largest > 0.0 else 0.0
            worst = max(worst, error)
            require(
                error < 0.15,
                f"motor {index} gave {seen[axis]:.3g} Nms of {name}",
                f"{expected[axis]:.3g} Nms",
            )
        signs.append(
            "".join("0+-"[int(np.sign(round(v / max(abs(expected)), 3)))] for v in expected)
        )
        flight.ask(Action.HOLD)
        flight.step(2 * SECOND_NS)
    return f"roll, pitch, yaw by motor {' '.join(signs)}, within {worst:.1%}"


def rotors_report_their_speed(factory: Factory) -> str:
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    flight.watch(SECOND_NS)
    pairs = flight.with_truth(SensorKind.ROTOR_SPEED)
    seen = np.mean([sample.speed_rps for sample, _ in pairs], 0)
    true = np.mean([truth.rotor_speed_rps for _, truth in pairs], 0)
    require(
        seen.shape == true.shape and np.allclose(seen, true, rtol=0.02),
        f"{seen.round(1).tolist()} rps",
        f"{true.round(1).tolist()} rps",
    )
    return f"{np.mean(seen):.1f} rps in hover, {np.mean(true):.1f} in truth"


def battery_drains(factory: Factory) -> str:
    """Under load faster than at rest, with current flowing and the voltage below its rest."""
    flight = fresh(factory)
    flight.arm()
    rest = flight.samples(SensorKind.BATTERY)
    flight.take_off(HEIGHT_M)
    flight.heard.clear()
    flight.step(5 * SECOND_NS)
    load = flight.samples(SensorKind.BATTERY)
    idle, busy = (
        (samples[0].remaining - samples[-1].remaining)
        / ((samples[-1].stamp_ns - samples[0].stamp_ns) / 60e9)
        for samples in (rest, load)
    )
    require(
        busy > idle >= 0.0,
        f"{busy:.2%} a minute in flight and {idle:.2%} at rest",
        "more in flight, and no gain",
    )
    currents = [float(np.mean([one.current_a for one in samples])) for samples in (rest, load)]
    require(
        currents[1] > currents[0], f"{currents[1]:.2f} A in flight", f"over {currents[0]:.2f} A"
    )
    volts = [float(np.mean([one.voltage_v for one in samples])) for samples in (rest, load)]
    require(volts[1] < volts[0], f"{volts[1]:.2f} V in flight", f"below {volts[0]:.2f} V")
    return f"{idle:.1%} a minute at rest, {busy:.1%} at {currents[1]:.3g} A in flight"


def _pulse(flight: Flight, airframe: Airframe, index: int) -> tuple[FloatArray, FloatArray]:
    """The angular momentum that it got, and that its rotors owe it."""
    motors = np.full(len(airframe.rotors), hover_motor(airframe))
    flight.ask(Action.MANUAL)
    flight.send(MotorCommand, motors)
    flight.step(100 * MILLISECOND_NS)  # until all rotors turn alike
    motors[index] = min(motors[index] + _PULSE, 1.0)
    flight.send(MotorCommand, motors)
    flight.truths.clear()
    flight.watch(80 * MILLISECOND_NS)
    step_s = flight.factory.step_ns / 1e9
    owed = np.zeros(3)
    for truth in flight.truths[1:]:
        owed += (_torque(airframe, truth) - airframe.drag_angular * truth.rate_flu_rps) * step_s
    gained = flight.truths[-1].rate_flu_rps - flight.truths[0].rate_flu_rps
    return np.array(airframe.inertia_kgm2) * gained, owed


def _torque(airframe: Airframe, truth: GroundTruth) -> FloatArray:
    """From the lever arm, and from the reaction, which is against the propeller's turning."""
    total = np.zeros(3)
    for rotor, force in zip(airframe.rotors, _forces(airframe, truth), strict=True):
        total += np.cross(rotor.position_flu_m, force)
        total -= rotor.direction * rotor.torque_per_thrust_m * force
    return total


def _forces(airframe: Airframe, truth: GroundTruth) -> FloatArray:
    speeds = truth.rotor_speed_rps / [rotor.max_speed_rps for rotor in airframe.rotors]
    thrusts_n = speeds * speeds * [rotor.max_thrust_n for rotor in airframe.rotors]
    forces_n: FloatArray = thrusts_n[:, None] * [rotor.axis_flu for rotor in airframe.rotors]
    return forces_n


CHECKS = (
    Check("hover thrust", hover_thrust, Need(features=("ground_truth",))),
    Check(
        "motor torques",
        motor_torques,
        Need(features=("ground_truth",), levels=(CommandLevel.DIRECT_MOTOR,)),
    ),
    Check(
        "rotors report their speed",
        rotors_report_their_speed,
        Need(features=("ground_truth",), sensors=(SensorKind.ROTOR_SPEED,)),
    ),
    Check("battery drains", battery_drains, Need(sensors=(SensorKind.BATTERY,))),
)
