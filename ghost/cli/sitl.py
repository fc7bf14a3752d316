"""`ghost sitl`: the embedded autopilot as a MAVLink vehicle, in real time."""

import argparse
from pathlib import Path
from typing import Any

from ghost.deploy import load_robot
from ghost.deploy.sitl import Sitl, SitlOrder, default_links, stop_on_signals


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "sitl",
        help="simulate a vehicle that ground stations and MAVSDK can fly",
        description="Simulate a robot in real time and let it speak MAVLink as PX4 does, so that "
        "QGroundControl, MAVSDK or a companion computer can fly it.",
        epilog="Ctrl-C ends it.",
    )
    parser.add_argument("robot", metavar="ROBOT", help="such as x500; see `ghost robots list`")
    parser.add_argument(
        "--simulator", metavar="NAME", help="simulate with this one (default: the robot's own)"
    )
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="URL",
        help="where to speak MAVLink, such as tcpin://0.0.0.0:5760 or "
        "serial:///dev/ttyUSB0:921600; may be given again "
        f"(default: {' and '.join(default_links(1))})",
    )
    parser.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="times real time (default: %(default)g)",
    )
    parser.add_argument(
        "--system", type=int, default=1, metavar="ID", help="MAVLink system (default: %(default)s)"
    )
    parser.add_argument(
        "--robots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="look for robots in this folder, too; may be given again",
    )
    parser.add_argument(
        "--signing-key",
        type=Path,
        metavar="FILE",
        help="have this MAVLink signing key from the start (default: none, until a client gives "
        "one)",
    )
    parser.set_defaults(run=_sitl)


def _sitl(options: argparse.Namespace) -> int:
    robot = load_robot(options.robot, options.robots)
    links = tuple(options.link) or default_links(options.system)
    sitl = Sitl(
        SitlOrder(
            robot,
            links,
            options.simulator,
            options.speed,
            options.system,
            signing_key=options.signing_key,
        )
    )
    stop_on_signals(sitl)
    print(f"{robot.name}: system {options.system} on {', '.join(links)}", flush=True)
    sitl.run()
    if sitl.lost_ns > 1_000_000_000:
        print(f"this computer was {sitl.lost_ns / 1e9:.1f} s too slow for {options.speed:g} times")
    return 0
