"""The targets, by name."""

from ghost.core.errors import ConfigError
from hil.embedded import EmbeddedTarget, Px4Target
from hil.target import Target

NAMES = ("embedded", "px4", "gazebo", "bench")


def make_target(name: str, link: str | None = None) -> Target:
    if link is not None and name != "bench":
        raise ConfigError(f"target {name} has links of its own; --link is for bench")
    match name:
        case "embedded":
            return EmbeddedTarget()
        case "px4":
            return Px4Target()
    raise ConfigError(f"target is {name!r}; expected one of {', '.join(NAMES)}")
