"""How the autopilot flies when nobody tells it how."""

from dataclasses import dataclass

from ghost.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class AutopilotConfig:
    """Charges are shares of a full battery; heights are above home."""

    takeoff_speed_mps: float = 1.5
    land_speed_mps: float = 0.6
    descend_speed_mps: float = 1.5
    land_slowly_below_m: float = 3.0
    return_speed_mps: float = 5.0
    return_height_m: float = 10.0
    acceleration_mps2: float = 2.0
    arm_above_charge: float = 0.25
    return_below_charge: float = 0.20
    land_below_charge: float = 0.08
    arm_below_tilt_rad: float = 0.35
    control_period_ns: int = 4_000_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0:
                raise ConfigError(f"autopilot {name} is {getattr(self, name)}; expected above 0")
        if not self.land_below_charge < self.return_below_charge < self.arm_above_charge < 1.0:
            raise ConfigError(
                "autopilot charges: expected land_below_charge < return_below_charge < "
                f"arm_above_charge < 1, got {self.land_below_charge}, {self.return_below_charge}, "
                f"{self.arm_above_charge}"
            )
