"""PX4's numbering: instance N is MAVLink system N + 1, and its ports follow from N."""

from dataclasses import dataclass

from ghost.core.errors import ConfigError

MOST_INSTANCES = 254
_SHARED_FROM = 9


@dataclass(frozen=True, slots=True)
class Px4Instance:
    number: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < MOST_INSTANCES:
            raise ConfigError(
                f"PX4 instance {self.number}; expected 0 to {MOST_INSTANCES - 1}, "
                "so that its MAVLink system is 1 to 254"
            )

    def __str__(self) -> str:
        return f"PX4 instance {self.number} (system {self.system})"

    @property
    def system(self) -> int:
        return self.number + 1

    @property
    def simulator_port(self) -> int:
        """TCP: the simulator listens there, PX4 connects."""
        return 4560 + self.number

    @property
    def offboard_port(self) -> int:
        """UDP: PX4 sends there, whoever controls it listens. From the tenth instance on one for
        all; each of those is told apart by px4_offboard_port.
        """
        return 14540 + min(self.number, _SHARED_FROM)

    @property
    def px4_offboard_port(self) -> int:
        """UDP: where PX4's own end of that link is."""
        return 14580 + self.number

    @property
    def px4_ground_port(self) -> int:
        """UDP: PX4's own end of the link to ground stations, which listen at 14550."""
        return 18570 + self.number

    @property
    def payload_port(self) -> int:
        """UDP: PX4 sends there what a camera or another payload is told; 4 kB/s at most."""
        return 14030 + self.number

    @property
    def gimbal_port(self) -> int:
        """UDP: PX4 sends there what a gimbal is told, and its heartbeat."""
        return 13280 + self.number
