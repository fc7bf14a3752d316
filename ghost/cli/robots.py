"""`ghost robots`: what can be flown."""

import argparse
from pathlib import Path
from typing import Any

from ghost.core.errors import GhostError
from ghost.deploy import RobotDescription, find_robots, load_robot


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "robots",
        help="list, show and check robots",
        description="Robots are folders with a robot.yaml in them. Ghost brings some; --robots DIR "
        "after a command adds yours.",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = _add(verbs, "list", _list, "list all robots, and how each flies: sim, real or both")
    show = _add(verbs, "show", _show, "show one robot's HALs, airframe, sensors and flight limits")
    show.add_argument("robot", metavar="ROBOT", help="such as x500; see `ghost robots list`")
    check = _add(verbs, "check", _check, "read every robot.yaml, and say what is wrong with it")
    check.epilog = "Exit code: 0 all can be read, 1 at least one can't."
    for verb in (listing, show, check):
        verb.add_argument(
            "--robots",
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help="look for robots in this folder, too: DIR/NAME/robot.yaml; may be given again",
        )


def _add(verbs: Any, name: str, run: Any, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=about, description=about[0].upper() + about[1:] + "."
    )
    parser.set_defaults(run=run)
    return parser


def _list(options: argparse.Namespace) -> int:
    found = find_robots(options.robots)
    width = max(map(len, found), default=0)
    for name in found:
        try:
            robot = load_robot(name, options.robots)
            modes, description = _modes(robot), robot.description
        except GhostError:
            modes, description = "broken", "see `ghost robots check`"
        print(f"{name:<{width}}  {modes:<9}  {description}")
    return 0


def _show(options: argparse.Namespace) -> int:
    robot = load_robot(options.robot, options.robots)
    print(f"{robot.name}: {robot.description}")
    print(f"file       {robot.path}")
    simulator = f"derived, {robot.sim.simulator}" if robot.sim else "none"
    print(f"sim HAL    {robot.hal.sim or simulator}")
    print(f"real HAL   {robot.hal.real or 'none'}")
    if robot.airframe:
        airframe = robot.airframe
        print(
            f"airframe   {airframe.mass_kg:g} kg, {len(airframe.rotors)} rotors, "
            f"thrust to weight {airframe.thrust_to_weight:.2f}"
        )
    for model in robot.sensors:
        latency = f", {model.latency_ns / 1e6:g} ms late" if model.latency_ns else ""
        rate = f"{1e9 / model.period_ns:g} Hz"
        print(f"sensor     {model.name} ({model.kind.name.lower()}) at {rate}{latency}")
    envelope = robot.envelope
    print(
        f"envelope   {envelope.min_altitude_m:g} to {envelope.max_altitude_m:g} m, "
        f"{envelope.max_speed_mps:g} m/s, {'fenced' if envelope.geofence_enu_m else 'no fence'}"
    )
    return 0


def _check(options: argparse.Namespace) -> int:
    failures = 0
    for name in find_robots(options.robots):
        try:
            load_robot(name, options.robots)
            print(f"[PASS] {name}")
        except GhostError as error:
            failures += 1
            print(f"[FAIL] {error}")
    return 1 if failures else 0


def _modes(robot: RobotDescription) -> str:
    modes = ["sim"] if robot.hal.sim or robot.sim else []
    modes += ["real"] if robot.hal.real else []
    return "+".join(modes) or "neither"
