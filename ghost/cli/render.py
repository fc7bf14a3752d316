"""`ghost render`: pictures of a logged flight."""

import argparse
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError
from ghost.deploy.render import Look, render


def add_parser(commands: Any) -> None:
    usual = Look()
    parser = commands.add_parser(
        "render",
        help="make a film or a strip of pictures of a logged flight",
        description="Show a logged flight from a camera that chases the vehicle through its world. "
        "No display is needed.",
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="a run folder, such as in runs/")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="an .mp4 film, or a .png strip of pictures",
    )
    parser.add_argument(
        "--size",
        default=f"{usual.width_px}x{usual.height_px}",
        metavar="WxH",
        help="of one picture, in pixels (default: %(default)s)",
    )
    parser.add_argument(
        "--count",
        type=int,
        default=usual.count,
        metavar="N",
        help="pictures in a strip, evenly over the flight (default: %(default)s)",
    )
    parser.add_argument(
        "--speed",
        type=float,
        default=usual.speed,
        metavar="FACTOR",
        help="of a film, times real time (default: %(default)g)",
    )
    parser.set_defaults(run=_render)


def _render(options: argparse.Namespace) -> int:
    width, _, height = options.size.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise ConfigError(f"--size is {options.size!r}; expected a form like 480x360")
    look = Look(int(width), int(height), options.count, options.speed)
    count = render(options.folder, options.out, look)
    print(f"{options.out}: {count} pictures")
    return 0
