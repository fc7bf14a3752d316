"""How much of thrust, roll, pitch and yaw torque each rotor gives, from where it stands."""

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.hal.airframe import Airframe

FloatArray = NDArray[np.float64]


def allocate(airframe: Airframe) -> FloatArray:
    """A row per rotor: its thrust for a newton of lift and a newton metre about each body axis.

    The pseudo-inverse of the rotors' effects, which spreads the load most evenly.
    """
    effects = [_effect(airframe, index) for index in range(len(airframe.rotors))]
    normal = [
        [_added([effect[row] * effect[column] for effect in effects]) for column in range(4)]
        for row in range(4)
    ]
    inverse = _inverted(normal)
    shares = np.array(
        [
            [_added([effect[k] * inverse[k][column] for k in range(4)]) for column in range(4)]
            for effect in effects
        ]
    )
    if not (shares[:, 0] > 0.0).all():
        raise ConfigError(
            "some rotor would have to push down to hover; expected the mass between the rotors"
        )
    return shares


def _effect(airframe: Airframe, index: int) -> tuple[float, float, float, float]:
    """Lift and torque of one newton of a rotor's thrust."""
    rotor = airframe.rotors[index]
    (x, y, z), (ax, ay, az) = rotor.position_flu_m, rotor.axis_flu
    reaction_m = -rotor.direction * rotor.torque_per_thrust_m
    return (
        az,
        y * az - z * ay + reaction_m * ax,
        z * ax - x * az + reaction_m * ay,
        x * ay - y * ax + reaction_m * az,
    )


def _added(terms: list[float]) -> float:
    total = 0.0
    for term in terms:  # sum() rounds otherwise since Python 3.12
        total += term
    return total


def _inverted(matrix: list[list[float]]) -> list[list[float]]:
    """Gauss and Jordan, with pivots: BLAS would give other bits on other machines."""
    size = len(matrix)
    rows = [
        [*row, *(1.0 if column == index else 0.0 for column in range(size))]
        for index, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        if abs(rows[pivot][column]) < 1e-12:
            axis = ("thrust", "roll", "pitch", "yaw")[column]
            raise ConfigError(f"the rotors can't control {axis}; check their places and directions")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = rows[column][column]
        rows[column] = [value / scale for value in rows[column]]
        for row in range(size):
            if row != column:
                factor = rows[row][column]
                rows[row] = [
                    value - factor * base
                    for value, base in zip(rows[row], rows[column], strict=True)
                ]
    return [row[size:] for row in rows]
