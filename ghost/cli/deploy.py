"""`ghost deploy`: fly a robot, in simulation or for real. The command alone decides which."""

import argparse
import re
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError, GhostError
from ghost.deploy import (
    Flight,
    Order,
    Result,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
)
from ghost.report import write_report

EXIT_CODES = {
    Result.COMPLETED: 0,
    Result.FAILED: 1,
    Result.ABORTED: 3,
    Result.INTERRUPTED: 4,
}
REFRESH_NS = 100_000_000


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "deploy",
        help="fly a robot",
        description="Fly a robot. `deploy sim` is always a simulation, whatever the robot.",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    sim = verbs.add_parser(
        "sim",
        help="fly a mission in simulation",
        description="Fly a mission in simulation, and leave a run folder with log and report. A "
        "mission is what to do; a scenario is the wind, the faults and where it starts.",
        epilog="Ctrl-C lands and closes the log; pressed again, it closes the log at once. Exit "
        "code: 0 mission completed, 1 failed or refused, 3 aborted (the mission gave up and "
        "landed), 4 interrupted (a failsafe took over), 130 stopped by Ctrl-C.",
    )
    sim.add_argument("robot", metavar="ROBOT", help="such as x500; see `ghost robots list`")
    sim.add_argument(
        "--mission",
        metavar="NAME|FILE",
        default="square",
        help="a shipped mission (hover, square, survey) or a .yaml file (default: square)",
    )
    sim.add_argument(
        "--scenario",
        metavar="NAME|FILE",
        default="calm",
        help="a shipped scenario (calm, gusty, gps_outage, weak_motor) or a .yaml file "
        "(default: calm)",
    )
    sim.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="for noise and gusts: the same seed repeats the same flight (default: the scenario's)",
    )
    sim.add_argument(
        "--simulator", metavar="NAME", help="simulate with this one (default: the robot's own)"
    )
    sim.add_argument(
        "--world",
        metavar="NAME|FILE",
        help="a shipped world (empty, forest, room, warehouse) or a .yaml file, for a simulator "
        "that has room for it, such as pybullet (default: scenario's, or none)",
    )
    sim.add_argument(
        "--view",
        action="store_true",
        help="watch it in the simulator's window, in real time unless --realtime says otherwise; "
        "without a display, see `ghost render`",
    )
    sim.add_argument(
        "--realtime",
        type=float,
        nargs="?",
        const=1.0,
        metavar="FACTOR",
        help="fly in real time, or FACTOR times as fast (default: as fast as it goes)",
    )
    sim.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="the run folder to make (default: a new one in runs/, named after what is flown)",
    )
    sim.add_argument(
        "--robots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="look for robots in this folder, too; may be given again",
    )
    sim.set_defaults(run=_sim)


def _sim(options: argparse.Namespace) -> int:
    if options.realtime is not None and not options.realtime > 0.0:
        raise ConfigError(f"--realtime is {options.realtime}; expected above 0")
    robot = load_robot(options.robot, options.robots)
    mission = load_mission(find_shipped("missions", options.mission))
    scenario = load_scenario(options.scenario, options.seed, options.world)
    name = f"{robot.name}-{mission.name}-{scenario.spec.name}-seed{scenario.spec.seed}"
    out = options.out or _unused(Path("runs") / re.sub(r"[^\w.-]+", "_", name))
    flight = SimulatedFlight(
        Order(
            robot,
            mission,
            scenario,
            out,
            options.simulator,
            options.realtime or (1.0 if options.view else None),
            _command(options, scenario.spec.seed),
            options.view,
        )
    )
    before = signal.signal(signal.SIGINT, lambda *_: flight.request_landing())
    progress = _Progress(f"{robot.name}: {mission.name}, {scenario.spec.name}")
    try:
        flown = flight.run(progress.show)
    finally:
        signal.signal(signal.SIGINT, before)
        progress.end(flight)
    _print_summary(flown, _report(flown.folder))
    return 130 if flight.was_asked_to_land else EXIT_CODES[flown.outcome.result]


class _Progress:
    """On a terminal a line that is rewritten, and every event above it; else the events alone."""

    def __init__(self, title: str) -> None:
        print(title, flush=True)
        self._is_live = sys.stdout.isatty()
        self._shown_ns = 0
        self._started_ns = time.monotonic_ns()

    def show(self, flight: SimulatedFlight) -> None:
        self._tell(flight)
        now_ns = time.monotonic_ns()
        if self._is_live and now_ns - self._shown_ns >= REFRESH_NS:
            self._shown_ns = now_ns
            print(f"\r{self._line(flight, now_ns - self._started_ns)}", end="", flush=True)

    def end(self, flight: SimulatedFlight) -> None:
        self._clear()
        self._tell(flight)

    def _tell(self, flight: SimulatedFlight) -> None:
        for line in flight.take_news():
            self._clear()
            print(line, flush=True)

    def _line(self, flight: SimulatedFlight, wall_ns: int) -> str:
        simulated_ns = flight.clock.now_ns()
        state, status = flight.statistics.state, flight.statistics.status
        where = "no estimate yet"
        if state is not None:
            east_m, north_m, up_m = state.position_enu_m.tolist()
            where = f"{east_m:7.1f} E {north_m:7.1f} N {up_m:6.1f} m up"
        mode = status.mode.name if status else "-"
        battery = flight.statistics.charge
        charge = f"{battery:4.0%}" if battery is not None else "   -"
        speed = simulated_ns / max(wall_ns, 1)
        line = f"{simulated_ns / 1e9:8.2f} s  {mode:<8} {where}  battery {charge}  {speed:5.1f}x"
        return line[: shutil.get_terminal_size().columns - 1]

    def _clear(self) -> None:
        if self._is_live:
            print("\r\033[K", end="", flush=True)


def _report(folder: Path) -> str:
    """Where it is; a log that can't be read, or a full disk, leaves the summary as it is."""
    try:
        return str(write_report(folder))
    except (GhostError, OSError) as error:
        return f"none: {error}"


def _print_summary(flown: Flight, report: str) -> None:
    summary = flown.summary
    result = flown.outcome.result.name.lower()
    reason = flown.outcome.reason.removeprefix(f"{result}: ")
    landing = "-" if summary.landing_error_m is None else f"{summary.landing_error_m:.2f} m"
    flown_text = f"{summary.path_m:.1f} m in {summary.flown_ns / 1e9:.1f} s"
    extremes = f"up to {summary.highest_m:.1f} m and {summary.fastest_mps:.1f} m/s"
    tracking = f"{summary.tracking_rms_m:.3f} m rms, {summary.tracking_max_m:.3f} m at most"
    estimate = f"{summary.estimate_rms_m:.3f} m rms, {summary.estimate_max_m:.3f} m at most"
    times = f"{flown.simulated_ns / flown.wall_ns:.0f} times real time"
    rows = [
        ("outcome", f"{result}: {reason}" if reason else result),
        ("flown", f"{flown_text}, {extremes}"),
        ("tracking", f"{tracking}, off the set-point"),
        ("estimate", f"{estimate}, off the truth"),
        ("landed", f"{landing} from where it took off"),
        ("events", f"{summary.events}, of them {summary.warnings} warnings or worse"),
        ("speed", f"{flown.simulated_ns / 1e9:.1f} s in {flown.wall_ns / 1e9:.1f} s: {times}"),
        ("log", str(flown.folder / "log.mcap")),
        ("report", report),
    ]
    for name, text in rows:
        print(f"{name:<10} {text}")


def _command(options: argparse.Namespace, seed: int) -> str:
    words = ["ghost", "deploy", "sim", options.robot, "--mission", options.mission]
    words += ["--scenario", options.scenario, "--seed", str(seed)]
    if options.simulator:
        words += ["--simulator", options.simulator]
    if options.world:
        words += ["--world", options.world]
    for folder in options.robots:
        words += ["--robots", str(folder)]
    return shlex.join(words)


def _unused(folder: Path) -> Path:
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
