"""The air and the airframe turn against the vehicle."""

import time

from hil.case import case
from hil.hover import hover
from hil.need import Need
from hil.stage import Stage

WEAK = 0.7
GUST_MPS = (10.0, 0.0, 0.0)
GUST_S = 4.0
CALM_MPS = (0.0, 0.0, 0.0)
HIGH_M = 4.0


@case(
    "airframe",
    "it tips over towards the weak motor, or turns on the spot",
    "propeller, bearing, ESC; how much thrust is left in ghost/control's mixer",
    frozenset({Need.FLIGHT, Need.TRUTH, Need.FAULTS}),
    150.0,
)
def a_motor_weakens(stage: Stage) -> str:
    flight = hover(stage)
    flight.vehicle.fault("motor/1", "strength", WEAK)
    flight.completes()
    away = flight.stayed_within(2.0, HIGH_M)
    return f"flew on with {WEAK:.0%} of a motor, {away}, {flight.touched_softly()}"


@case(
    "airframe",
    "it is blown away, or swings back far beyond its place",
    "max_tilt_deg of the robot's envelope; gains of the position loop",
    frozenset({Need.FLIGHT, Need.TRUTH, Need.WIND}),
    150.0,
)
def a_gust_of_wind(stage: Stage) -> str:
    flight = hover(stage, seconds=GUST_S + 3.0)
    flight.vehicle.wind(GUST_MPS)
    time.sleep(GUST_S)
    flight.vehicle.wind(CALM_MPS)
    flight.completes()
    away = flight.stayed_within(3.0, HIGH_M)
    return f"held in {GUST_MPS[0]:g} m/s out of nowhere, {away}, {flight.touched_softly()}"
