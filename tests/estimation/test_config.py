import math
from dataclasses import replace
from typing import Any

import pytest

from ghost.core.errors import ConfigError
from tests.estimation.flight import CONFIG


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("accel_noise", 0.0),
        ("gyro_noise", -1.0),
        ("gps_gate", math.nan),
        ("barometer_std_m", math.inf),
        ("barometer_std_m", "0.3"),
        ("buffer_ns", 0),
        ("gps_reset_ns", 5.0e9),
        ("alignment_fixes", True),
        ("origin", (47.0, 8.0, 488.0)),
        ("ground_height_enu_m", math.nan),
        ("magnetic_field_enu_t", (0.0, 0.0, -5.0e-5)),
        ("magnetic_field_enu_t", (math.nan, 0.0, 0.0)),
        ("rangefinder_below_m", math.inf),
        ("rangefinder_min_m", 50.0),
        ("rangefinder_max_tilt_rad", 1.5),
        ("good_velocity_std_mps", 3.0),
        ("max_imu_gap_ns", 600_000_000),
    ],
)
def test_a_bad_value_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        replace(CONFIG, **{key: value})
    assert "expected" in str(caught.value)
    assert str(value) in str(caught.value)


def test_what_may_be_left_out_may_be() -> None:
    replace(CONFIG, magnetic_field_enu_t=None, ground_height_enu_m=None, rangefinder_below_m=-0.1)
