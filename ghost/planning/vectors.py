"""Arithmetic on three floats: the same bits on every machine, and quicker than numpy on so few."""

import math

Vector = tuple[float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)


def plus(left: Vector, right: Vector, times: float = 1.0) -> Vector:
    """One vector, and another so many times."""
    return (
        left[0] + times * right[0],
        left[1] + times * right[1],
        left[2] + times * right[2],
    )


def minus(left: Vector, right: Vector) -> Vector:
    return (left[0] - right[0], left[1] - right[1], left[2] - right[2])


def times(vector: Vector, factor: float) -> Vector:
    return (vector[0] * factor, vector[1] * factor, vector[2] * factor)


def dot(left: Vector, right: Vector) -> float:
    return left[0] * right[0] + left[1] * right[1] + left[2] * right[2]


def length(vector: Vector) -> float:
    return math.sqrt(dot(vector, vector))


def horizontal(vector: Vector) -> float:
    """The length of the shadow on the ground."""
    return math.sqrt(vector[0] * vector[0] + vector[1] * vector[1])


def distance(left: Vector, right: Vector) -> float:
    return length(minus(left, right))
