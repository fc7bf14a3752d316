"""Functions of a few floats that give the same bits on every machine: only + - * / and sqrt.

libm's sine and exponential differ in the last bit from one machine to the next, and a simulated
flight must not. This module is a kernel (docs/adr/0008-kernels.md): plain Python, compiled where
there is a compiler, with the same results either way.
"""

import math

Three = tuple[float, float, float]
Four = tuple[float, float, float, float]


def sine_cosine(angle_rad: float) -> tuple[float, float]:
    """Good to the last bits for angles up to a million; for larger ones to fewer."""
    turns = math.floor(angle_rad * 0.6366197723675814 + 0.5)  # in quarters
    # pi / 2 in three parts, the first two of 33 bits, so that their products here are exact.
    rest = angle_rad - turns * 1.5707963267341256
    rest -= turns * 6.077100506303966e-11
    rest -= turns * 2.0222662487959506e-21
    square = rest * rest
    sine = -7.647163731819816e-13 * square + 1.6059043836821613e-10
    sine = (sine * square + -2.505210838544172e-08) * square + 2.7557319223985893e-06
    sine = (sine * square + -1.984126984126984e-04) * square + 8.333333333333333e-03
    sine = (sine * square + -1.6666666666666666e-01) * (square * rest) + rest
    cosine = 4.779477332387385e-14 * square + -1.1470745597729725e-11
    cosine = (cosine * square + 2.08767569878681e-09) * square + -2.755731922398589e-07
    cosine = (cosine * square + 2.48015873015873e-05) * square + -1.388888888888889e-03
    cosine = (cosine * square + 4.1666666666666664e-02) * square + -0.5
    cosine = cosine * square + 1.0
    quarter = turns - 4.0 * math.floor(turns * 0.25)
    if quarter == 0.0:
        return sine, cosine
    if quarter == 1.0:
        return cosine, -sine
    if quarter == 2.0:
        return -sine, -cosine
    return -cosine, sine


def arctangent2(y: float, x: float) -> float:
    """The angle of (x, y), from -pi to pi, by the rational function of Cephes' atan.c."""
    size_x, size_y = abs(x), abs(y)
    is_steep = size_y > size_x
    near = size_x if is_steep else size_y
    far = size_y if is_steep else size_x
    angle_rad = 0.0
    if far > 0.0:
        is_wide = near > 0.66 * far
        ratio = (near - far) / (near + far) if is_wide else near / far
        square = ratio * ratio
        top = -8.750608600031904122785e-1 * square + -1.615753718733365076637e1
        top = (top * square + -7.500855792314704667340e1) * square + -1.228866684490136173410e2
        top = top * square + -6.485021904942025371773e1
        bottom = (square + 2.485846490142306297962e1) * square + 1.650270098316988542046e2
        bottom = (bottom * square + 4.328810604912902668951e2) * square + 4.853903996359136964868e2
        bottom = bottom * square + 1.945506571482613964425e2
        angle_rad = (0.7853981633974483 if is_wide else 0.0) + (
            ratio * (square * top / bottom) + ratio
        )
    if is_steep:
        angle_rad = 1.5707963267948966 - angle_rad
    if x < 0.0:
        angle_rad = 3.141592653589793 - angle_rad
    return math.copysign(angle_rad, y)


def exponential(exponent: float) -> float:
    """Of a number between -700 and 700."""
    doublings = math.floor(exponent * 1.4426950408889634 + 0.5)
    rest = exponent - doublings * 0.6931471804855391
    rest -= doublings * 7.440617110012397e-11
    total = 1.0
    for divisor in range(14, 0, -1):
        total = 1.0 + total * rest / divisor
    return math.ldexp(total, int(doublings))


def logarithm(value: float) -> float:
    """Natural, of a positive finite number, by the polynomial of fdlibm's e_log.c."""
    doublings = 0.0
    if value < 2.2250738585072014e-308:
        value, doublings = value * 18014398509481984.0, -54.0
    step = 512
    while step > 0:  # frexp takes a pointer in C, so halve by hand
        factor = math.ldexp(1.0, step)
        if value >= factor:
            value, doublings = value / factor, doublings + step
        elif value * factor < 2.0:
            value, doublings = value * factor, doublings - step
        step //= 2
    if value > 1.4142135623730951:
        value, doublings = 0.5 * value, doublings + 1.0
    rest = value - 1.0
    ratio = rest / (2.0 + rest)
    square = ratio * ratio
    fourth = square * square
    odd = 1.479819860511658591e-1 * fourth + 1.818357216161805012e-1
    odd = (odd * fourth + 2.857142874366239149e-1) * fourth + 6.666666666666735130e-1
    even = 1.531383769920937332e-1 * fourth + 2.222219843214978396e-1
    even = (even * fourth + 3.999999999940941908e-1) * fourth
    half_square = 0.5 * rest * rest
    series = ratio * (half_square + (square * odd + even))
    low = series + doublings * 1.90821492927058770002e-10
    return doublings * 6.93147180369123816490e-1 - ((half_square - low) - rest)


def power(base: float, exponent: float) -> float:
    """Of a positive base; the further from 1 the result, the more of its last bits are lost."""
    return exponential(exponent * logarithm(base))


def multiply(
    lw: float, lx: float, ly: float, lz: float, rw: float, rx: float, ry: float, rz: float
) -> Four:
    """The rotation r, then the rotation l."""
    return (
        lw * rw - lx * rx - ly * ry - lz * rz,
        lw * rx + lx * rw + ly * rz - lz * ry,
        lw * ry - lx * rz + ly * rw + lz * rx,
        lw * rz + lx * ry - ly * rx + lz * rw,
    )


def rotate(w: float, x: float, y: float, z: float, vx: float, vy: float, vz: float) -> Three:
    """A body vector, seen from the world; for the way back give -x, -y, -z."""
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + (y * tz - z * ty),
        vy + w * ty + (z * tx - x * tz),
        vz + w * tz + (x * ty - y * tx),
    )


def turned(w: float, x: float, y: float, z: float, rx: float, ry: float, rz: float) -> Four:
    """The attitude after a further body rotation of less than a turn, of unit length."""
    square = 0.25 * (rx * rx + ry * ry + rz * rz)
    if square < 1e-4:
        cosine = 1.0 + square * (-0.5 + square * (1.0 / 24.0 - square * (1.0 / 720.0)))
        half_sinc = 0.5 * (1.0 + square * (-1.0 / 6.0 + square * (1.0 / 120.0)))
    else:
        half_rad = math.sqrt(square)
        sine, cosine = sine_cosine(half_rad)
        half_sinc = 0.5 * sine / half_rad
    tw, tx, ty, tz = multiply(w, x, y, z, cosine, half_sinc * rx, half_sinc * ry, half_sinc * rz)
    scale = 1.0 / math.sqrt(tw * tw + tx * tx + ty * ty + tz * tz)
    return tw * scale, tx * scale, ty * scale, tz * scale
