"""Time a loop, print tables."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

REPETITIONS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A name, seconds a call, and how many times the first row's cost that is."""

    name: str
    per_call_us: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """A name, how long each answer took, and the CPU time that one answer cost."""

    name: str
    latencies_us: Sequence[float]
    cpu_us: float
    note: str = ""


def per_call_us(loop: Callable[[int], object], calls: int) -> float:
    """The best of several repetitions: the least disturbed one."""
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.process_time_ns()
        loop(calls)
        best = min(best, (time.process_time_ns() - start) / calls / 1e3)
    return best


def print_table(title: str, rows: Sequence[Row]) -> None:
    width = max(len(row.name) for row in rows)
    print(f"\n{title}\n  {'':<{width}}  {'us CPU':>8}  {'ratio':>6}")
    for row in rows:
        ratio = row.per_call_us / rows[0].per_call_us
        print(f"  {row.name:<{width}}  {row.per_call_us:8.3f}  {ratio:6.2f}  {row.note}")


def print_latencies(title: str, rows: Sequence[LatencyRow]) -> None:
    """Jitter is the standard deviation; the ratio is of the 99th percentiles."""
    width = max(len(row.name) for row in rows)
    heads = ("p50 us", "p99 us", "max us", "jitter", "us CPU")
    print(f"\n{title}\n  {'':<{width}}  {'  '.join(f'{head:>7}' for head in heads)}  p99 ratio")
    first_p99_us = float(np.percentile(rows[0].latencies_us, 99))
    for row in rows:
        p50_us, p99_us, most_us = np.percentile(row.latencies_us, (50, 99, 100)).tolist()
        figures = (p50_us, p99_us, most_us, float(np.std(row.latencies_us)), row.cpu_us)
        shown = "  ".join(f"{figure:7.0f}" for figure in figures)
        print(f"  {row.name:<{width}}  {shown}  {p99_us / first_p99_us:9.2f}  {row.note}")
