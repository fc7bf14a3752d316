"""Which PX4 there is, which physics it has under it, and which models and worlds those have."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ghost.core.errors import ConfigError
from ghost.px4 import Installation, Px4Container, Px4Folder, find_px4
from ghost.px4.installation import GAZEBO_IMAGE, SITL_IMAGE, VARIABLE
from ghost.simulation.gazebo_px4.settings import Physics, Settings

PREFIX = {Physics.GAZEBO: "gz", Physics.SIH: "sihsim"}
"""Of a model's name where PX4 is told which to fly."""


@dataclass(frozen=True, slots=True)
class Stage:
    """models and worlds are None where they can't be looked at: in a container."""

    installation: Installation
    physics: Physics
    models: tuple[str, ...] | None = None
    worlds: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def find_stage(settings: Settings) -> Stage:
    """ConfigError, with the way out, where what is asked for isn't there."""
    wanted = settings.physics or (Physics.GAZEBO if settings.world is not None else None)
    images = {
        Physics.GAZEBO: (GAZEBO_IMAGE,),
        Physics.SIH: (SITL_IMAGE,),
        None: (GAZEBO_IMAGE, SITL_IMAGE),
    }[wanted]
    installation = find_px4(*images)
    if isinstance(installation, Px4Folder):
        stage = _local(installation, wanted)
    else:
        is_gazebo = isinstance(installation, Px4Container) and installation.image == GAZEBO_IMAGE
        stage = Stage(installation, Physics.GAZEBO if is_gazebo else Physics.SIH)
    _refuse_unknown("model", settings.model, stage.models, stage.physics)
    _refuse_unknown("world", settings.world, stage.worlds, stage.physics)
    return stage


def _local(folder: Px4Folder, wanted: Physics | None) -> Stage:
    gazebo = _Gazebo.of(folder.home)
    lack = gazebo.lack()
    if wanted is Physics.SIH or (wanted is None and lack):
        return Stage(folder, Physics.SIH, _models(folder.home, Physics.SIH))
    if lack:
        raise ConfigError(
            f"no Gazebo under the PX4 of {folder.home}: {lack}. Install Gazebo Harmonic and a PX4 "
            f"that was built with it (such as its package px4-gazebo), or leave {VARIABLE} out and "
            f"`docker pull {GAZEBO_IMAGE}`, or fly with physics=sih and no world"
        )
    worlds = tuple(sorted(path.stem for path in gazebo.worlds.glob("*.sdf")))
    models = _models(folder.home, Physics.GAZEBO)
    return Stage(folder, Physics.GAZEBO, models, worlds, gazebo.environment())


@dataclass(frozen=True, slots=True)
class _Gazebo:
    """Where PX4's package has what Gazebo needs of it, or its source tree around a build."""

    bridge: Path
    models: Path
    worlds: Path
    plugins: Path
    config: Path

    @classmethod
    def of(cls, home: Path) -> "_Gazebo":
        bridge, share = home / "bin/px4-gz_bridge", home / "share/gz"
        if share.exists():
            plugins = home / "lib/gz/plugins"
            return cls(bridge, share / "models", share / "worlds", plugins, share / "server.config")
        source = home.parent.parent
        return cls(
            bridge,
            source / "Tools/simulation/gz/models",
            source / "Tools/simulation/gz/worlds",
            home / "src/modules/simulation/gz_plugins",
            source / "src/modules/simulation/gz_bridge/server.config",
        )

    def lack(self) -> str:
        """What isn't there; empty when all is."""
        if not self.bridge.exists():
            return f"it was built without: there is no {self.bridge}"
        if not self.models.is_dir() or not self.worlds.is_dir():
            return f"PX4's models and worlds are missing: there is no {self.models}"
        if shutil.which("gz") is None:
            return "there is no `gz` command on the PATH"
        return ""

    def environment(self) -> dict[str, str]:
        resources = (os.environ.get("GZ_SIM_RESOURCE_PATH", ""), self.models, self.worlds)
        plugins = (os.environ.get("GZ_SIM_SYSTEM_PLUGIN_PATH", ""), self.plugins)
        return {
            "PX4_GZ_MODELS": str(self.models),
            "PX4_GZ_WORLDS": str(self.worlds),
            "GZ_SIM_RESOURCE_PATH": ":".join(str(place) for place in resources if str(place)),
            "GZ_SIM_SYSTEM_PLUGIN_PATH": ":".join(str(place) for place in plugins if str(place)),
            "GZ_SIM_SERVER_CONFIG_PATH": str(self.config),
        }


def _models(home: Path, physics: Physics) -> tuple[str, ...]:
    """Those that PX4 has a set-up for: files such as 4001_gz_x500."""
    form = re.compile(rf"\d+_{PREFIX[physics]}_(\w+)")
    names = (form.fullmatch(path.name) for path in (home / "etc/init.d-posix/airframes").iterdir())
    return tuple(sorted(found[1] for found in names if found))


def _refuse_unknown(
    what: str, name: str | None, known: tuple[str, ...] | None, physics: Physics
) -> None:
    if name is not None and known is not None and name not in known:
        listed = ", ".join(known) or "none"
        raise ConfigError(
            f"{what} {name!r} is unknown to PX4 with {physics.shown}; there are: {listed}"
        )
