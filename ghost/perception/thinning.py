"""Fewer points, and never without the nearest: an obstacle must not fall through the sieve."""

import math

import numpy as np
from numpy.typing import NDArray

from ghost.hal.message import Ranges

MOST_POINTS = 500
_CELLS_PER_SIDE = 9
_FACE = _CELLS_PER_SIDE * _CELLS_PER_SIDE

Indices = NDArray[np.intp]


class Grid:
    """Cells of an image, square and as small as MOST_POINTS allows. A scan is an image one high."""

    def __init__(self, height: int, width: int) -> None:
        side = next(
            side
            for side in range(1, height + width)
            if math.ceil(height / side) * math.ceil(width / side) <= MOST_POINTS
        )
        rows, columns = math.ceil(height / side), math.ceil(width / side)
        # Cells at the edge that stick out of the image point one beyond its last pixel.
        pixels = np.full((rows * side, columns * side), height * width)
        pixels[:height, :width] = np.arange(height * width).reshape(height, width)
        cells = pixels.reshape(rows, side, columns, side).transpose(0, 2, 1, 3)
        self._pixels = cells.reshape(rows * columns, side * side)
        self._first = np.arange(rows * columns) * (side * side)

    def nearest(self, distances_m: Ranges) -> Indices:
        """The pixel of each cell with the least distance; none where all are infinite."""
        padded = np.append(distances_m, math.inf)
        winners = self._pixels.take(self._first + padded[self._pixels].argmin(axis=1))
        found: Indices = winners[padded[winners] < math.inf]
        return found


def nearest_by_direction(points_m: Ranges, distances_m: Ranges) -> Indices:
    """The nearest point of each direction: a cell on a cube around the sensor.

    A point at the sensor itself has no direction, and counts as straight ahead.
    """
    if len(points_m) <= MOST_POINTS:
        return np.arange(len(points_m))
    sizes_m = np.abs(points_m)
    axis = sizes_m.argmax(axis=1)
    every = np.arange(len(points_m))
    along_m = points_m[every, axis]
    side = along_m < 0.0
    scale = 0.5 * _CELLS_PER_SIDE / np.maximum(sizes_m[every, axis], 1e-9)
    cell = (2 * axis + side) * _FACE
    for offset, stride in ((1, 1), (2, _CELLS_PER_SIDE)):
        across = points_m[every, (axis + offset) % 3] * scale + 0.5 * _CELLS_PER_SIDE
        cell += np.minimum(across.astype(np.intp), _CELLS_PER_SIDE - 1) * stride
    best_m = np.full(6 * _FACE, math.inf)
    np.minimum.at(best_m, cell, distances_m)
    (candidates,) = (distances_m <= best_m[cell]).nonzero()
    _, first = np.unique(cell[candidates], return_index=True)
    found: Indices = candidates[first]
    return found
