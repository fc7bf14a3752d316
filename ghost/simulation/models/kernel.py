"""Rotors, battery and drag, for one vehicle or a thousand. A kernel: see ghost.core.exact.

Every array has a row per vehicle. craft.py packs the parameters and says what each column is.
"""

import math
from typing import Any

from ghost.core import exact


def propel(
    body: Any,
    rotor_speed: Any,
    power: Any,
    motors: Any,
    push: Any,
    strength: Any,
    params: Any,
    rotors: Any,
    wrench: Any,
    step_s: float,
) -> None:
    """Spin rotors and drain the battery for one step; wrench is the force and the torque of rotors,
    air and disturbance, in the body frame.
    """
    for i in range(body.shape[0]):
        vx, vy, vz = body[i, 3], body[i, 4], body[i, 5]
        qw, qx, qy, qz = body[i, 6], body[i, 7], body[i, 8], body[i, 9]
        wx, wy, wz = body[i, 10], body[i, 11], body[i, 12]

        # Rotors: speed lags behind the command, thrust follows speed and sags with the voltage.
        sag = power[i, 1] / params[i, 14]
        sag *= sag
        curve = params[i, 4]
        fx = fy = fz = 0.0
        tx = ty = tz = 0.0
        power_w = params[i, 19]
        for r in range(rotors.shape[1]):
            speed = rotor_speed[i, r]
            speed += (min(max(motors[i, r], 0.0), 1.0) - speed) * rotors[i, r, 8]
            rotor_speed[i, r] = speed
            power_w += rotors[i, r, 9] * speed * speed * speed
            thrust_n = (curve * speed + (1.0 - curve)) * speed * sag
            thrust_n *= rotors[i, r, 6] * strength[i, r]
            rx, ry, rz = rotors[i, r, 0], rotors[i, r, 1], rotors[i, r, 2]
            ax, ay, az = (
                rotors[i, r, 3] * thrust_n,
                rotors[i, r, 4] * thrust_n,
                rotors[i, r, 5] * thrust_n,
            )
            reaction_m = rotors[i, r, 7]
            fx += ax
            fy += ay
            fz += az
            tx += ry * az - rz * ay + reaction_m * ax
            ty += rz * ax - rx * az + reaction_m * ay
            tz += rx * ay - ry * ax + reaction_m * az

        # Battery: charge, then the voltage under load, for the next step.
        current_a = power_w / power[i, 1]
        charge = max(power[i, 0] - current_a * step_s / params[i, 15], 0.0)
        if charge > 0.2:
            open_v = params[i, 17] + (params[i, 16] - params[i, 17]) * (charge - 0.2) * 1.25
        else:
            open_v = params[i, 18] + (params[i, 17] - params[i, 18]) * charge * 5.0
        power[i, 0] = charge
        power[i, 1] = max(open_v - current_a * params[i, 20], 0.5 * params[i, 18])
        power[i, 2] = current_a

        # Drag, in the body frame.
        airx, airy, airz = exact.rotate(
            qw, -qx, -qy, -qz, vx - push[i, 0], vy - push[i, 1], vz - push[i, 2]
        )
        fx -= (params[i, 5] + params[i, 8] * abs(airx)) * airx
        fy -= (params[i, 6] + params[i, 9] * abs(airy)) * airy
        fz -= (params[i, 7] + params[i, 10] * abs(airz)) * airz
        tx += push[i, 6] - params[i, 11] * wx
        ty += push[i, 7] - params[i, 12] * wy
        tz += push[i, 8] - params[i, 13] * wz
        wrench[i, 0], wrench[i, 1], wrench[i, 2] = fx, fy, fz
        wrench[i, 3], wrench[i, 4], wrench[i, 5] = tx, ty, tz


def turning(
    rotor_speed: Any, power: Any, i: int, curve: float, full_v: float, top_rps: Any, speed_rps: Any
) -> None:
    """How fast rotors turn: the state follows the command, and a rotor turns with the root of its
    thrust, which sags with the voltage.
    """
    sag = power[i, 1] / full_v
    for r in range(top_rps.shape[0]):
        share = rotor_speed[i, r]
        thrust = (curve * share + (1.0 - curve)) * share
        speed_rps[r] = math.sqrt(thrust) * sag * top_rps[r]


BEFORE, BIAS, WALK, NOISE, READING = range(5)
"""The rows that an IMU works in."""


def read_imu(felt: Any, work: Any, draw: Any, scale: float) -> None:
    """Write a reading: what was felt since the last one, on average, with bias and noise. felt is
    as in ghost.simulation.models.sensors.Truth, draw holds twelve normal values.
    """
    steps = felt[6] - work[0, 6]
    work[0, 6] = felt[6]
    for axis in range(6):
        total = felt[axis] - work[0, axis]
        work[0, axis] = felt[axis]
        work[1, axis] += work[2, axis] * draw[6 + axis]
        work[4, axis] = total / steps + work[1, axis] + work[3, axis] * draw[axis] * scale
