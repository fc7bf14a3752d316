"""Where values lie on paper, and the round numbers beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ghost.report.flight import FloatArray, IntArray

_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from low to high, drawn from start_px to end_px."""

    low: float
    high: float
    start_px: float
    end_px: float

    def px(self, values: FloatArray) -> FloatArray:
        share = (values - self.low) / (self.high - self.low)
        return self.start_px + share * (self.end_px - self.start_px)

    def at(self, value: float) -> float:
        return float(self.px(np.array(value)))


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The axis that all time charts share; shades are the spans to tint, so that steps line up."""

    start_ns: int
    end_ns: int
    width_px: float
    shades: tuple[tuple[int, int], ...] = ()

    def px(self, stamp_ns: IntArray) -> FloatArray:
        return (stamp_ns - self.start_ns) / max(1, self.end_ns - self.start_ns) * self.width_px

    def at(self, stamp_ns: int) -> float:
        return float(self.px(np.array(stamp_ns)))

    def ticks(self, most: int = 12) -> list[tuple[int, str]]:
        """Stamps on whole seconds and what to write there."""
        span_s = (self.end_ns - self.start_ns) / 1e9
        step_s = next((step for step in _TIME_STEPS_S if span_s / step <= most), 0)
        step_s = step_s or math.ceil(span_s / most / 3600) * 3600
        first = math.ceil(self.start_ns / 1e9 / step_s)
        last = math.floor(self.end_ns / 1e9 / step_s)
        return [
            (tick * step_s * 1_000_000_000, clock_text(tick * step_s, in_minutes=span_s > 120))
            for tick in range(first, last + 1)
        ]


def clock_text(seconds: int, *, in_minutes: bool) -> str:
    return f"{seconds // 60}:{seconds % 60:02d}" if in_minutes else f"{seconds}"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between low and high: about as many as asked for, and no fewer than three."""
    found = ticks_every(tick_step(low, high, most), low, high)
    while len(found) < 3:
        most += 1
        found = ticks_every(tick_step(low, high, most), low, high)
    return found


def ticks_every(step: float, low: float, high: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(tick * step, 12) for tick in range(first, last + 1)]


def tick_step(low: float, high: float, most: int) -> float:
    """1, 2 or 5 times a power of ten."""
    least = (high - low) / most * (1.0 - 1e-9)
    decade = 10.0 ** math.floor(math.log10(least))
    return next(step for factor in (1, 2, 5, 10) if (step := factor * decade) >= least)


def tick_texts(values: Sequence[float]) -> list[str]:
    """With as many decimals as the finest of them needs, and a true minus."""
    decimals = next(
        (count for count in range(7) if all(abs(v - round(v, count)) < 1e-9 for v in values)), 7
    )
    return [f"{value + 0.0:.{decimals}f}".replace("-", "\N{MINUS SIGN}") for value in values]


def domain(
    series: Sequence[FloatArray], *, least_span: float, margin: float = 0.06
) -> tuple[float, float]:
    """From the least to the largest finite value, no narrower than makes sense, with some air."""
    finite = [values[np.isfinite(values)] for values in series]
    low = min((float(values.min()) for values in finite if values.size), default=0.0)
    high = max((float(values.max()) for values in finite if values.size), default=0.0)
    least_span = max(least_span, 1e-9 * max(abs(low), abs(high)))  # or rounding would eat it
    missing = max(0.0, least_span - (high - low))
    air = margin * max(high - low, least_span)
    return low - missing / 2 - air, high + missing / 2 + air
