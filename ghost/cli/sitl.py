"""`ghost sitl`: vehicles that ground stations and MAVSDK can fly, one or many."""

import argparse
import shlex
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from ghost.cli.swarm_table import SwarmTable
from ghost.core.errors import ConfigError
from ghost.deploy import (
    PortPlan,
    Swarm,
    Unlockstepped,
    find_shipped,
    load_mission,
    load_scenario,
    load_swarm,
    load_swarm_mission,
    parse_time,
    read_layout,
)


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "sitl",
        help="simulate vehicles that ground stations and MAVSDK can fly",
        description="Simulate vehicles, each with its own autopilot, and let them speak MAVLink as "
        "PX4 does, so that QGroundControl, MAVSDK or a companion computer can fly them; or let "
        "them fly missions by themselves, in lockstep and repeatably.",
        epilog="Vehicle N is MAVLink system N; it speaks to UDP 14540+N-1 (offboard) and 14550+N-1 "
        "(ground station). Ctrl-C ends it. Exit code: 0, or 1 when a vehicle was lost or a mission "
        "did not complete.",
    )
    _add_who(parser)
    _add_how(parser)
    _add_links(parser)
    parser.set_defaults(run=_sitl)


def _add_who(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        nargs="?",
        help="such as x500; see `ghost robots list`; or swarm.yaml, a file of different ones",
    )
    parser.add_argument("--robot", dest="robot_too", metavar="ROBOT", help="the same as ROBOT")
    parser.add_argument(
        "--vehicles", type=int, metavar="N", help="how many of them (default: 1, 254 at most)"
    )
    parser.add_argument(
        "--layout",
        metavar="grid|circle|FILE",
        help="how they stand: a grid, a circle, or a .yaml file with a place for each "
        "(default: grid)",
    )
    parser.add_argument(
        "--spacing", type=float, metavar="M", help="between neighbours (default: 5 m)"
    )
    parser.add_argument(
        "--system", type=int, metavar="ID", help="id of the first vehicle (default: 1)"
    )
    parser.add_argument(
        "--simulator", metavar="NAME", help="simulate with this one (default: the robot's own)"
    )
    parser.add_argument(
        "--firmware",
        choices=("embedded", "px4"),
        help="what flies: Ghost's embedded autopilot, or real PX4s that take Ghost's physics for "
        "their sensors (found through GHOST_PX4, a folder with bin/px4 and etc, or Docker)",
    )
    parser.add_argument(
        "--robots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="look for robots in this folder, too; may be given again",
    )


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--time",
        metavar="lockstep|realtime|scaled:F",
        help="lockstep: as fast as everybody can, repeatable; realtime: by the wall clock; "
        "scaled:5: five times that (default: lockstep with a mission, else realtime)",
    )
    parser.add_argument(
        "--let-follow",
        action="store_true",
        help="allow in lockstep a simulator that keeps its own time; the run is not repeatable",
    )
    parser.add_argument(
        "--mission",
        metavar="NAME|FILE",
        help="what each vehicle flies, from where it stands (default: it waits for MAVLink)",
    )
    parser.add_argument(
        "--formation",
        metavar="NAME|FILE",
        help="a mission of the whole swarm, such as crossing; see docs/swarm-missions.md",
    )
    parser.add_argument(
        "--scenario", metavar="NAME|FILE", default="calm", help="wind and faults (default: calm)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="default: the scenario's")
    parser.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="end after so much simulated time (default: when missions are over, or never)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep logs in this new folder (default: no logs)"
    )


def _add_links(parser: argparse.ArgumentParser) -> None:
    plan = PortPlan()
    parser.add_argument(
        "--mavlink",
        action="store_true",
        help="speak MAVLink (always so without a mission)",
    )
    parser.add_argument(
        "--offboard-port",
        type=int,
        default=plan.offboard,
        metavar="PORT",
        help="vehicle 1's; the others follow (default: %(default)s)",
    )
    parser.add_argument(
        "--ground-station-port",
        type=int,
        default=plan.ground_station,
        metavar="PORT",
        help="vehicle 1's; the others follow (default: %(default)s)",
    )
    parser.add_argument(
        "--host",
        default=plan.host,
        help="to whom they speak (default: %(default)s)",
    )
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="URL",
        help="one vehicle's link in the place of these two, such as tcpin://0.0.0.0:5760 or "
        "serial:///dev/ttyUSB0:921600; may be given again",
    )
    parser.add_argument(
        "--shared",
        metavar="URL",
        help="one link for all vehicles, told apart by their system ids, such as "
        "udpout://127.0.0.1:14550",
    )
    parser.add_argument(
        "--signing-key",
        type=Path,
        metavar="FILE",
        help="have this MAVLink signing key from the start (default: none, until a client gives "
        "one)",
    )


def _sitl(options: argparse.Namespace) -> int:
    swarm = _from_file(options) if _is_file(options.robot) else _from_options(options)
    if options.formation:
        if options.mission:
            raise ConfigError("--mission is of each and --formation of all; leave one of them out")
        swarm.formation = load_swarm_mission(find_shipped("swarms", options.formation))
    table = SwarmTable(swarm)
    is_over = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        is_over.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with swarm:
            swarm.start()
            table.begin()
            end_ns = None if options.duration is None else round(options.duration * 1e9)

            def ends() -> bool:
                table.show()
                if end_ns is not None and swarm.now_ns >= end_ns:
                    return True
                return is_over.is_set() or swarm.is_done

            swarm.run(ends)
            table.end()
            return 0 if swarm.went_well else 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_file(source: str | None) -> bool:
    return source is not None and source.endswith((".yaml", ".yml"))


def _from_file(options: argparse.Namespace) -> Swarm:
    for name in ("robot_too", "vehicles", "layout", "spacing", "system", "simulator", "firmware"):
        if getattr(options, name) is not None:
            flag = "robot" if name == "robot_too" else name
            raise ConfigError(f"--{flag} is said in {options.robot}; leave one of them out")
    return load_swarm(
        Path(options.robot),
        time=options.time,
        seed=options.seed,
        out=options.out,
        robots=options.robots,
        signing_key=options.signing_key,
        mavlink=_ports(options) if options.mavlink else None,
        shared=options.shared,
        reproduce=_command(options),
    )


def _from_options(options: argparse.Namespace) -> Swarm:
    if options.robot is None and options.robot_too is None:
        raise ConfigError("no robot is given; `ghost robots list` lists them")
    if None not in (options.robot, options.robot_too):
        raise ConfigError("ROBOT and --robot are both given; leave one of them out")
    count = 1 if options.vehicles is None else options.vehicles
    first = 1 if options.system is None else options.system
    if count < 1:
        raise ConfigError(f"--vehicles is {count}; expected 1 or more")
    has_mission = bool(options.mission or options.formation)
    speaks = (options.mavlink or not has_mission) and options.firmware != "px4"
    mission = load_mission(find_shipped("missions", options.mission)) if options.mission else None
    swarm = Swarm(
        scenario=load_scenario(options.scenario, options.seed),
        time_plan=parse_time(
            options.time or ("lockstep" if has_mission else "realtime"),
            has_links=speaks or options.firmware == "px4",
        ),
        out=options.out,
        reproduce=_command(options),
        robots=options.robots,
        signing_key=options.signing_key,
        unlockstepped=Unlockstepped.FOLLOW if options.let_follow else Unlockstepped.REFUSE,
        shared_link=options.shared,
    )
    spacing = {} if options.spacing is None else {"spacing_m": options.spacing}
    places = read_layout(options.layout or "grid", count, **spacing)
    ports, numbers = _ports(options), range(first, first + count)
    if options.link and count > 1:
        raise ConfigError("--link is one vehicle's; for several, see --shared and --offboard-port")
    if speaks and not options.link and not options.shared:
        ports.check(numbers)
    for number, place in zip(numbers, places, strict=True):
        own_links = tuple(options.link) or (() if options.shared else ports.links(number))
        swarm.spawn(
            options.robot or options.robot_too,
            vehicle_id=number,
            place=place,
            simulator=options.simulator,
            firmware=options.firmware or "embedded",
            mission=mission,
            links=own_links if speaks else (),
        )
    return swarm


def _ports(options: argparse.Namespace) -> PortPlan:
    return PortPlan(options.offboard_port, options.ground_station_port, options.host)


def _command(options: argparse.Namespace) -> str:
    words = ["ghost", "sitl", options.robot or options.robot_too or ""]
    for name in ("vehicles", "layout", "spacing", "system", "simulator", "firmware", "time"):
        value = getattr(options, name)
        words += [f"--{name}", str(value)] if value is not None else []
    for name in ("mission", "formation", "scenario", "seed", "duration"):
        value = getattr(options, name)
        words += [f"--{name}", str(value)] if value is not None else []
    for folder in options.robots:
        words += ["--robots", str(folder)]
    return shlex.join(words)
