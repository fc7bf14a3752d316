"""PX4's flight modes, by the names that people use."""

from dataclasses import dataclass

from ghost.core.errors import ConfigError

CUSTOM_MODE_FLAG = 1
ARMED_FLAG = 128


@dataclass(frozen=True, slots=True)
class Mode:
    """main and sub as PX4 numbers them in HEARTBEAT.custom_mode and in MAV_CMD_DO_SET_MODE."""

    name: str
    main: int
    sub: int = 0

    @property
    def custom_mode(self) -> int:
        return self.main << 16 | self.sub << 24


MODES = {
    mode.name: mode
    for mode in (
        Mode("MANUAL", 1),
        Mode("ALTITUDE", 2),
        Mode("POSITION", 3),
        Mode("READY", 4, 1),
        Mode("TAKEOFF", 4, 2),
        Mode("HOLD", 4, 3),
        Mode("MISSION", 4, 4),
        Mode("RETURN", 4, 5),
        Mode("LAND", 4, 6),
        Mode("FOLLOW", 4, 8),
        Mode("PRECISION_LAND", 4, 9),
        Mode("ACRO", 5),
        Mode("OFFBOARD", 6),
        Mode("STABILIZED", 7),
    )
}
_BY_NUMBER = {mode.custom_mode: mode.name for mode in MODES.values()}


def mode_named(name: str) -> Mode:
    if name not in MODES:
        raise ConfigError(f"no flight mode {name!r}; expected one of {', '.join(MODES)}")
    return MODES[name]


def name_of(custom_mode: int) -> str:
    """A mode that has no name here is told by its numbers."""
    main, sub = custom_mode >> 16 & 0xFF, custom_mode >> 24 & 0xFF
    return _BY_NUMBER.get(custom_mode & 0xFFFF0000, f"MODE_{main}_{sub}")
