"""`ghost deploy`: fly a robot, in simulation or for real. The command alone decides which."""

import argparse
import re
import shlex
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ghost.cli.progress import Progress, print_summary, written_report
from ghost.core.errors import ConfigError
from ghost.deploy import (
    Order,
    RealFlight,
    Result,
    RunOrder,
    SimulatedFlight,
    find_shipped,
    load_mission,
    load_robot,
    load_scenario,
    recover_unfinished,
)

EXIT_CODES = {
    Result.COMPLETED: 0,
    Result.RUNNING: 1,
    Result.FAILED: 1,
    Result.ABORTED: 3,
    Result.INTERRUPTED: 4,
}


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
    _add_run(verbs)


def _add_run(verbs: Any) -> None:
    run = verbs.add_parser(
        "run",
        help="fly a mission on hardware",
        description="Fly a mission on the flight controller at the other end of a link, and leave "
        "a run folder with log and report. This is real: propellers turn once --allow-arming is "
        "given.",
        epilog="Exit code: 0 mission completed, 1 failed, 3 aborted, 4 interrupted, 130 after "
        "Ctrl-C, SIGTERM or SIGHUP: they hold, land or return, and close the log.",
    )
    run.add_argument("robot", metavar="ROBOT", help="such as x500; see `ghost robots list`")
    run.add_argument(
        "--link",
        action="append",
        required=True,
        metavar="URL",
        help="serial:///dev/ttyACM0:921600, udpin://0.0.0.0:14540, udpout://, tcpin://, tcpout://; "
        "may be given again",
    )
    run.add_argument(
        "--mission",
        metavar="NAME|FILE",
        default="hover",
        help="a shipped mission or a .yaml file (default: hover)",
    )
    run.add_argument(
        "--allow-arming",
        action="store_true",
        help="let the mission arm the motors; without it everything else is done",
    )
    run.add_argument(
        "--hil",
        action="store_true",
        help="the flight controller may be a simulated one; the run is marked as such",
    )
    run.add_argument(
        "--apply-params",
        action="store_true",
        help="set the flight-controller parameters that the robot demands, while disarmed, where "
        "they are otherwise; without it the flight is refused then",
    )
    run.add_argument(
        "--on-stop",
        choices=("land", "return"),
        help="what Ctrl-C and SIGTERM do after the vehicle holds (default: the robot's, or land)",
    )
    run.add_argument(
        "--signing-key",
        type=Path,
        metavar="FILE",
        help="sign with this key, and hear nothing that isn't; see `ghost fc sign --help`",
    )
    run.add_argument(
        "--system", type=int, metavar="ID", help="of the flight controller, where several are heard"
    )
    run.add_argument("--out", type=Path, metavar="DIR", help="the run folder (default: in runs/)")
    run.add_argument(
        "--robots", type=Path, action="append", default=[], metavar="DIR", help="a folder of robots"
    )
    run.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    robot = load_robot(options.robot, options.robots)
    mission = load_mission(find_shipped("missions", options.mission))
    kind = "hil" if options.hil else "real"
    out = options.out or _unused(Path("runs") / re.sub(r"[^\w.-]+", "_", f"{robot.name}-{kind}"))
    for folder in dict.fromkeys((Path("runs"), out.parent)):
        for line in recover_unfinished(folder):
            print(line, flush=True)
    words = ["ghost", "deploy", "run", options.robot, "--mission", options.mission]
    words += [word for link in options.link for word in ("--link", link)]
    words += [word for folder in options.robots for word in ("--robots", str(folder))]
    for flag in ("allow-arming", "hil", "apply-params"):
        words += [f"--{flag}"] if getattr(options, flag.replace("-", "_")) else []
    for flag in ("on-stop", "signing-key", "system"):
        value = getattr(options, flag.replace("-", "_"))
        words += [f"--{flag}", str(value)] if value is not None else []
    flight = RealFlight(
        RunOrder(
            robot,
            mission,
            tuple(options.link),
            out,
            options.allow_arming,
            options.hil,
            options.signing_key,
            options.system,
            options.apply_params,
            options.on_stop,
            shlex.join(words),
        )
    )
    handlers = {
        number: signal.signal(number, lambda *_: flight.request_landing())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    progress = Progress(f"{robot.name}: {mission.name}, {kind}")
    for check in flight.preflight():
        print(f"[{check.mark}] {check.name}: {check.detail}", flush=True)
    try:
        flight.refuse_unfit()
        flown = flight.run(_unless_hung_up(progress.show))
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)
        with suppress(OSError):
            progress.end(flight)
    report = written_report(flown.folder)
    with suppress(OSError):
        print_summary(flown, report)
    return 130 if flight.was_asked_to_land else EXIT_CODES[flown.outcome.result]


def _unless_hung_up(show: Callable[[RealFlight], None]) -> Callable[[RealFlight], None]:
    """A terminal that went away is no reason to stop flying."""
    is_there = True

    def show_or_not(flight: RealFlight) -> None:
        nonlocal is_there
        if is_there:
            try:
                show(flight)
            except OSError:
                is_there = False

    return show_or_not


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
    progress = Progress(f"{robot.name}: {mission.name}, {scenario.spec.name}")
    try:
        flown = flight.run(progress.show)
    finally:
        signal.signal(signal.SIGINT, before)
        progress.end(flight)
    print_summary(flown, written_report(flown.folder))
    return 130 if flight.was_asked_to_land else EXIT_CODES[flown.outcome.result]


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
