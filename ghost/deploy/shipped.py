"""Missions, scenarios and worlds that come with Ghost, by name; a user's own by path."""

from importlib.resources import files
from pathlib import Path

from ghost.core.errors import ConfigError
from ghost.core.fields import nearest


def find_shipped(kind: str, source: str) -> Path:
    """The file that a name or a path stands for; kind is missions, scenarios or worlds."""
    if source.endswith((".yaml", ".yml")) or "/" in source:
        return Path(source)
    folder = Path(str(files("ghost.scenarios"))) / kind
    shipped = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    if source not in shipped:
        raise ConfigError(
            f"no shipped {kind[:-1]} named {source!r}{nearest(source, shipped)} "
            "(a file of your own is given by its path, ending in .yaml)"
        )
    return shipped[source]
