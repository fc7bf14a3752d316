"""Sensors lie or fall silent in flight: the estimate says how good it is, and nobody flies off."""

import time

from hil.case import case
from hil.hover import Hover, hover
from hil.need import Need
from hil.stage import Stage

NEEDS = frozenset({Need.FLIGHT, Need.TRUTH, Need.FAULTS})
HIGH_M = 5.0
"""Twice the hover, and some: nothing that is wrong may send it up."""
SPIKE_S = 1.0


@case(
    "estimation",
    "the vehicle drifts off, or hovers on and nobody tells that it doesn't know where",
    "antenna and sky; the ESTIMATE_DEGRADED failsafe, and ghost/estimation/verdict.py",
    NEEDS,
    150.0,
)
def gps_falls_silent(stage: Stage) -> str:
    flight = hover(stage, seconds=20.0)
    return _doubts_and_lands(flight, "gps", "silent", away_m=4.0)


@case(
    "estimation",
    "the vehicle chases a place 30 m away",
    "the gate of innovations in ghost/estimation, EKF2_GPS_P_GATE of a PX4",
    NEEDS,
    150.0,
)
def gps_jumps_away(stage: Stage) -> str:
    flight = hover(stage, seconds=20.0)
    return _doubts_and_lands(flight, "gps", "offset", 30.0, away_m=4.0)


@case(
    "estimation",
    "one second of reflected signals ends a flight, or moves it",
    "gps_timeout_ns and gps_gate in ghost/estimation/config.py",
    NEEDS,
    150.0,
)
def gps_jumps_and_comes_back(stage: Stage) -> str:
    return _flies_on(hover(stage), "gps", "offset", 30.0, away_m=2.0)


@case(
    "estimation",
    "the vehicle climbs or dives to where the pressure says",
    "the gate of innovations; foam over the barometer",
    NEEDS,
    150.0,
)
def barometer_spikes(stage: Stage) -> str:
    return _flies_on(hover(stage), "barometer", "offset", -500.0, away_m=2.0)


@case(
    "estimation",
    "the vehicle circles ever wider: its heading is wrong",
    "wires of motors near the compass; magnetometer_gate in ghost/estimation/config.py",
    NEEDS,
    150.0,
)
def magnetometer_is_disturbed(stage: Stage) -> str:
    disturbance_t = (3.0e-5, 3.0e-5, 0.0)  # more than the horizontal field itself
    return _flies_on(hover(stage), "magnetometer", "offset", *disturbance_t, away_m=2.0)


@case(
    "estimation",
    "the vehicle doesn't find the ground, or falls onto it",
    "rangefinder_gate in ghost/estimation/config.py; the land detector",
    NEEDS,
    150.0,
)
def rangefinder_freezes(stage: Stage) -> str:
    """And stays so: it says 2 m until the end, while the mission lands."""
    flight = hover(stage, seconds=3.0)
    flight.vehicle.fault("rangefinder", "frozen")
    flight.completes()
    return f"{flight.stayed_within(2.0, HIGH_M)}, {flight.touched_softly()}"


@case(
    "estimation",
    "motors turn on while it tumbles, or lies on its back",
    "a second IMU; LONGEST_BLIND_NS in ghost/autopilot/autopilot.py",
    NEEDS,
    150.0,
)
def imu_freezes(stage: Stage) -> str:
    """Its only one. No loop can hold it: what is asked is that it says so and stops its rotors."""
    flight = hover(stage, seconds=20.0)
    began_s = time.monotonic()
    flight.vehicle.fault("imu", "frozen")
    flight.referee.until(lambda one: not one.armed, within_s=15.0, what="rotors off")
    took_s = time.monotonic() - began_s
    flight.unit.until("unhealthy: ")
    flight.comes_down()
    return f"disarmed {took_s:.1f} s on, {flight.stayed_within(15.0, HIGH_M)}"


def _doubts_and_lands(flight: Hover, target: str, kind: str, *values: float, away_m: float) -> str:
    flight.referee.until(lambda one: one.health, within_s=15.0, what="healthy before the fault")
    began_s = time.monotonic()
    flight.vehicle.fault(target, kind, *values)
    told = flight.is_told(began_s)
    flight.comes_down()
    return f"{told}, {flight.touched_softly()}, {flight.stayed_within(away_m, HIGH_M)}"


def _flies_on(flight: Hover, target: str, kind: str, *values: float, away_m: float) -> str:
    """A disturbance that ends, and the mission goes on to its own end."""
    flight.vehicle.fault(target, kind, *values)
    time.sleep(SPIKE_S)
    flight.vehicle.fault(target, "healed")
    flight.completes()
    return f"flew on, {flight.stayed_within(away_m, HIGH_M)}, {flight.touched_softly()}"
