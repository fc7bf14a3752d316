"""Worlds: the ground and the solid things on it, as YAML."""

from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError
from ghost.core.fields import number, section, text
from ghost.deploy.shipped import find_shipped
from ghost.deploy.solids import COLOUR, read_solids
from ghost.simulation.scenery import Scenery
from ghost.telemetry.document import read_document

__all__ = ["load_world", "read_solids"]


def load_world(source: str) -> Scenery:
    """By the name of a shipped one, or by the path of a file."""
    path = find_shipped("worlds", source)
    plain = read_document(path)
    try:
        return _scenery(plain, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _scenery(plain: Any, folder: Path) -> Scenery:
    found = section(
        {
            "name": text,
            "description": text,
            "ground": section({"rgb": COLOUR, "friction": number(0.0, 10.0)}),
            "solids": lambda listed, path: read_solids(listed, path, folder),
        },
        required=("name",),
    )(plain, "")
    found.pop("description", None)
    ground = found.pop("ground", {})
    if "rgb" in ground:
        ground["ground_rgb"] = ground.pop("rgb")
    return Scenery(**found, **ground)
