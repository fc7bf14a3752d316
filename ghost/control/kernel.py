"""The cascade from a set-point at any level down to motors. A kernel: see ghost.core.exact.

want, in this order: level (ghost.hal CommandLevel), position 1-3, velocity 4-6, acceleration 7-9,
attitude 10-13, rate 14-16, thrust 17, yaw 18, yaw rate 19. Each level fills in what the ones below
it need, so after a call want holds every set-point down to rate and thrust.
"""

import math
from typing import Any

from ghost.core import exact


def cascade(
    nominal: Any,
    rate: Any,
    want: Any,
    integral: Any,
    gains: Any,
    demand: Any,
    step_s: float,
) -> None:
    """From the estimate and the set-point to demand: thrust in newtons, torque in body axes."""
    level = want[0]
    if level >= 4.0:
        if level >= 5.0:
            _position_loop(nominal, want, gains)
        _velocity_loop(nominal, want, integral, gains, step_s)
    else:
        integral[0] = integral[1] = integral[2] = 0.0
    if level >= 3.0:
        _attitude_loop(nominal, want, gains)
    _rate_loop(rate, want, integral, gains, demand, step_s)
    demand[0] = want[17] * gains[1]


def follow(
    want: Any,
    x_m: float,
    y_m: float,
    z_m: float,
    vx_mps: float,
    vy_mps: float,
    vz_mps: float,
    ax_mps2: float,
    ay_mps2: float,
    az_mps2: float,
    yaw_rad: float,
) -> None:
    """Want to be at a place, moving through it: the trajectory level, without turning."""
    want[0] = 6.0
    want[1], want[2], want[3] = x_m, y_m, z_m
    want[4], want[5], want[6] = vx_mps, vy_mps, vz_mps
    want[7], want[8], want[9] = ax_mps2, ay_mps2, az_mps2
    want[18], want[19] = yaw_rad, 0.0


def _position_loop(nominal: Any, want: Any, gains: Any) -> None:
    """Velocity set-point: what is fed forward, and a pull towards the position."""
    px = gains[5] * (want[1] - nominal[0])
    py = gains[5] * (want[2] - nominal[1])
    pz = gains[6] * (want[3] - nominal[2])
    pull = math.sqrt(px * px + py * py)
    if pull > gains[7]:
        px, py = px * gains[7] / pull, py * gains[7] / pull
    want[4] += px
    want[5] += py
    want[6] += min(max(pz, -gains[8]), gains[8])
    speed = math.sqrt(want[4] * want[4] + want[5] * want[5])
    if speed > gains[7]:
        want[4] *= gains[7] / speed
        want[5] *= gains[7] / speed
    want[6] = min(max(want[6], -gains[8]), gains[8])


def _velocity_loop(nominal: Any, want: Any, integral: Any, gains: Any, step_s: float) -> None:
    """Acceleration, and from it the direction and size of the thrust."""
    limit = gains[11]
    error_x, error_y, error_z = want[4] - nominal[3], want[5] - nominal[4], want[6] - nominal[5]
    ax = want[7] + gains[9] * error_x + gains[23] * want[4] + integral[0]
    ay = want[8] + gains[9] * error_y + gains[23] * want[5] + integral[1]
    az = want[9] + gains[10] * error_z + gains[24] * want[6] + integral[2]
    size = math.sqrt(ax * ax + ay * ay)
    is_full = size > limit
    if is_full:
        ax, ay = ax * limit / size, ay * limit / size
    lift = az + 9.80665
    most = gains[12] * gains[1] / gains[0]
    least = 0.1 * 9.80665
    is_bound = lift < least or lift > most
    lift = min(max(lift, least), most)
    # Integrate only what lasts: not a large step on its way, nor what there is no authority for.
    if not is_full and error_x * error_x + error_y * error_y < 1.0:
        integral[0] = min(max(integral[0] + gains[13] * error_x * step_s, -gains[14]), gains[14])
        integral[1] = min(max(integral[1] + gains[13] * error_y * step_s, -gains[14]), gains[14])
    if not is_bound and abs(error_z) < 1.0:
        integral[2] = min(max(integral[2] + gains[13] * error_z * step_s, -gains[14]), gains[14])

    length = math.sqrt(ax * ax + ay * ay + lift * lift)
    zx, zy, zz = ax / length, ay / length, lift / length
    sine, cosine = exact.sine_cosine(want[18])
    # Body y is across the heading and the thrust, body x across both.
    yx, yy, yz = -zz * sine, zz * cosine, zx * sine - zy * cosine
    size = math.sqrt(yx * yx + yy * yy + yz * yz)
    yx, yy, yz = yx / size, yy / size, yz / size
    xx, xy, xz = yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx
    # Lift is above zero and so is zz: of the four ways to a quaternion the one by w or by z holds.
    trace = xx + yy + zz
    if trace > 0.0:
        root = math.sqrt(1.0 + trace)
        want[10] = 0.5 * root
        want[11] = 0.5 * (yz - zy) / root
        want[12] = 0.5 * (zx - xz) / root
        want[13] = 0.5 * (xy - yx) / root
    else:
        root = math.sqrt(1.0 + zz - xx - yy)
        want[10] = 0.5 * (xy - yx) / root
        want[11] = 0.5 * (zx + xz) / root
        want[12] = 0.5 * (yz + zy) / root
        want[13] = 0.5 * root
    # Only the part of the thrust that the body's z axis has now does any good.
    bx, by, bz = exact.rotate(nominal[6], nominal[7], nominal[8], nominal[9], 0.0, 0.0, 1.0)
    along = ax * bx + ay * by + lift * bz
    want[17] = min(max(along * gains[0] / gains[1], 0.0), 1.0)


def _attitude_loop(nominal: Any, want: Any, gains: Any) -> None:
    """Body rates towards the attitude: the thrust's direction by the shortest way, and heading
    apart from it and with less haste. One turn for both would go through wild tilts for a heading
    that is far off.
    """
    ew, ex, ey, ez = exact.multiply(
        nominal[6], -nominal[7], -nominal[8], -nominal[9], want[10], want[11], want[12], want[13]
    )
    # The error is a tilt after a turn about the body's z axis, which is (ew, 0, 0, ez) / turn.
    turn = math.sqrt(ew * ew + ez * ez)
    rz = 0.0
    if turn > 1.0e-6:  # else it is upside down, and heading means nothing
        ex, ey = (ex * ew - ey * ez) / turn, (ey * ew + ex * ez) / turn
        rz = gains[16] * (-2.0 if ew < 0.0 else 2.0) * ez / turn
    rx, ry = gains[15] * 2.0 * ex, gains[15] * 2.0 * ey
    # The yaw rate is about the world's vertical.
    ux, uy, uz = exact.rotate(nominal[6], -nominal[7], -nominal[8], -nominal[9], 0.0, 0.0, want[19])
    want[14] = min(max(rx + ux, -gains[17]), gains[17])
    want[15] = min(max(ry + uy, -gains[17]), gains[17])
    want[16] = min(max(rz + uz, -gains[18]), gains[18])


def _rate_loop(rate: Any, want: Any, integral: Any, gains: Any, demand: Any, step_s: float) -> None:
    """Torque that would bring the rates there at the loop's pace."""
    wx, wy, wz = rate[0], rate[1], rate[2]
    ixx, iyy, izz = gains[2], gains[3], gains[4]
    for axis in range(3):
        error = want[14 + axis] - rate[axis]
        integral[3 + axis] += gains[21] * error * step_s
        integral[3 + axis] = min(max(integral[3 + axis], -gains[22]), gains[22])
    demand[1] = ixx * (gains[19] * (want[14] - wx) + integral[3]) + (izz - iyy) * wy * wz
    demand[2] = iyy * (gains[19] * (want[15] - wy) + integral[4]) + (ixx - izz) * wz * wx
    demand[3] = izz * (gains[20] * (want[16] - wz) + integral[5]) + (iyy - ixx) * wx * wy


def mix(demand: Any, allocation: Any, limits: Any, motors: Any, curve: float, sag: float) -> None:
    """Share thrust and torque among the rotors.

    What they can't give is taken from yaw first, then from thrust, so that roll and pitch are the
    last to suffer; and nothing rests on yaw, which may have to go. limits holds each rotor's
    greatest thrust; sag is what the battery leaves of it.
    """
    count = motors.shape[0]
    low = high = 0.0  # of what must be added to every rotor so that tilt torque fits
    span = 1.0
    for _ in range(2):
        low, high = -1.0e300, 1.0e300
        for r in range(count):
            tilt_n = span * (allocation[r, 1] * demand[1] + allocation[r, 2] * demand[2])
            share = allocation[r, 0]
            low = max(low, -tilt_n / share)
            high = min(high, (limits[r] * sag - tilt_n) / share)
        if low <= high:
            break
        # Even with the best thrust the tilt torque doesn't fit: shrink it until it just does.
        room, widest = 1.0e300, 0.0
        for r in range(count):
            tilt_n = allocation[r, 1] * demand[1] + allocation[r, 2] * demand[2]
            widest = max(widest, abs(tilt_n) / allocation[r, 0])
            room = min(room, limits[r] * sag / allocation[r, 0])
        span = 0.499 * room / widest
    lift_n = min(max(demand[0], low), high)
    yaw = 1.0
    for r in range(count):
        base_n = allocation[r, 0] * lift_n
        base_n += span * (allocation[r, 1] * demand[1] + allocation[r, 2] * demand[2])
        twist_n = allocation[r, 3] * demand[3]
        if twist_n > 0.0:
            yaw = min(yaw, max(limits[r] * sag - base_n, 0.0) / twist_n)
        elif twist_n < 0.0:
            yaw = min(yaw, max(base_n, 0.0) / -twist_n)
    for r in range(count):
        thrust_n = allocation[r, 0] * lift_n + yaw * allocation[r, 3] * demand[3]
        thrust_n += span * (allocation[r, 1] * demand[1] + allocation[r, 2] * demand[2])
        share = min(max(thrust_n / (limits[r] * sag), 0.0), 1.0)
        # Undo the thrust curve: share = curve u u + (1 - curve) u.
        if curve > 0.0:
            rest = 1.0 - curve
            root = math.sqrt(rest * rest + 4.0 * curve * share)
            motors[r] = min((root - rest) / (2.0 * curve), 1.0)  # or it may round to more
        else:
            motors[r] = share
