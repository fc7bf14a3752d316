"""Many vehicles as one batch: packs airframes into arrays and steps them in the kernel."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.lightweight import kernel

FloatArray = NDArray[np.float64]

_REST_DEPTH_M = 0.005
_DAMPING_RATIO = 0.7
_FRICTION = 0.7
_CRAWL_MPS = 0.05


class Multirotors:
    """The state of a batch, a row per vehicle.

    - body: position ENU, velocity ENU, attitude, rate FLU
    - power: charge (0 to 1), voltage, current
    - felt: sums of specific force and rate over all steps, how many, and the newest acceleration
    - touch: legs on the ground, and the hardest touch so far, in m/s
    - push: wind ENU, force ENU, torque FLU
    """

    def __init__(
        self, airframes: Sequence[Airframe], starts: Sequence[Start], step_ns: int
    ) -> None:
        if not airframes or len(airframes) != len(starts):
            raise ConfigError(f"{len(airframes)} airframes and {len(starts)} starts; need as many")
        count = len(airframes)
        rotor_count = max(len(airframe.rotors) for airframe in airframes)
        leg_count = max(len(airframe.legs_flu_m) for airframe in airframes)
        self.step_ns = step_ns
        self.body = np.array([_body(*pair) for pair in zip(airframes, starts, strict=True)])
        self.rotor_speed = np.zeros((count, rotor_count))
        self.power = np.array(
            [
                [start.charge, _open_voltage(airframe, start.charge), 0.0]
                for airframe, start in zip(airframes, starts, strict=True)
            ]
        )
        self.felt = np.zeros((count, 10))
        self.touch = np.zeros((count, 2))
        self.motors = np.zeros((count, rotor_count))
        self.push = np.zeros((count, 9))
        self.strength = np.ones((count, rotor_count))
        params = np.array([_params(airframe, step_ns) for airframe in airframes])
        rotors = np.zeros((count, rotor_count, 10))
        legs = np.zeros((count, leg_count, 3))
        for row, airframe in enumerate(airframes):
            rotors[row, : len(airframe.rotors)] = _rotors(airframe, step_ns)
            legs[row, : len(airframe.legs_flu_m)] = airframe.legs_flu_m
        # Views, because an interpreted kernel reads floats from them several times faster.
        views: list[Any] = [
            memoryview(array)  # type: ignore[arg-type]  # a numpy array is a buffer
            for array in (
                self.body,
                self.rotor_speed,
                self.power,
                self.felt,
                self.touch,
                self.motors,
                self.push,
                self.strength,
                params,
                rotors,
                legs,
            )
        ]
        self._advance: Callable[[int, float], None] = partial(kernel.advance, *views)

    def __len__(self) -> int:
        return len(self.body)

    def step(self, step_count: int = 1) -> None:
        self._advance(step_count, self.step_ns / 1e9)


def _body(airframe: Airframe, start: Start) -> list[float]:
    return [
        *(start.position_enu_m or (0.0, 0.0, standing_m(airframe))),
        *start.velocity_enu_mps,
        *start.attitude,
        *start.rate_flu_rps,
    ]


def standing_m(airframe: Airframe) -> float:
    """How high the centre of mass is when the vehicle stands on its legs."""
    return -min(leg[2] for leg in airframe.legs_flu_m) - _REST_DEPTH_M


def _params(airframe: Airframe, step_ns: int) -> list[float]:
    """In the order in which the kernel reads them."""
    battery = airframe.battery
    legs = len(airframe.legs_flu_m)
    stiffness = airframe.mass_kg * GRAVITY_MPS2 / _REST_DEPTH_M
    natural_rps = float(np.sqrt(GRAVITY_MPS2 / _REST_DEPTH_M))
    damping = 2.0 * _DAMPING_RATIO * natural_rps * airframe.mass_kg
    reach_m = max(float(np.sqrt(x * x + y * y + z * z)) for x, y, z in airframe.legs_flu_m)
    return [
        airframe.mass_kg,
        *airframe.inertia_kgm2,
        airframe.thrust_curve,
        *airframe.drag_linear,
        *airframe.drag_quadratic,
        *airframe.drag_angular,
        battery.full_v,
        battery.capacity_ah * 3600.0,
        battery.full_v,
        battery.knee_v,
        battery.empty_v,
        battery.idle_power_w,
        battery.resistance_ohm,
        stiffness / legs,
        damping / legs,
        _FRICTION,
        reach_m,
        legs,
        _crawl_mps(airframe, step_ns),
    ]


def _crawl_mps(airframe: Airframe, step_ns: int) -> float:
    """Below this speed a foot's friction goes with its speed. A longer step needs more, or friction
    would push back further than it takes to stop the foot, and a vehicle at rest would shake.
    """
    lever_m = max(abs(leg[2]) for leg in airframe.legs_flu_m)
    lightness = 1.0 + airframe.mass_kg * lever_m * lever_m / min(airframe.inertia_kgm2)
    return max(_CRAWL_MPS, _FRICTION * GRAVITY_MPS2 * lightness * step_ns / 1e9)


def _rotors(airframe: Airframe, step_ns: int) -> list[list[float]]:
    return [
        [
            *rotor.position_flu_m,
            *rotor.axis_flu,
            rotor.max_thrust_n,
            -rotor.direction * rotor.torque_per_thrust_m,
            step_ns / (step_ns + rotor.time_constant_ns),
            rotor.max_power_w,
        ]
        for rotor in airframe.rotors
    ]


def _open_voltage(airframe: Airframe, charge: float) -> float:
    battery = airframe.battery
    if charge > 0.2:
        return battery.knee_v + (battery.full_v - battery.knee_v) * (charge - 0.2) * 1.25
    return battery.empty_v + (battery.knee_v - battery.empty_v) * charge * 5.0
