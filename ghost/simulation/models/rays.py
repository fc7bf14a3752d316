"""Directions that a sensor looks along, as rows of unit vectors."""

import numpy as np
from numpy.typing import NDArray

from ghost.core.exact import sine_cosine
from ghost.hal import Mount

FloatArray = NDArray[np.float64]

_RADIANS = np.pi / 180.0


def angles_rad(count: int, span_deg: float) -> FloatArray:
    """Evenly spread about straight ahead; a full turn doesn't meet its own beginning again."""
    if count == 1:
        return np.zeros(1)
    gaps = count if span_deg >= 360.0 else count - 1
    turns = np.arange(count, dtype=np.float64) * (span_deg / gaps)
    angles: FloatArray = (turns - 0.5 * span_deg) * _RADIANS
    return angles


def fan(azimuths_rad: FloatArray, elevations_rad: FloatArray) -> FloatArray:
    """A ray for each pair, row by row of elevation, in the sensor's axes."""
    around = [sine_cosine(angle) for angle in azimuths_rad.tolist()]
    upward = [sine_cosine(angle) for angle in elevations_rad.tolist()]
    return np.array(
        [[level * ahead, level * aside, rise] for rise, level in upward for aside, ahead in around]
    )


def in_body(mount: Mount, directions: FloatArray) -> FloatArray:
    return turned(np.array(mount.attitude), directions)


def in_world(
    body: FloatArray, origin_flu_m: FloatArray, directions_flu: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where rays of a body begin, and where they go."""
    attitude = body[6:10]
    begin_enu_m = body[:3] + turned(attitude, origin_flu_m[None, :])[0]
    return begin_enu_m, turned(attitude, directions_flu)


def turned(attitude: FloatArray, vectors: FloatArray) -> FloatArray:
    """Rows of vectors, turned. Axis by axis: a matrix product rounds otherwise on each machine."""
    w, x, y, z = attitude.tolist()
    vx, vy, vz = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return np.stack(
        (
            vx + w * tx + (y * tz - z * ty),
            vy + w * ty + (z * tx - x * tz),
            vz + w * tz + (x * ty - y * tx),
        ),
        axis=1,
    )
