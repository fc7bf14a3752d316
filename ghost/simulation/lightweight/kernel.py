"""Rigid-body multirotor dynamics, for one vehicle or a thousand. A kernel: see ghost.core.exact.

Every array has a row per vehicle. physics.py packs the parameters and says what each column is.
"""

import math
from typing import Any

from ghost.core import exact
from ghost.simulation.models import kernel as models


def advance(
    body: Any,
    rotor_speed: Any,
    power: Any,
    felt: Any,
    touch: Any,
    motors: Any,
    push: Any,
    strength: Any,
    params: Any,
    rotors: Any,
    wrench: Any,
    ground: Any,
    legs: Any,
    step_count: int,
    step_s: float,
) -> None:
    """Take every vehicle step_count steps further."""
    for _ in range(step_count):
        models.propel(
            body, rotor_speed, power, motors, push, strength, params, rotors, wrench, step_s
        )
        for i in range(body.shape[0]):
            mass_kg, ixx, iyy, izz = params[i, 0], params[i, 1], params[i, 2], params[i, 3]
            vx, vy, vz = body[i, 3], body[i, 4], body[i, 5]
            qw, qx, qy, qz = body[i, 6], body[i, 7], body[i, 8], body[i, 9]
            wx, wy, wz = body[i, 10], body[i, 11], body[i, 12]
            fx, fy, fz = wrench[i, 0], wrench[i, 1], wrench[i, 2]
            tx, ty, tz = wrench[i, 3], wrench[i, 4], wrench[i, 5]

            # Whatever pushes from outside, in the world frame: disturbances, and the ground.
            ex, ey, ez = push[i, 3], push[i, 4], push[i, 5]
            touching = 0.0
            if body[i, 2] < ground[i, 3]:
                for k in range(legs.shape[1]):
                    if k >= ground[i, 4]:
                        break
                    lx, ly, lz = legs[i, k, 0], legs[i, k, 1], legs[i, k, 2]
                    px, py, pz = exact.rotate(qw, qx, qy, qz, lx, ly, lz)
                    depth_m = -(body[i, 2] + pz)
                    if depth_m <= 0.0:
                        continue
                    sx, sy, sz = exact.rotate(
                        qw, qx, qy, qz, wy * lz - wz * ly, wz * lx - wx * lz, wx * ly - wy * lx
                    )
                    sx, sy, sz = vx + sx, vy + sy, vz + sz
                    touching += 1.0
                    touch[i, 1] = max(touch[i, 1], -sz)
                    normal_n = max(ground[i, 0] * depth_m - ground[i, 1] * sz, 0.0)
                    # Coulomb friction, made smooth at a crawl so that a fixed step stays stable.
                    slip_mps = max(math.sqrt(sx * sx + sy * sy), ground[i, 5])
                    grip = ground[i, 2] * normal_n / slip_mps
                    gx, gy = -grip * sx, -grip * sy
                    ex += gx
                    ey += gy
                    ez += normal_n
                    bx, by, bz = exact.rotate(
                        qw, -qx, -qy, -qz,
                        py * normal_n - pz * gy, pz * gx - px * normal_n, px * gy - py * gx,
                    )  # fmt: skip
                    tx += bx
                    ty += by
                    tz += bz
            touch[i, 0] = touching

            # Linear motion. The velocity is averaged over the step, so that free fall is exact.
            ux, uy, uz = exact.rotate(qw, -qx, -qy, -qz, ex, ey, ez)
            sx, sy, sz = (fx + ux) / mass_kg, (fy + uy) / mass_kg, (fz + uz) / mass_kg
            ax, ay, az = exact.rotate(qw, qx, qy, qz, sx, sy, sz)
            az -= 9.80665  # ghost.hal.airframe.GRAVITY_MPS2; a literal is a C constant
            body[i, 0] += (vx + 0.5 * ax * step_s) * step_s
            body[i, 1] += (vy + 0.5 * ay * step_s) * step_s
            body[i, 2] += (vz + 0.5 * az * step_s) * step_s
            body[i, 3] = vx + ax * step_s
            body[i, 4] = vy + ay * step_s
            body[i, 5] = vz + az * step_s

            # Rotation: Euler's equations by the midpoint, then the exact turn at the mean rate.
            hx = wx + 0.5 * step_s * (tx - (izz - iyy) * wy * wz) / ixx
            hy = wy + 0.5 * step_s * (ty - (ixx - izz) * wz * wx) / iyy
            hz = wz + 0.5 * step_s * (tz - (iyy - ixx) * wx * wy) / izz
            nx = wx + step_s * (tx - (izz - iyy) * hy * hz) / ixx
            ny = wy + step_s * (ty - (ixx - izz) * hz * hx) / iyy
            nz = wz + step_s * (tz - (iyy - ixx) * hx * hy) / izz
            mx, my, mz = 0.5 * (wx + nx), 0.5 * (wy + ny), 0.5 * (wz + nz)
            body[i, 10], body[i, 11], body[i, 12] = nx, ny, nz
            qw, qx, qy, qz = exact.turned(qw, qx, qy, qz, mx * step_s, my * step_s, mz * step_s)
            body[i, 6], body[i, 7], body[i, 8], body[i, 9] = qw, qx, qy, qz

            # What an IMU integrates between two samples, and the acceleration of this step.
            felt[i, 0] += sx
            felt[i, 1] += sy
            felt[i, 2] += sz
            felt[i, 3] += mx
            felt[i, 4] += my
            felt[i, 5] += mz
            felt[i, 6] += 1.0
            felt[i, 7], felt[i, 8], felt[i, 9] = ax, ay, az


def cast(body: Any, i: int, origin: Any, directions: Any, limit_m: float, away_m: Any) -> None:
    """How far rays go from a point of body i, along rows of directions in its axes, to the ground.
    Where that is further than the limit, away_m is left as it is.
    """
    qw, qx, qy, qz = body[i, 6], body[i, 7], body[i, 8], body[i, 9]
    _, _, height_m = exact.rotate(qw, qx, qy, qz, origin[0], origin[1], origin[2])
    height_m = body[i, 2] + height_m
    for k in range(directions.shape[0]):
        _, _, up = exact.rotate(
            qw, qx, qy, qz, directions[k, 0], directions[k, 1], directions[k, 2]
        )
        if up < 0.0 and not height_m / -up > limit_m:
            away_m[k] = height_m / -up
