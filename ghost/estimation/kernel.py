"""The error-state Kalman filter itself: a kernel, only + - * / and sqrt, the same bits everywhere.

A belief is a row of 273 numbers, and an array of rows may be many moments or many vehicles:

      0..16  nominal: position ENU 3, velocity ENU 3, quaternion 4, gyro, accel and baro bias 3 3 1
    17..272  covariance, 16 x 16, of the error: position, velocity, a small rotation in the body
             frame, gyro bias, accel bias, baro bias

The scratch of an update is of shape (9, 18): rows 0..5 each a measurement as 16 numbers of its
Jacobian, its residual and its variance, the others for the kernel alone. A fuse function answers
with the normalised innovation squared of what it took in, or -1 when the gate refused it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ghost.core import exact

FloatArray = NDArray[np.float64]


def predict(
    beliefs: FloatArray,
    source: int,
    target: int,
    imu: FloatArray,
    sample: int,
    noise: FloatArray,
    dt_s: float,
    extra_velocity_variance: float,
    extra_attitude_variance: float,
) -> None:
    """From row source to row target, dt_s later, by one row (accel, gyro) of imu.

    noise holds the squared densities of accel, gyro, gyro bias, accel bias and baro bias.
    """
    if source != target:
        for i in range(273):
            beliefs[target, i] = beliefs[source, i]
    fx = imu[sample, 0] - beliefs[target, 13]
    fy = imu[sample, 1] - beliefs[target, 14]
    fz = imu[sample, 2] - beliefs[target, 15]
    rx = (imu[sample, 3] - beliefs[target, 10]) * dt_s
    ry = (imu[sample, 4] - beliefs[target, 11]) * dt_s
    rz = (imu[sample, 5] - beliefs[target, 12]) * dt_s
    # The body turns while it is pushed: the mean push is seen from half way.
    fx, fy, fz = (
        fx + 0.5 * (ry * fz - rz * fy),
        fy + 0.5 * (rz * fx - rx * fz),
        fz + 0.5 * (rx * fy - ry * fx),
    )
    qw, qx = beliefs[target, 6], beliefs[target, 7]
    qy, qz = beliefs[target, 8], beliefs[target, 9]
    r00 = 1.0 - 2.0 * (qy * qy + qz * qz)
    r01 = 2.0 * (qx * qy - qw * qz)
    r02 = 2.0 * (qx * qz + qw * qy)
    r10 = 2.0 * (qx * qy + qw * qz)
    r11 = 1.0 - 2.0 * (qx * qx + qz * qz)
    r12 = 2.0 * (qy * qz - qw * qx)
    r20 = 2.0 * (qx * qz - qw * qy)
    r21 = 2.0 * (qy * qz + qw * qx)
    r22 = 1.0 - 2.0 * (qx * qx + qy * qy)

    ax = r00 * fx + r01 * fy + r02 * fz
    ay = r10 * fx + r11 * fy + r12 * fz
    az = r20 * fx + r21 * fy + r22 * fz - 9.80665
    half_s = 0.5 * dt_s
    beliefs[target, 0] += dt_s * (beliefs[target, 3] + half_s * ax)
    beliefs[target, 1] += dt_s * (beliefs[target, 4] + half_s * ay)
    beliefs[target, 2] += dt_s * (beliefs[target, 5] + half_s * az)
    beliefs[target, 3] += dt_s * ax
    beliefs[target, 4] += dt_s * ay
    beliefs[target, 5] += dt_s * az
    qw, qx, qy, qz = exact.turned(qw, qx, qy, qz, rx, ry, rz)
    beliefs[target, 6], beliefs[target, 7] = qw, qx
    beliefs[target, 8], beliefs[target, 9] = qy, qz

    # How a velocity error grows from a rotation error: -R [f]x dt, row by row.
    m00 = dt_s * (r02 * fy - r01 * fz)
    m01 = dt_s * (r00 * fz - r02 * fx)
    m02 = dt_s * (r01 * fx - r00 * fy)
    m10 = dt_s * (r12 * fy - r11 * fz)
    m11 = dt_s * (r10 * fz - r12 * fx)
    m12 = dt_s * (r11 * fx - r10 * fy)
    m20 = dt_s * (r22 * fy - r21 * fz)
    m21 = dt_s * (r20 * fz - r22 * fx)
    m22 = dt_s * (r21 * fx - r20 * fy)
    r00, r01, r02 = dt_s * r00, dt_s * r01, dt_s * r02
    r10, r11, r12 = dt_s * r10, dt_s * r11, dt_s * r12
    r20, r21, r22 = dt_s * r20, dt_s * r21, dt_s * r22
    # How a rotation error turns with the body: to second order, or the covariance would swell.
    t00, t01, t02 = 1.0 - 0.5 * (ry * ry + rz * rz), rz + 0.5 * rx * ry, 0.5 * rx * rz - ry
    t10, t11, t12 = 0.5 * rx * ry - rz, 1.0 - 0.5 * (rx * rx + rz * rz), rx + 0.5 * ry * rz
    t20, t21, t22 = ry + 0.5 * rx * rz, 0.5 * ry * rz - rx, 1.0 - 0.5 * (rx * rx + ry * ry)

    # From the left, on whole rows: at is the error's element i of column j.
    for j in range(16):
        at = 17 + j
        th0, th1, th2 = (
            beliefs[target, at + 96],
            beliefs[target, at + 112],
            beliefs[target, at + 128],
        )
        ba0, ba1, ba2 = (
            beliefs[target, at + 192],
            beliefs[target, at + 208],
            beliefs[target, at + 224],
        )
        v0, v1, v2 = beliefs[target, at + 48], beliefs[target, at + 64], beliefs[target, at + 80]
        dv0 = m00 * th0 + m01 * th1 + m02 * th2 - (r00 * ba0 + r01 * ba1 + r02 * ba2)
        dv1 = m10 * th0 + m11 * th1 + m12 * th2 - (r10 * ba0 + r11 * ba1 + r12 * ba2)
        dv2 = m20 * th0 + m21 * th1 + m22 * th2 - (r20 * ba0 + r21 * ba1 + r22 * ba2)
        beliefs[target, at] += dt_s * (v0 + 0.5 * dv0)
        beliefs[target, at + 16] += dt_s * (v1 + 0.5 * dv1)
        beliefs[target, at + 32] += dt_s * (v2 + 0.5 * dv2)
        beliefs[target, at + 48] = v0 + dv0
        beliefs[target, at + 64] = v1 + dv1
        beliefs[target, at + 80] = v2 + dv2
        beliefs[target, at + 96] = (
            t00 * th0 + t01 * th1 + t02 * th2 - dt_s * beliefs[target, at + 144]
        )
        beliefs[target, at + 112] = (
            t10 * th0 + t11 * th1 + t12 * th2 - dt_s * beliefs[target, at + 160]
        )
        beliefs[target, at + 128] = (
            t20 * th0 + t21 * th1 + t22 * th2 - dt_s * beliefs[target, at + 176]
        )
    # From the right, on the rows whose upper half it changes; the lower half is its mirror.
    for i in range(9):
        at = 17 + 16 * i
        th0, th1, th2 = beliefs[target, at + 6], beliefs[target, at + 7], beliefs[target, at + 8]
        ba0, ba1, ba2 = beliefs[target, at + 12], beliefs[target, at + 13], beliefs[target, at + 14]
        if i < 6:
            v0, v1, v2 = beliefs[target, at + 3], beliefs[target, at + 4], beliefs[target, at + 5]
            dv0 = m00 * th0 + m01 * th1 + m02 * th2 - (r00 * ba0 + r01 * ba1 + r02 * ba2)
            dv1 = m10 * th0 + m11 * th1 + m12 * th2 - (r10 * ba0 + r11 * ba1 + r12 * ba2)
            dv2 = m20 * th0 + m21 * th1 + m22 * th2 - (r20 * ba0 + r21 * ba1 + r22 * ba2)
            beliefs[target, at] += dt_s * (v0 + 0.5 * dv0)
            beliefs[target, at + 1] += dt_s * (v1 + 0.5 * dv1)
            beliefs[target, at + 2] += dt_s * (v2 + 0.5 * dv2)
            beliefs[target, at + 3] = v0 + dv0
            beliefs[target, at + 4] = v1 + dv1
            beliefs[target, at + 5] = v2 + dv2
        beliefs[target, at + 6] = t00 * th0 + t01 * th1 + t02 * th2 - dt_s * beliefs[target, at + 9]
        beliefs[target, at + 7] = (
            t10 * th0 + t11 * th1 + t12 * th2 - dt_s * beliefs[target, at + 10]
        )
        beliefs[target, at + 8] = (
            t20 * th0 + t21 * th1 + t22 * th2 - dt_s * beliefs[target, at + 11]
        )
    for i in range(9):
        for j in range(i + 1, 16):
            beliefs[target, 17 + 16 * j + i] = beliefs[target, 17 + 16 * i + j]

    velocity_variance = noise[0] * dt_s + extra_velocity_variance
    attitude_variance = noise[1] * dt_s + extra_attitude_variance
    for i in range(3):
        beliefs[target, 68 + 17 * i] += velocity_variance
        beliefs[target, 119 + 17 * i] += attitude_variance
        beliefs[target, 170 + 17 * i] += noise[2] * dt_s
        beliefs[target, 221 + 17 * i] += noise[3] * dt_s
    beliefs[target, 272] += noise[4] * dt_s


def update(
    beliefs: FloatArray, row: int, scratch: FloatArray, count: int, gate: float, heading: int
) -> float:
    """Take in the first count measurements of scratch, all or none, one scalar after the other.

    None when any alone lies further out than gate standard deviations. With heading set, only
    rotation about the vertical and the gyro bias along it are corrected; the covariance is
    Joseph's, which is right for any gain.
    """
    for n in range(count):
        variance = scratch[n, 17]
        for i in range(16):
            if scratch[n, i] != 0.0:
                total = 0.0
                for j in range(16):
                    total += beliefs[row, 17 + 16 * i + j] * scratch[n, j]
                variance += scratch[n, i] * total
        # Written so that NaN fails it.
        if not (variance > 0.0 and scratch[n, 16] * scratch[n, 16] <= gate * gate * variance):
            return -1.0
    for i in range(16):
        scratch[8, i] = 0.0
    nis = 0.0
    for n in range(count):
        nis += _take_in(beliefs, row, scratch, n, heading)
    _inject(beliefs, row, scratch)
    return nis


def _take_in(beliefs: FloatArray, row: int, scratch: FloatArray, n: int, heading: int) -> float:
    """One scalar: P - k c' - c k' + s k k', where c = P h and k is the gain; rows 6, 7 and 8 of
    scratch are c, k and the correction so far.
    """
    variance = scratch[n, 17]
    residual = scratch[n, 16]
    for i in range(16):
        total = 0.0
        for j in range(16):
            total += beliefs[row, 17 + 16 * i + j] * scratch[n, j]
        scratch[6, i] = total
    for i in range(16):
        variance += scratch[n, i] * scratch[6, i]
        residual -= scratch[n, i] * scratch[8, i]
    for i in range(16):
        scratch[7, i] = scratch[6, i] / variance
    if heading:
        _keep_heading(beliefs, row, scratch)
    for i in range(16):
        c, k = scratch[6, i], scratch[7, i]
        scratch[8, i] += k * residual
        for j in range(i, 16):
            value = beliefs[row, 17 + 16 * i + j]
            value += k * (variance * scratch[7, j] - scratch[6, j]) - c * scratch[7, j]
            beliefs[row, 17 + 16 * i + j] = value
            beliefs[row, 17 + 16 * j + i] = value
    nis: float = residual * residual / variance
    return nis


def _keep_heading(beliefs: FloatArray, row: int, scratch: FloatArray) -> None:
    ux, uy, uz = _up(beliefs, row)
    turn = ux * scratch[7, 6] + uy * scratch[7, 7] + uz * scratch[7, 8]
    drift = ux * scratch[7, 9] + uy * scratch[7, 10] + uz * scratch[7, 11]
    for i in range(16):
        scratch[7, i] = 0.0
    scratch[7, 6], scratch[7, 7], scratch[7, 8] = ux * turn, uy * turn, uz * turn
    scratch[7, 9], scratch[7, 10], scratch[7, 11] = ux * drift, uy * drift, uz * drift


def _inject(beliefs: FloatArray, row: int, scratch: FloatArray) -> None:
    """Move the correction into the nominal state, and the covariance to where that now is."""
    for i in range(6):
        beliefs[row, i] += scratch[8, i]
    for i in range(9, 16):
        beliefs[row, i + 1] += scratch[8, i]
    rx, ry, rz = scratch[8, 6], scratch[8, 7], scratch[8, 8]
    qw, qx, qy, qz = exact.turned(
        beliefs[row, 6], beliefs[row, 7], beliefs[row, 8], beliefs[row, 9], rx, ry, rz
    )
    beliefs[row, 6], beliefs[row, 7], beliefs[row, 8], beliefs[row, 9] = qw, qx, qy, qz
    rx, ry, rz = 0.5 * rx, 0.5 * ry, 0.5 * rz
    for j in range(16):
        at = 113 + j
        a, b, c = beliefs[row, at], beliefs[row, at + 16], beliefs[row, at + 32]
        beliefs[row, at] = a + (rz * b - ry * c)
        beliefs[row, at + 16] = b + (rx * c - rz * a)
        beliefs[row, at + 32] = c + (ry * a - rx * b)
    for i in range(16):
        at = 23 + 16 * i
        a, b, c = beliefs[row, at], beliefs[row, at + 1], beliefs[row, at + 2]
        beliefs[row, at] = a + (rz * b - ry * c)
        beliefs[row, at + 1] = b + (rx * c - rz * a)
        beliefs[row, at + 2] = c + (ry * a - rx * b)
    for i in range(6, 9):
        for j in range(16):
            if j < 6 or j > i:
                beliefs[row, 17 + 16 * j + i] = beliefs[row, 17 + 16 * i + j]


def fuse_gps(
    beliefs: FloatArray, row: int, scratch: FloatArray, measured: FloatArray, gate: float
) -> float:
    """measured: position, velocity, and the six variances of them."""
    for n in range(6):
        _write(scratch, n, measured[n] - beliefs[row, n], measured[6 + n])
        scratch[n, n] = 1.0
    return update(beliefs, row, scratch, 6, gate, 0)


def fuse_heading(
    beliefs: FloatArray, row: int, scratch: FloatArray, measured: FloatArray, gate: float
) -> float:
    """measured: the field in the body, its horizontal direction in the world as a unit vector, its
    variance in T2. A wrong dip or strength does nothing.
    """
    qw, qx = beliefs[row, 6], beliefs[row, 7]
    qy, qz = beliefs[row, 8], beliefs[row, 9]
    wx, wy, wz = exact.rotate(qw, qx, qy, qz, measured[0], measured[1], measured[2])
    square = wx * wx + wy * wy
    if not square > 0.0:
        return -1.0
    east, north = measured[3], measured[4]
    # A tilt error turns the vertical part of the field into the horizontal. Along the expected
    # direction: the measured one has the noise of the residual, and the product a mean.
    slope = -wz / math.sqrt(square)
    hx, hy, hz = exact.rotate(qw, -qx, -qy, -qz, slope * east, slope * north, 1.0)
    turn_rad = exact.arctangent2(wx * north - wy * east, wx * east + wy * north)
    _write(scratch, 0, turn_rad, measured[5] / square)
    scratch[0, 6], scratch[0, 7], scratch[0, 8] = hx, hy, hz
    return update(beliefs, row, scratch, 1, gate, 1)


def fuse_height(
    beliefs: FloatArray, row: int, scratch: FloatArray, measured: FloatArray, gate: float
) -> float:
    """measured: a barometer's height, which is the vehicle's own plus the bias, and variance."""
    _write(scratch, 0, measured[0] - beliefs[row, 2] - beliefs[row, 16], measured[1])
    scratch[0, 2], scratch[0, 15] = 1.0, 1.0
    return update(beliefs, row, scratch, 1, gate, 0)


def fuse_range(
    beliefs: FloatArray, row: int, scratch: FloatArray, measured: FloatArray, gate: float
) -> float:
    """measured: the way from the body's origin down its own z axis to flat ground, that ground's
    height, variance, and the cosine of the largest tilt at which that means anything.
    """
    ux, uy, uz = _up(beliefs, row)
    if not uz >= measured[3]:
        return -1.0
    expected_m = (beliefs[row, 2] - measured[1]) / uz
    _write(scratch, 0, measured[0] - expected_m, measured[2])
    scratch[0, 2] = 1.0 / uz
    scratch[0, 6] = expected_m * uy / uz
    scratch[0, 7] = -expected_m * ux / uz
    return update(beliefs, row, scratch, 1, gate, 0)


def fuse_rest(
    beliefs: FloatArray,
    row: int,
    scratch: FloatArray,
    imu: FloatArray,
    sample: int,
    accel_variance: float,
    gyro_variance: float,
) -> float:
    """A mean row of imu at rest: gravity and the accel bias, and the gyro bias. No gate."""
    ux, uy, uz = _up(beliefs, row)
    ux, uy, uz = 9.80665 * ux, 9.80665 * uy, 9.80665 * uz
    for n in range(3):
        _write(scratch, n, imu[sample, n] - beliefs[row, 13 + n], accel_variance)
        _write(scratch, 3 + n, imu[sample, 3 + n] - beliefs[row, 10 + n], gyro_variance)
        scratch[n, 12 + n], scratch[3 + n, 9 + n] = 1.0, 1.0
    scratch[0, 7], scratch[0, 8], scratch[0, 16] = -uz, uy, scratch[0, 16] - ux
    scratch[1, 6], scratch[1, 8], scratch[1, 16] = uz, -ux, scratch[1, 16] - uy
    scratch[2, 6], scratch[2, 7], scratch[2, 16] = -uy, ux, scratch[2, 16] - uz
    return update(beliefs, row, scratch, 6, 1e9, 0)


def forget(beliefs: FloatArray, row: int, first: int, count: int, variance: float) -> None:
    """Know nothing of some error states but that variance."""
    for i in range(first, first + count):
        for j in range(16):
            beliefs[row, 17 + 16 * i + j] = 0.0
            beliefs[row, 17 + 16 * j + i] = 0.0
        beliefs[row, 17 + 17 * i] = variance


def read_out(
    beliefs: FloatArray, row: int, imu: FloatArray, sample: int, output: FloatArray
) -> None:
    """What a control loop wants, in 27 numbers: nominal 17, body rate 3, acceleration ENU 3, and
    the largest variances of position and velocity, that of tilt and that of heading.
    """
    for i in range(17):
        output[i] = beliefs[row, i]
    for i in range(3):
        output[17 + i] = imu[sample, 3 + i] - beliefs[row, 10 + i]
    qw, qx = beliefs[row, 6], beliefs[row, 7]
    qy, qz = beliefs[row, 8], beliefs[row, 9]
    fx, fy = imu[sample, 0] - beliefs[row, 13], imu[sample, 1] - beliefs[row, 14]
    ax, ay, az = exact.rotate(qw, qx, qy, qz, fx, fy, imu[sample, 2] - beliefs[row, 15])
    output[20], output[21], output[22] = ax, ay, az - 9.80665
    output[23] = max(beliefs[row, 17], beliefs[row, 34], beliefs[row, 51])
    output[24] = max(beliefs[row, 68], beliefs[row, 85], beliefs[row, 102])
    ux, uy, uz = _up(beliefs, row)
    vx = beliefs[row, 119] * ux + beliefs[row, 120] * uy + beliefs[row, 121] * uz
    vy = beliefs[row, 135] * ux + beliefs[row, 136] * uy + beliefs[row, 137] * uz
    vz = beliefs[row, 151] * ux + beliefs[row, 152] * uy + beliefs[row, 153] * uz
    output[26] = ux * vx + uy * vy + uz * vz
    output[25] = beliefs[row, 119] + beliefs[row, 136] + beliefs[row, 153] - output[26]


def spread(
    beliefs: FloatArray,
    row: int,
    horizontal_m2: float,
    vertical_m2: float,
    heading_rad2: float,
    covariances: FloatArray,
) -> None:
    """Those of position, velocity and attitude, 9 numbers each, with variances added to that of
    position and to that of rotation about the vertical.
    """
    for i in range(3):
        for j in range(3):
            covariances[3 * i + j] = beliefs[row, 17 + 16 * i + j]
            covariances[9 + 3 * i + j] = beliefs[row, 68 + 16 * i + j]
            covariances[18 + 3 * i + j] = beliefs[row, 119 + 16 * i + j]
    covariances[0] += horizontal_m2
    covariances[4] += horizontal_m2
    covariances[8] += vertical_m2
    ux, uy, uz = _up(beliefs, row)
    covariances[18] += heading_rad2 * (ux * ux)
    covariances[19] += heading_rad2 * (ux * uy)
    covariances[20] += heading_rad2 * (ux * uz)
    covariances[21] += heading_rad2 * (uy * ux)
    covariances[22] += heading_rad2 * (uy * uy)
    covariances[23] += heading_rad2 * (uy * uz)
    covariances[24] += heading_rad2 * (uz * ux)
    covariances[25] += heading_rad2 * (uz * uy)
    covariances[26] += heading_rad2 * (uz * uz)


def _write(scratch: FloatArray, n: int, residual: float, variance: float) -> None:
    for i in range(16):
        scratch[n, i] = 0.0
    scratch[n, 16], scratch[n, 17] = residual, variance


def _up(beliefs: FloatArray, row: int) -> exact.Three:
    """The world's vertical, seen from the body."""
    return exact.rotate(
        beliefs[row, 6], -beliefs[row, 7], -beliefs[row, 8], -beliefs[row, 9], 0.0, 0.0, 1.0
    )
