"""Where PX4 is, and the command that starts an instance of it."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ghost.core.errors import ConfigError
from ghost.px4.instance import Px4Instance

VARIABLE = "GHOST_PX4"
SITL_IMAGE = "px4io/px4-sitl:latest"
GAZEBO_IMAGE = "px4io/px4-sitl-gazebo:latest"
_HOMES = {SITL_IMAGE: "/opt/px4", GAZEBO_IMAGE: "/opt/px4-gazebo"}
_ENGINE_S = 10.0

# In the container the shell lives until PX4 ends or Ghost's end of its input closes. It is the
# container's first process: when it ends, so does everything.
_LEASH = """exec 3<&0
"$@" </dev/null &
px4=$!
(cat <&3 >/dev/null; kill -9 $px4) &
wait $px4"""


@dataclass(frozen=True, slots=True)
class Order:
    """What to start. Its input is to be held open while it may live."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


class Installation(Protocol):
    def order(
        self, instance: Px4Instance, folder: Path, environment: Mapping[str, str]
    ) -> Order: ...


@dataclass(frozen=True, slots=True)
class Px4Folder:
    """A build on this machine: a folder with bin/px4 and etc/."""

    home: Path

    def __post_init__(self) -> None:
        for part in ("bin/px4", "etc/init.d-posix/rcS"):
            if not (self.home / part).exists():
                raise ConfigError(
                    f"{self.home} has no {part}; expected PX4's SITL build, a folder with bin/px4 "
                    f"and etc/ ({VARIABLE} names it)"
                )

    def order(self, instance: Px4Instance, folder: Path, environment: Mapping[str, str]) -> Order:
        # PX4_ variables of whoever runs Ghost are none of ours.
        own = {key: value for key, value in os.environ.items() if not key.startswith("PX4_")}
        command = (f"{self.home}/bin/px4", *_arguments(instance, f"{self.home}/etc", folder))
        return Order(command, {**own, **environment})


@dataclass(frozen=True, slots=True)
class Px4Container:
    """A published image, in the machine's own network and with the instance's own folder."""

    engine: str
    image: str = SITL_IMAGE

    def order(self, instance: Px4Instance, folder: Path, environment: Mapping[str, str]) -> Order:
        wanted = {"HOME": str(folder), **environment}  # Gazebo writes there
        settings = [f"--env={key}={value}" for key, value in wanted.items()]
        home = _HOMES[self.image]
        command = (
            *(self.engine, "run", "--rm", "--interactive", "--network=host"),
            *(f"--name=ghost-px4-{instance.number}", f"--user={os.getuid()}:{os.getgid()}"),
            *(f"--volume={folder}:{folder}", f"--workdir={folder}", *settings),
            *("--entrypoint=sh", self.image, "-c", _LEASH, "sh", f"{home}/bin/px4"),
            *_arguments(instance, f"{home}/etc", folder),
        )
        return Order(command, dict(os.environ))


def find_px4(*images: str) -> Installation:
    """GHOST_PX4's folder; without that the first of these published containers that is here."""
    images = images or (SITL_IMAGE,)
    named = os.environ.get(VARIABLE)
    if named:
        return Px4Folder(Path(named).resolve())
    engine = shutil.which("docker")
    if engine is None or not _succeeds(engine, "version"):
        raise ConfigError(
            f"no PX4: {VARIABLE} isn't set and no docker engine answers. Set {VARIABLE} to a "
            "folder with bin/px4 and etc/ (PX4's px4_sitl_default build or its .deb package), or "
            f"start docker and `docker pull {images[0]}`"
        )
    for image in images:
        if _succeeds(engine, "image", "inspect", image):
            return Px4Container(engine, image)
    pulls = " or ".join(f"`docker pull {image}`" for image in images)
    raise ConfigError(f"no PX4: {VARIABLE} isn't set; {pulls} gets a container")


def _arguments(instance: Px4Instance, etc: str, folder: Path) -> tuple[str, ...]:
    return ("-i", str(instance.number), "-d", etc, "-w", str(folder))


def _succeeds(*command: str) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_ENGINE_S, check=False)  # noqa: S603 - ours
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
