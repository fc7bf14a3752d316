"""Time a loop, print a table."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

REPETITIONS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """A name, seconds a call, and how many times the first row's cost that is."""

    name: str
    per_call_us: float
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
