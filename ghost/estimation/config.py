"""What an estimator is told of its sensors, and what it takes for good."""

import math
from dataclasses import dataclass, fields

from ghost.core.errors import ConfigError
from ghost.core.frames import Geodetic

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorConfig:
    """Noises are one sigma: white ones per root hertz, walks per root second, _std per sample.

    The defaults are a few times those of a small MEMS IMU, for the vibration of a real frame.
    magnetic_field_enu_t is taken from ghost.core.earth where it is None. With
    ground_height_enu_m None the rangefinder goes unused.
    """

    origin: Geodetic
    magnetic_field_enu_t: Vector | None = None
    ground_height_enu_m: float | None = 0.0

    accel_noise: float = 0.02
    gyro_noise: float = 0.001
    accel_walk: float = 0.002
    gyro_walk: float = 0.0001
    barometer_walk: float = 0.05
    magnetometer_std_t: float = 1.0e-6
    barometer_std_m: float = 0.3
    rangefinder_std_m: float = 0.05
    gps_position_floor_m: float = 0.05
    gps_velocity_floor_mps: float = 0.02
    # What no averaging removes, and the filter can't see: it is added to what is published.
    gps_offset_std_m: float = 0.2
    gps_height_offset_std_m: float = 0.3  # where no rangefinder says better
    heading_offset_std_rad: float = 0.02

    rangefinder_below_m: float = 0.0  # how far under the body's origin it sits
    rangefinder_min_m: float = 0.1
    rangefinder_max_m: float = 10.0
    rangefinder_max_tilt_rad: float = 0.35

    gps_gate: float = 5.0  # in standard deviations of each scalar, as all gates
    magnetometer_gate: float = 5.0
    barometer_gate: float = 5.0
    rangefinder_gate: float = 5.0

    buffer_ns: int = 500_000_000
    max_imu_gap_ns: int = 200_000_000
    gps_timeout_ns: int = 2_000_000_000
    gps_reset_ns: int = 5_000_000_000
    # How fast force and rate change behind an IMU's back: error grows as half of it times t^2.
    gap_jerk_mps3: float = 20.0
    gap_angular_acceleration_rps2: float = 5.0

    alignment_ns: int = 1_000_000_000
    alignment_fixes: int = 3
    initial_velocity_std_mps: float = 0.05
    initial_accel_bias_mps2: float = 0.1
    initial_gyro_bias_rps: float = 0.02
    rest_accel_std_mps2: float = 0.01
    rest_gyro_std_rps: float = 0.0005

    # One sigma of the worst axis: up to good, DEGRADED beyond it, LOST beyond lost.
    good_position_std_m: float = 3.0
    good_velocity_std_mps: float = 0.5
    good_tilt_std_rad: float = 0.1
    good_heading_std_rad: float = 0.3
    lost_position_std_m: float = 30.0
    lost_velocity_std_mps: float = 2.0
    lost_tilt_std_rad: float = 0.35

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.type is int and (type(value) is not int or value <= 0):
                raise ConfigError(f"{entry.name} is {value!r}; expected an int above 0")
            if entry.type is float and not _is_number(value, above=_lowest(entry.name)):
                raise ConfigError(f"{entry.name} is {value!r}; expected {_expected(entry.name)}")
        if not isinstance(self.origin, Geodetic):
            raise ConfigError(f"origin is {self.origin!r}; expected a Geodetic")
        ground_m = self.ground_height_enu_m
        if ground_m is not None and not _is_number(ground_m, above=-math.inf):
            raise ConfigError(f"ground_height_enu_m is {ground_m!r}; expected metres or None")
        self._check_field()
        self._check_order("rangefinder_min_m", "rangefinder_max_m")
        self._check_order("good_position_std_m", "lost_position_std_m")
        self._check_order("good_velocity_std_mps", "lost_velocity_std_mps")
        self._check_order("good_tilt_std_rad", "lost_tilt_std_rad")
        self._check_order("max_imu_gap_ns", "buffer_ns")
        if self.rangefinder_max_tilt_rad > 1.2:
            raise ConfigError(
                f"rangefinder_max_tilt_rad is {self.rangefinder_max_tilt_rad}; expected up to 1.2"
            )

    def _check_field(self) -> None:
        field_t = self.magnetic_field_enu_t
        if field_t is None:
            return
        if len(field_t) != 3 or not all(_is_number(part, above=-math.inf) for part in field_t):
            raise ConfigError(f"magnetic_field_enu_t is {field_t!r}; expected three finite numbers")
        if not field_t[0] * field_t[0] + field_t[1] * field_t[1] > 1e-14:
            raise ConfigError(
                f"magnetic_field_enu_t is {field_t!r}; expected a horizontal part above 1e-7 T, "
                "or it gives no heading"
            )

    def _check_order(self, lower: str, upper: str) -> None:
        low, high = getattr(self, lower), getattr(self, upper)
        if not low < high:
            raise ConfigError(f"{lower} is {low} and {upper} is {high}; expected {lower} < {upper}")


# These may be nothing at all, or negative; every other number must be above 0.
_FREE = {"rangefinder_below_m": -math.inf}


def _lowest(key: str) -> float:
    return _FREE.get(key, 0.0)


def _expected(key: str) -> str:
    return "a finite number" if key in _FREE else "a finite number above 0"


def _is_number(value: object, *, above: float) -> bool:
    return type(value) in (int, float) and above < float(value) < math.inf  # type: ignore[arg-type]  # narrowed by the type just checked
