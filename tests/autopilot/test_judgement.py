"""Failsafes, the land detector and the configuration, without a vehicle."""

from typing import Any

import pytest

from ghost.autopilot import AutopilotConfig
from ghost.autopilot.failsafe import Situation, judge
from ghost.autopilot.landed import LandDetector
from ghost.core.errors import ConfigError
from ghost.hal import EstimateHealth, Failsafe, FlightMode, SafetyEnvelope

SAFE: dict[str, Any] = {
    "mode": FlightMode.HOLD,
    "verdict": EstimateHealth.GOOD,
    "charge": 0.9,
    "command_age_ns": 0,
    "position_enu_m": [0.0, 0.0, 5.0],
}
OFFBOARD, RETURN, LAND = FlightMode.OFFBOARD, FlightMode.RETURN, FlightMode.LAND


@pytest.mark.parametrize(
    ("change", "failsafe", "mode"),
    [
        ({}, Failsafe.NONE, FlightMode.HOLD),
        ({"charge": None}, Failsafe.NONE, FlightMode.HOLD),
        ({"charge": 0.1}, Failsafe.LOW_BATTERY, RETURN),
        ({"charge": 0.1, "mode": LAND}, Failsafe.LOW_BATTERY, LAND),
        ({"charge": 0.05}, Failsafe.CRITICAL_BATTERY, LAND),
        ({"charge": 0.05, "mode": FlightMode.MANUAL}, Failsafe.NONE, FlightMode.MANUAL),
        ({"verdict": EstimateHealth.DEGRADED}, Failsafe.ESTIMATE_DEGRADED, LAND),
        ({"verdict": EstimateHealth.DEGRADED, "charge": 0.1}, Failsafe.ESTIMATE_DEGRADED, LAND),
        ({"verdict": EstimateHealth.LOST, "charge": 0.05}, Failsafe.ESTIMATE_LOST, LAND),
        ({"command_age_ns": 10**9}, Failsafe.NONE, FlightMode.HOLD),
        ({"command_age_ns": 10**9, "mode": OFFBOARD}, Failsafe.COMMAND_LOSS, RETURN),
        ({"position_enu_m": [11.9, 0.0, 5.0]}, Failsafe.NONE, FlightMode.HOLD),
        ({"position_enu_m": [12.1, 0.0, 5.0]}, Failsafe.GEOFENCE, RETURN),
        ({"position_enu_m": [0.0, 0.0, 122.1]}, Failsafe.GEOFENCE, RETURN),
    ],
)
def test_the_gravest_reason_counts(
    change: dict[str, Any], failsafe: Failsafe, mode: FlightMode
) -> None:
    fence = ((-10.0, -10.0), (10.0, -10.0), (10.0, 10.0), (-10.0, 10.0))
    envelope = SafetyEnvelope(geofence_enu_m=fence)
    assert judge(Situation(**SAFE | change), AutopilotConfig(), envelope) == (failsafe, mode)


class Descent:
    """A land detector that left the ground, and is asked every 20 ms."""

    def __init__(self) -> None:
        self.detector = LandDetector()
        self.now_ns = 0
        self.feel(0.1, thrust=1.1, climb_mps=0.5)
        assert not self.detector.on_ground

    def feel(self, for_s: float, **felt: float) -> bool:
        usual = {"thrust": 0.6, "climb_mps": 0.0, "wanted_mps": -0.6, "speed_mps": 0.0}
        for _ in range(round(for_s / 0.02)):
            self.now_ns += 20_000_000
            self.detector.update(self.now_ns, height_m=3.0, **usual | felt)
        return self.detector.on_ground


def test_ground_is_what_holds_it_up_for_a_while() -> None:
    descent = Descent()
    assert not descent.feel(0.6)
    assert descent.detector.touches
    assert descent.feel(0.2)


@pytest.mark.parametrize(
    "felt",
    [
        {"climb_mps": -0.6},
        {"climb_mps": 0.3},
        {"wanted_mps": 0.0},
        {"thrust": 1.0},
        {"speed_mps": 1.0},
    ],
)
def test_what_moves_or_hovers_has_not_landed(felt: dict[str, float]) -> None:
    descent = Descent()
    assert not descent.feel(5.0, **felt)
    assert descent.detector.touches is ("speed_mps" in felt)
    assert not descent.feel(0.5 if "speed_mps" not in felt else 0.0)


def test_thrust_alone_is_not_flight() -> None:
    detector = LandDetector()
    assert detector.update(
        1, thrust=2.0, climb_mps=0.0, wanted_mps=1.0, speed_mps=0.0, height_m=0.0
    )
    assert not detector.update(
        2, thrust=1.0, climb_mps=0.1, wanted_mps=1.0, speed_mps=0.0, height_m=0.6
    )


@pytest.mark.parametrize(
    "change",
    [
        {"takeoff_speed_mps": 0.0},
        {"return_below_charge": 0.3},
        {"arm_above_charge": 1.0},
        {"land_below_charge": float("nan")},
    ],
)
def test_an_impossible_configuration_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="autopilot"):
        AutopilotConfig(**change)  # type: ignore[arg-type]
