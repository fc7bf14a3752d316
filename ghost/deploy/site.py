"""What a list of solids has built so far."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ghost.core.errors import ConfigError, shown
from ghost.deploy.mesh import MAX_FACES
from ghost.simulation.scenery import Mesh, Solid

MAX_SOLIDS = 10_000


@dataclass(slots=True)
class Site:
    """Names are numbered and kept apart, and nothing grows without end."""

    folder: Path
    solids: list[Solid] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, str] = field(default_factory=dict)
    face_count: int = 0

    def numbered(self, stem: str) -> str:
        self.counts[stem] += 1
        return f"{stem} {self.counts[stem]}"

    def admit(self, solids: list[Solid], path: str) -> None:
        for solid in solids:
            if solid.name in self.places:
                raise ConfigError(
                    f"{path} gives {shown(solid.name)}, a name that {self.places[solid.name]} "
                    "already gives; names must differ"
                )
            self.places[solid.name] = path
            if isinstance(solid.shape, Mesh):
                self.face_count += len(solid.shape.faces)
        self.solids += solids
        if len(self.solids) > MAX_SOLIDS:
            raise ConfigError(f"{path} makes more than {MAX_SOLIDS} solids in all")
        if self.face_count > MAX_FACES:
            raise ConfigError(f"{path} makes more than {MAX_FACES} faces in all")
