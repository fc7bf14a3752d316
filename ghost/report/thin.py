"""Fewer points, the same picture: every peak survives, and so does every gap."""

import numpy as np

from ghost.report.flight import FloatArray, IntArray

LIMIT = 1500


def thinned(values: FloatArray, limit: int = LIMIT) -> IntArray:
    """The rows to draw: ends, the least and largest of each bucket, and a NaN where one had any."""
    count = len(values)
    if count <= limit:
        return np.arange(count)
    has_gaps = not np.isfinite(values).all()
    width = -(-count // ((limit - 2) // (3 if has_gaps else 2)))
    buckets = -(-count // width)
    padded = np.full(buckets * width, np.nan)
    padded[:count] = values
    table = padded.reshape(buckets, width)
    finite = np.isfinite(table)
    kept = [
        np.where(finite, table, np.inf).argmin(axis=1),
        np.where(finite, table, -np.inf).argmax(axis=1),
    ]
    if has_gaps:
        kept.append(finite.argmin(axis=1))
    starts = np.arange(buckets) * width
    rows = np.concatenate([[0, count - 1], *(starts + column for column in kept)])
    return np.unique(rows[rows < count]).astype(np.int64)


def thinned_path(east_px: FloatArray, north_px: FloatArray, limit: int = LIMIT) -> IntArray:
    """The rows of a drawn path that lie a visible distance apart; gaps and the end stay."""
    closest_px = 0.4
    rows = _apart(east_px, north_px, closest_px)
    while len(rows) > limit and closest_px < 100.0:
        closest_px *= 1.5
        rows = _apart(east_px, north_px, closest_px)
    return np.array(rows, dtype=np.int64)


def _apart(east_px: FloatArray, north_px: FloatArray, closest_px: float) -> list[int]:
    rows: list[int] = []
    last_east = last_north = np.inf
    in_gap = True
    for row, (east, north) in enumerate(zip(east_px.tolist(), north_px.tolist(), strict=True)):
        if not (np.isfinite(east) and np.isfinite(north)):
            if not in_gap:
                rows.append(row)
            in_gap = True
            continue
        if in_gap or abs(east - last_east) + abs(north - last_north) >= closest_px:
            rows.append(row)
            last_east, last_north = east, north
        in_gap = False
    if len(east_px) and (not rows or rows[-1] != len(east_px) - 1):
        rows.append(len(east_px) - 1)
    return rows
