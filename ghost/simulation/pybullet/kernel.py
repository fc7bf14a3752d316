"""Between our rotors and another's rigid bodies. A kernel: see ghost.core.exact."""

from typing import Any

from ghost.core import exact


def load(body: Any, wrench: Any, push: Any, loads: Any) -> None:
    """What acts on each body in this step, in the world frame: force, then torque."""
    for i in range(body.shape[0]):
        qw, qx, qy, qz = body[i, 6], body[i, 7], body[i, 8], body[i, 9]
        fx, fy, fz = exact.rotate(qw, qx, qy, qz, wrench[i, 0], wrench[i, 1], wrench[i, 2])
        tx, ty, tz = exact.rotate(qw, qx, qy, qz, wrench[i, 3], wrench[i, 4], wrench[i, 5])
        loads[i, 0], loads[i, 1], loads[i, 2] = fx + push[i, 3], fy + push[i, 4], fz + push[i, 5]
        loads[i, 3], loads[i, 4], loads[i, 5] = tx, ty, tz


def observe(body: Any, felt: Any, fresh: Any, step_s: float) -> None:
    """Take over where the bodies are after a step, and what an IMU felt on the way.

    fresh is position, attitude with w last, velocity and rate, all in the world frame.
    """
    for i in range(body.shape[0]):
        qw, qx, qy, qz = body[i, 6], body[i, 7], body[i, 8], body[i, 9]
        ax = (fresh[i, 7] - body[i, 3]) / step_s
        ay = (fresh[i, 8] - body[i, 4]) / step_s
        az = (fresh[i, 9] - body[i, 5]) / step_s
        # GRAVITY_MPS2, as a literal because that is a C constant
        sx, sy, sz = exact.rotate(qw, -qx, -qy, -qz, ax, ay, az + 9.80665)
        nw, nx, ny, nz = fresh[i, 6], fresh[i, 3], fresh[i, 4], fresh[i, 5]
        wx, wy, wz = exact.rotate(nw, -nx, -ny, -nz, fresh[i, 10], fresh[i, 11], fresh[i, 12])
        felt[i, 0] += sx
        felt[i, 1] += sy
        felt[i, 2] += sz
        felt[i, 3] += 0.5 * (body[i, 10] + wx)
        felt[i, 4] += 0.5 * (body[i, 11] + wy)
        felt[i, 5] += 0.5 * (body[i, 12] + wz)
        felt[i, 6] += 1.0
        felt[i, 7], felt[i, 8], felt[i, 9] = ax, ay, az
        body[i, 0], body[i, 1], body[i, 2] = fresh[i, 0], fresh[i, 1], fresh[i, 2]
        body[i, 3], body[i, 4], body[i, 5] = fresh[i, 7], fresh[i, 8], fresh[i, 9]
        body[i, 6], body[i, 7], body[i, 8], body[i, 9] = nw, nx, ny, nz
        body[i, 10], body[i, 11], body[i, 12] = wx, wy, wz
