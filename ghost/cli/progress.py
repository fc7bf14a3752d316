"""What is told of a flight while it goes on, and when it is over."""

import math
import shutil
import sys
import time
from pathlib import Path

from ghost.core.errors import GhostError
from ghost.deploy import Flight, RealFlight, SimulatedFlight
from ghost.report import write_report

REFRESH_NS = 100_000_000

Flying = SimulatedFlight | RealFlight


class Progress:
    """On a terminal a line that is rewritten, and every event above it; else the events alone."""

    def __init__(self, title: str) -> None:
        print(title, flush=True)
        self._is_live = sys.stdout.isatty()
        self._shown_ns = 0
        self._started_ns = time.monotonic_ns()

    def show(self, flight: Flying) -> None:
        self._tell(flight)
        now_ns = time.monotonic_ns()
        if self._is_live and now_ns - self._shown_ns >= REFRESH_NS:
            self._shown_ns = now_ns
            print(f"\r{self._line(flight, now_ns - self._started_ns)}", end="", flush=True)

    def end(self, flight: Flying) -> None:
        self._clear()
        self._tell(flight)

    def _tell(self, flight: Flying) -> None:
        for line in flight.take_news():
            self._clear()
            print(line, flush=True)

    def _line(self, flight: Flying, wall_ns: int) -> str:
        simulated_ns = flight.clock.now_ns()
        state, status = flight.statistics.state, flight.statistics.status
        where = "no estimate yet"
        if state is not None:
            east_m, north_m, up_m = state.position_enu_m.tolist()
            where = f"{east_m:7.1f} E {north_m:7.1f} N {up_m:6.1f} m up"
        mode = status.mode.name if status else "-"
        battery = flight.statistics.charge
        charge = "   -" if battery is None or math.isnan(battery) else f"{battery:4.0%}"
        speed = simulated_ns / max(wall_ns, 1)
        line = f"{simulated_ns / 1e9:8.2f} s  {mode:<8} {where}  battery {charge}  {speed:5.1f}x"
        return line[: shutil.get_terminal_size().columns - 1]

    def _clear(self) -> None:
        if self._is_live:
            print("\r\033[K", end="", flush=True)


def written_report(folder: Path) -> str:
    """Where it is; a log that can't be read, or a full disk, leaves the summary as it is."""
    try:
        return str(write_report(folder))
    except (GhostError, OSError) as error:
        return f"none: {error}"


def print_summary(flown: Flight, report: str) -> None:
    summary = flown.summary
    result = flown.outcome.result.name.lower()
    reason = flown.outcome.reason.removeprefix(f"{result}: ")
    landing = "-" if summary.landing_error_m is None else f"{summary.landing_error_m:.2f} m"
    flown_text = f"{summary.path_m:.1f} m in {summary.flown_ns / 1e9:.1f} s"
    extremes = f"up to {summary.highest_m:.1f} m and {summary.fastest_mps:.1f} m/s"
    tracking = f"{summary.tracking_rms_m:.3f} m rms, {summary.tracking_max_m:.3f} m at most"
    estimate = []
    if summary.estimate_rms_m is not None:  # else nobody knew the truth
        told = f"{summary.estimate_rms_m:.3f} m rms, {summary.estimate_max_m:.3f} m at most"
        estimate = [("estimate", f"{told}, off the truth")]
    speed = []
    if flown.simulated_ns != flown.wall_ns:  # else it was flown for real
        times = f"{flown.simulated_ns / flown.wall_ns:.0f} times real time"
        spans = f"{flown.simulated_ns / 1e9:.1f} s in {flown.wall_ns / 1e9:.1f} s"
        speed = [("speed", f"{spans}: {times}")]
    rows = [
        ("outcome", f"{result}: {reason}" if reason else result),
        ("flown", f"{flown_text}, {extremes}"),
        ("tracking", f"{tracking}, off the set-point"),
        *estimate,
        ("landed", f"{landing} from where it took off"),
        ("events", f"{summary.events}, of them {summary.warnings} warnings or worse"),
        *speed,
        ("log", str(flown.folder / "log.mcap")),
        ("report", report),
    ]
    for name, text in rows:
        print(f"{name:<10} {text}")
