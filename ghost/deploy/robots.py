"""Where robots are found: alike in a checkout, an installed wheel and an image."""

from collections.abc import Sequence
from pathlib import Path

from ghost.core.errors import ConfigError
from ghost.core.fields import nearest
from ghost.deploy.robot import ROBOT_FILE, RobotDescription, read_robot, shipped_robots


def find_robots(folders: Sequence[Path] = ()) -> dict[str, Path]:
    """The robot.yaml of each robot, by name; a folder of the user's goes before Ghost's own."""
    found: dict[str, Path] = {}
    for folder in (*folders, shipped_robots()):
        if not folder.is_dir():
            raise ConfigError(f"no folder {folder}; expected one with robots in it")
        if (folder / ROBOT_FILE).exists():
            raise ConfigError(f"{folder} is a robot; give the folder that it lies in")
        for path in sorted(folder.glob(f"*/{ROBOT_FILE}")):
            found.setdefault(path.parent.name, path)
    return dict(sorted(found.items()))


def load_robot(name: str, folders: Sequence[Path] = ()) -> RobotDescription:
    robots = find_robots(folders)
    if name not in robots:
        raise ConfigError(f"no robot named {name!r}{nearest(name, robots)}")
    return read_robot(robots[name])
