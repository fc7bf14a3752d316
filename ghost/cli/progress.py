"""What is told of a flight while it goes on, and when it is over."""

import math
import shutil
import sys
import time
from itertools import chain, repeat
from pathlib import Path

from ghost.core.errors import GhostError
from ghost.deploy import Flight, RealFlight, SimulatedFlight, Summary
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
        # The text of a mission that finished is its name; its kind says the rest.
        kinds = [event.kind for event in flight.statistics.news]
        endings = [" completed" if kind == "MISSION_FINISHED" else "" for kind in kinds]
        for line, ending in zip(flight.take_news(), chain(endings, repeat("")), strict=False):
            self._clear()
            print(f"{line}{ending}", flush=True)

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
    rows = [
        ("outcome", _outcome(flown)),
        ("flown", _flown(summary)),
        ("tracking", _tracking(summary)),
        ("estimate", _estimate(summary)),
        ("landed", summary.landing),
        ("events", f"{summary.events}, of them {summary.warnings} warnings or worse"),
        ("speed", _speed(flown)),
        ("log", str(flown.folder / "log.mcap")),
        ("report", report),
    ]
    for name, text in rows:
        if text:
            print(f"{name:<10} {text}")
    if summary.alarm:
        print(f"\n{summary.alarm}")


def _outcome(flown: Flight) -> str:
    if not flown.outcome.over:
        return "unfinished"
    result = flown.outcome.result.name.lower()
    reason = flown.outcome.reason.removeprefix(f"{result}: ")
    return f"{result}: {reason}" if reason else result


def _flown(summary: Summary) -> str:
    if not summary.was_airborne:
        return "not at all"
    far = f"{summary.path_m:.1f} m in {summary.flown_ns / 1e9:.1f} s"
    return f"{far}, up to {summary.highest_m:.1f} m and {summary.fastest_mps:.1f} m/s"


def _tracking(summary: Summary) -> str:
    if not summary.tracked_by:
        return ""
    far = f"{summary.tracking_rms_m:.3f} m rms, {summary.tracking_max_m:.3f} m at most"
    by = "" if summary.tracked_by == "truth" else f", by the {summary.tracked_by}"
    return f"{far}, off the set-point{by}"


def _estimate(summary: Summary) -> str:
    if summary.estimate_rms_m is None:  # nobody knew the truth
        return ""
    far = f"{summary.estimate_rms_m:.3f} m rms, {summary.estimate_max_m:.3f} m at most"
    return f"{far}, off the truth"


def _speed(flown: Flight) -> str:
    if flown.simulated_ns == flown.wall_ns:  # it was flown for real
        return ""
    times = f"{flown.simulated_ns / flown.wall_ns:.0f} times real time"
    return f"{flown.simulated_ns / 1e9:.1f} s in {flown.wall_ns / 1e9:.1f} s: {times}"
