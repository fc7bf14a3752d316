"""The targets, by name."""

from ghost.core.errors import ConfigError
from hil.bench import BenchTarget
from hil.embedded import EmbeddedTarget
from hil.gazebo import GazeboTarget
from hil.px4 import Px4Target
from hil.survey import Survey
from hil.target import Target

NAMES = ("embedded", "px4", "gazebo", "bench")


def make_target(name: str, link: str | None = None, survey: Survey | None = None) -> Target:
    """What a bench was found to be is told where it is known already."""
    if link is not None and name != "bench":
        raise ConfigError(f"target {name} has links of its own; --link is for bench")
    match name:
        case "embedded":
            return EmbeddedTarget()
        case "px4":
            return Px4Target()
        case "gazebo":
            return GazeboTarget()
        case "bench" if link is not None:
            return BenchTarget(link, survey)
        case "bench":
            raise ConfigError("a bench needs --link, such as serial:///dev/ttyACM0:921600")
    raise ConfigError(f"target is {name!r}; expected one of {', '.join(NAMES)}")
