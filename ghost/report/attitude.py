"""Stacks of attitudes as angles for the eye."""

from collections.abc import Sequence

import numpy as np

from ghost.report.flight import FloatArray, IntArray

Angles = tuple[str, IntArray, FloatArray]


def degrees_zyx(attitude: FloatArray) -> FloatArray:
    """Roll, pitch and yaw in columns. NaN in gives NaN out, which a lone conversion refuses."""
    w, x, y, z = attitude.T
    sine = np.clip(2.0 * (w * y - z * x), -1.0, 1.0)
    angles = (
        np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        np.arcsin(sine),
        np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
    )
    degrees: FloatArray = np.degrees(np.stack(angles, axis=1))
    return degrees


def on_the_same_turn(series: Sequence[Angles]) -> list[Angles]:
    """Without jumps at 180 degrees: the first runs on, the others take the turn next to it."""
    if not series:
        return []
    _, reference_ns, reference = series[0]
    finite = np.isfinite(reference)
    if not finite.any():
        return list(series)
    steady = np.unwrap(reference[finite], period=360.0)
    return [
        (name, stamp_ns, degrees + 360.0 * _turns(degrees, stamp_ns, reference_ns[finite], steady))
        for name, stamp_ns, degrees in series
    ]


def _turns(
    degrees: FloatArray, stamp_ns: IntArray, steady_ns: IntArray, steady: FloatArray
) -> FloatArray:
    turns: FloatArray = np.round((np.interp(stamp_ns, steady_ns, steady) - degrees) / 360.0)
    return turns
