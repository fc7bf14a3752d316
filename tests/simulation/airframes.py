"""Airframes with round numbers, so that what they must do can be written down."""

from dataclasses import replace
from typing import Any

import numpy as np

from ghost.deploy import load_robot
from ghost.hal.airframe import GRAVITY_MPS2, Airframe, Battery, Rotor

# So large that a test doesn't notice what it takes, and without sag.
MAINS = Battery(capacity_ah=1e9, full_v=16.0, knee_v=15.0, empty_v=12.0, resistance_ohm=0.0)
LEGS = ((0.1, 0.1, -0.1), (0.1, -0.1, -0.1), (-0.1, 0.1, -0.1), (-0.1, -0.1, -0.1))
ROTOR = Rotor(
    position_flu_m=(0.0, 0.0, 0.0),
    direction=1,
    max_thrust_n=5.0,
    torque_per_thrust_m=0.02,
    max_speed_rps=100.0,
    max_power_w=50.0,
)


def ring(count: int, **changes: Any) -> tuple[Rotor, ...]:
    """Rotors on a circle of 0.2 m, the first to the front left, turning by turns."""
    rotors = []
    for index in range(count):
        angle_rad = 2.0 * np.pi * (index + 0.5) / count
        place = (0.2 * float(np.cos(angle_rad)), 0.2 * float(np.sin(angle_rad)), 0.0)
        direction = 1 if index % 2 else -1
        rotors.append(replace(ROTOR, position_flu_m=place, direction=direction, **changes))
    return tuple(rotors)


def shipped(name: str) -> Airframe:
    airframe = load_robot(name).airframe
    assert airframe is not None
    return airframe


QUAD = Airframe(
    mass_kg=1.0, inertia_kgm2=(0.01, 0.012, 0.02), rotors=ring(4), legs_flu_m=LEGS, battery=MAINS
)
HEXA = replace(QUAD, mass_kg=2.0, rotors=ring(6))
HOVER = float(np.sqrt(GRAVITY_MPS2 / 20.0))
"""The motor command at which QUAD hovers."""
