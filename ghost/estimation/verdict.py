"""How far an estimate can be trusted, from what the filter says of itself and what it was fed."""

import numpy as np
from numpy.typing import NDArray

from ghost.estimation.config import EstimatorConfig
from ghost.hal.vehicle import EstimateHealth

FloatArray = NDArray[np.float64]

_LONGEST_GOOD_IMU_AGE_NS = 50_000_000


def judge(
    config: EstimatorConfig, output: FloatArray, *, gps_age_ns: int, imu_age_ns: int
) -> EstimateHealth:
    """From the kernel's read-out. Comparisons are written so that NaN is LOST."""
    position, velocity, tilt, heading = output[23:27].tolist()
    is_held = (
        imu_age_ns <= config.max_imu_gap_ns
        and 0.0 <= position <= config.lost_position_std_m * config.lost_position_std_m
        and 0.0 <= velocity <= config.lost_velocity_std_mps * config.lost_velocity_std_mps
        and 0.0 <= tilt <= config.lost_tilt_std_rad * config.lost_tilt_std_rad
        and all(-1.0e9 < value < 1.0e9 for value in output[:17].tolist())
    )
    if not is_held:
        return EstimateHealth.LOST
    is_good = (
        gps_age_ns <= config.gps_timeout_ns
        and imu_age_ns <= _LONGEST_GOOD_IMU_AGE_NS
        and position <= config.good_position_std_m * config.good_position_std_m
        and velocity <= config.good_velocity_std_mps * config.good_velocity_std_mps
        and tilt <= config.good_tilt_std_rad * config.good_tilt_std_rad
        and heading <= config.good_heading_std_rad * config.good_heading_std_rad
    )
    return EstimateHealth.GOOD if is_good else EstimateHealth.DEGRADED
