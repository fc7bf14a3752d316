"""The battery runs low, or collapses: it comes home, or down, while it can."""

import time

from firmware_bridge.parameters import Parameters
from ghost.core.errors import ConfigError, StalledError
from hil.case import case, check
from hil.hover import hover
from hil.need import Need
from hil.stage import Stage
from hil.station import Station

NEEDS = frozenset({Need.FLIGHT, Need.TRUTH, Need.FAULTS})
ACTS_S = 10.0
COLLAPSED = 0.03
HOMEWARD = ("RETURN_TO_LAUNCH", "LAND")


@case(
    "battery",
    "it flies on until it falls",
    "BAT_LOW_THR and COM_LOW_BAT_ACT of the flight controller; the pack's age",
    NEEDS,
    150.0,
)
def low_battery_brings_it_home(stage: Stage) -> str:
    return _falls_to(stage, None)


@case(
    "battery",
    "it goes the long way home on a battery that won't last",
    "BAT_CRIT_THR of the flight controller; a cell, or a plug",
    NEEDS,
    150.0,
)
def collapsing_battery_lands_it(stage: Stage) -> str:
    return _falls_to(stage, COLLAPSED)


def _falls_to(stage: Stage, charge: float | None) -> str:
    """None is just below where the flight controller begins to act."""
    flight = hover(stage, seconds=25.0)
    station = stage.station(flight.vehicle)
    left = _threshold(station) - 0.01 if charge is None else charge
    began_s = time.monotonic()
    flight.vehicle.fault("battery", "charge", left)
    flight.referee.until(
        lambda one: one.mode in HOMEWARD, within_s=ACTS_S, what="on its way home or down"
    )
    took_s, mode = time.monotonic() - began_s, flight.referee.look().mode
    if charge is not None:
        check(mode == "LAND", f"with {charge:.0%} left its mode is {mode}; expected LAND")
    flight.comes_down()
    away = flight.stayed_within(3.0, 15.0)
    return f"{mode} {took_s:.1f} s after {left:.0%}, {flight.touched_softly()}, {away}"


def _threshold(station: Station) -> float:
    """PX4, which has one threshold more, only warns at the first."""
    parameters = Parameters(station.vehicle)
    try:
        parameters.get("BAT_EMERGEN_THR")
    except (ConfigError, StalledError):
        return float(parameters.get("BAT_LOW_THR"))
    return float(parameters.get("BAT_CRIT_THR"))
