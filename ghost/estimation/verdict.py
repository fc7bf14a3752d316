"""How far an estimate can be trusted, from what the filter says of itself and what it was fed. A
kernel: see ghost.core.exact.
"""

import numpy as np
from numpy.typing import NDArray

from ghost.estimation.config import EstimatorConfig

FloatArray = NDArray[np.float64]


def limits(config: EstimatorConfig) -> FloatArray:
    """Squares of deviations up to which it is not lost, and good; then ages."""
    lost = (config.lost_position_std_m, config.lost_velocity_std_mps, config.lost_tilt_std_rad)
    good = (
        config.good_position_std_m,
        config.good_velocity_std_mps,
        config.good_tilt_std_rad,
        config.good_heading_std_rad,
    )
    ages_ns = (config.max_imu_gap_ns, config.gps_timeout_ns)
    return np.array([*(deviation * deviation for deviation in (*lost, *good)), *ages_ns])


def judge(output: FloatArray, limits: FloatArray, gps_age_ns: int, imu_age_ns: int) -> int:
    """A ghost.hal EstimateHealth, from the kernel's read-out. Comparisons are written so that NaN
    is LOST.
    """
    good, degraded, lost = 1, 2, 3
    if imu_age_ns > limits[7]:
        return lost
    for index in range(3):  # position, velocity, tilt
        if not 0.0 <= output[23 + index] <= limits[index]:
            return lost
    for index in range(17):
        if not -1.0e9 < output[index] < 1.0e9:
            return lost
    longest_good_imu_age_ns = 50_000_000
    if gps_age_ns > limits[8] or imu_age_ns > longest_good_imu_age_ns:
        return degraded
    for index in range(4):  # the same, and heading
        if not output[23 + index] <= limits[3 + index]:
            return degraded
    return good
