"""What is physically there: mass, inertia, rotors, legs, battery. One set of numbers, for every
simulator and for the autopilot.
"""

from dataclasses import dataclass

import numpy as np

from ghost.core.errors import ConfigError

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Rotor:
    """direction is +1 for a propeller that turns counter-clockwise seen from above; the body is
    then pushed clockwise, by torque_per_thrust_m times the thrust.
    """

    position_flu_m: Vector
    direction: int
    max_thrust_n: float
    torque_per_thrust_m: float
    max_speed_rps: float
    max_power_w: float
    axis_flu: Vector = (0.0, 0.0, 1.0)
    time_constant_ns: int = 50_000_000

    def __post_init__(self) -> None:
        if self.direction not in {1, -1}:
            raise ConfigError(f"rotor direction is {self.direction}; expected 1 (ccw) or -1 (cw)")
        _require_positive(self, "max_thrust_n", "max_speed_rps", "max_power_w", "time_constant_ns")
        if not 0.0 <= self.torque_per_thrust_m < np.inf:
            raise ConfigError(f"torque_per_thrust_m is {self.torque_per_thrust_m}; expected >= 0")
        length = float(np.sqrt(sum(part * part for part in self.axis_flu)))
        if not abs(length - 1.0) < 1e-6:
            raise ConfigError(f"axis_flu {self.axis_flu} has length {length:.6g}; expected 1")


@dataclass(frozen=True, slots=True)
class Battery:
    """Voltages are of the whole pack without load; at a fifth of the charge comes the knee."""

    capacity_ah: float
    full_v: float
    knee_v: float
    empty_v: float
    resistance_ohm: float
    idle_power_w: float = 0.0

    def __post_init__(self) -> None:
        _require_positive(self, "capacity_ah", "empty_v")
        if not self.empty_v < self.knee_v < self.full_v < np.inf:
            raise ConfigError(
                f"battery voltages are {self.empty_v}, {self.knee_v}, {self.full_v}; "
                "expected empty_v < knee_v < full_v"
            )
        if not (self.resistance_ohm >= 0.0 and self.idle_power_w >= 0.0):
            raise ConfigError("battery resistance_ohm and idle_power_w can't be negative")


@dataclass(frozen=True, slots=True)
class Airframe:
    """Drag is in the body frame: force per speed, force per squared speed, torque per rate.

    thrust_curve is 1 where thrust goes with the square of the motor command and 0 where it goes
    with the command itself. Legs are the points that touch the ground.
    """

    mass_kg: float
    inertia_kgm2: Vector
    rotors: tuple[Rotor, ...]
    legs_flu_m: tuple[Vector, ...]
    battery: Battery
    thrust_curve: float = 1.0
    drag_linear: Vector = (0.0, 0.0, 0.0)
    drag_quadratic: Vector = (0.0, 0.0, 0.0)
    drag_angular: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _require_positive(self, "mass_kg")
        ixx, iyy, izz = self.inertia_kgm2
        if not (min(ixx, iyy, izz) > 0.0 and max(ixx, iyy, izz) < np.inf):
            raise ConfigError(f"inertia_kgm2 is {self.inertia_kgm2}; expected three above 0")
        if ixx + iyy < izz or iyy + izz < ixx or izz + ixx < iyy:
            raise ConfigError(
                f"inertia_kgm2 is {self.inertia_kgm2}; no body has one axis above the other two "
                "together"
            )
        if not 0.0 <= self.thrust_curve <= 1.0:
            raise ConfigError(f"thrust_curve is {self.thrust_curve}; expected 0 to 1")
        for key in ("drag_linear", "drag_quadratic", "drag_angular"):
            if not all(0.0 <= part < np.inf for part in getattr(self, key)):
                raise ConfigError(f"{key} is {getattr(self, key)}; expected three of 0 or more")
        if len(self.rotors) < 3:
            raise ConfigError(f"{len(self.rotors)} rotors; expected 3 or more")
        if not self.legs_flu_m:
            raise ConfigError("no legs_flu_m; expected the points that touch the ground")
        if self.thrust_to_weight <= 1.0:
            raise ConfigError(
                f"all rotors lift {self.max_thrust_n:.2f} N and the vehicle weighs "
                f"{self.mass_kg * GRAVITY_MPS2:.2f} N; it can't take off"
            )

    @property
    def max_thrust_n(self) -> float:
        """Along the body's z axis, all rotors at full."""
        total_n = 0.0
        for rotor in self.rotors:  # sum() of floats rounds otherwise since Python 3.12
            total_n += rotor.max_thrust_n * rotor.axis_flu[2]
        return total_n

    @property
    def thrust_to_weight(self) -> float:
        return self.max_thrust_n / (self.mass_kg * GRAVITY_MPS2)


GRAVITY_MPS2 = 9.80665


def _require_positive(part: object, *keys: str) -> None:
    for key in keys:
        value = getattr(part, key)
        if not 0.0 < value < np.inf:
            raise ConfigError(f"{key} is {value}; expected above 0")
