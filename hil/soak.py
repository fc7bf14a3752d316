"""Flights in a loop, under seeded faults, each log judged: `make soak HOURS=n`. Stopped, it goes on
where it was; every flight can be flown again by its own command.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from ghost.core.errors import ConfigError, GhostError
from ghost.core.random import RandomSource
from ghost.deploy import (
    Order,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
)
from ghost.deploy.verified import verify_run
from ghost.verify.verdict import Result
from hil.troubles import troubled

ROBOTS = ("x500", "hexa", "crazyflie", "iris")
MISSIONS = ("hover", "square", "survey")
JOURNAL = "journal.jsonl"
MOST_GROWTH_MB = 8.0
MOST_DRIFT = 1.5
"""How much slower the last flights may be than the first."""
KEPT = 20
"""Logs of flights that went well; those of the others are all kept."""
FEWEST = 8
"""Flights, to say anything of growth and drift."""


@dataclass(frozen=True, slots=True)
class Flown:
    index: int
    robot: str
    mission: str
    outcome: str
    simulated_s: float
    wall_s: float
    problems: list[str]
    memory_mb: float
    threads: int
    files: int


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hil.soak",
        description="Fly missions in a loop under random, seeded faults, as fast as it goes; judge "
        "every log, and watch memory, threads, files and speed.",
        epilog="Ctrl-C ends it after the flight under way; the same command goes on. Exit code: 0 "
        "nothing wrong, 1 something was, 130 stopped before its time.",
    )
    parser.add_argument("--hours", type=float, default=1.0, help="of simulated time (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("runs/soak"), metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    try:
        return _soak(options.hours, options.out, options.seed)
    except GhostError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1


def _soak(hours: float, out: Path, seed: int) -> int:
    if not 0.0 < hours < 1e4:
        raise ConfigError(f"--hours is {hours}; expected above 0, and below 10000")
    is_over = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        is_over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    out.mkdir(parents=True, exist_ok=True)
    flown = read_journal(out / JOURNAL, seed)
    if flown:
        print(f"going on after {len(flown)} flights", flush=True)
    here = len(flown)
    while not is_over.is_set() and sum(one.simulated_s for one in flown) < hours * 3600.0:
        one = fly(out, seed, len(flown))
        with (out / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(json.dumps({"seed": seed, **asdict(one)}) + "\n")
        flown.append(one)
        print(_line(one), flush=True)
        _make_room(out, flown)
    problems = [f"flight {one.index}: {text}" for one in flown for text in one.problems]
    problems += drifts(flown[here:])
    for problem in problems:
        print(f"[FAIL] {problem}")
    hours_flown = sum(one.simulated_s for one in flown) / 3600.0
    worst = max((one.memory_mb for one in flown), default=0.0)
    print(
        f"{len(flown)} flights, {hours_flown:.2f} h simulated, {len(problems)} problems, "
        f"at most {worst:.0f} MB"
    )
    if problems:
        return 1
    return 130 if is_over.is_set() else 0


def fly(out: Path, seed: int, index: int) -> Flown:
    """Flight number index of that seed: always the same one."""
    lots = RandomSource(seed).child(f"flight/{index}")
    robot = ROBOTS[_pick(lots, "robot", len(ROBOTS))]
    mission = MISSIONS[_pick(lots, "mission", len(MISSIONS))]
    folder = out / f"flight-{index:05}"
    if folder.exists():  # it was under way when the soak was stopped
        shutil.rmtree(folder)
    folder.mkdir()
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(troubled(lots.child("troubles"), index)), encoding="utf-8")
    began_ns = time.monotonic_ns()
    order = Order(
        load_robot(robot),
        load_mission(find_shipped("missions", mission)),
        load_scenario(str(path)),
        folder / "run",
        "lightweight",
        reproduce=f"ghost deploy sim {robot} --mission {mission} --scenario {path}",
    )
    flight = SimulatedFlight(order).run()
    wall_s = (time.monotonic_ns() - began_ns) / 1e9
    verdicts = verify_run(folder / "run").verdicts
    problems = [str(verdict) for verdict in verdicts if verdict.result is Result.FAIL]
    return Flown(
        index,
        robot,
        mission,
        flight.outcome.result.name.lower(),
        flight.simulated_ns / 1e9,
        wall_s,
        problems,
        _memory_mb(),
        threading.active_count(),
        len(list(Path("/proc/self/fd").iterdir())),
    )


def drifts(flown: Sequence[Flown]) -> list[str]:
    """What grew from this process' first flights to its last."""
    if len(flown) < FEWEST:
        return []
    quarter = len(flown) // 4
    first, last = flown[quarter : 2 * quarter], flown[-quarter:]  # the very first fill caches
    told = []
    grown_mb = _median(last, "memory_mb") - _median(first, "memory_mb")
    if grown_mb > MOST_GROWTH_MB:
        told.append(f"memory grew by {grown_mb:.1f} MB over {len(flown)} flights")
    told += [
        f"{name} went from {_median(first, name):g} to {_median(last, name):g}"
        for name in ("threads", "files")
        if _median(last, name) > _median(first, name)
    ]
    slower = _slowness(last) / _slowness(first)
    if slower > MOST_DRIFT:
        told.append(f"a simulated second takes {slower:.2f} times as long as at the beginning")
    return told


def read_journal(path: Path, seed: int) -> list[Flown]:
    if not path.exists():
        return []
    entries: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:  # the last one, cut off
            break
    if any(entry.pop("seed") != seed for entry in entries):
        raise ConfigError(f"{path} is of another seed; give each its own --out")
    return [Flown(**entry) for entry in entries]


def _make_room(out: Path, flown: Sequence[Flown]) -> None:
    fine = [one.index for one in flown if not one.problems]
    for index in fine[:-KEPT]:
        shutil.rmtree(out / f"flight-{index:05}" / "run", ignore_errors=True)


def _pick(lots: RandomSource, label: str, count: int) -> int:
    return lots.child(label).integers(0, count)


def _line(one: Flown) -> str:
    mark = "FAIL" if one.problems else "PASS"
    speed = one.simulated_s / max(one.wall_s, 1e-9)
    return (
        f"[{mark}] {one.index:5} {one.robot:<10} {one.mission:<7} {one.outcome:<11} "
        f"{one.simulated_s:6.1f} s, {speed:5.1f}x, {one.memory_mb:.0f} MB"
    )


def _median(flown: Sequence[Flown], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in flown))


def _slowness(flown: Sequence[Flown]) -> float:
    return statistics.median(one.wall_s / one.simulated_s for one in flown if one.simulated_s)


def _memory_mb() -> float:
    """What is resident."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
