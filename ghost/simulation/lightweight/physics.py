"""Many vehicles as one batch over flat ground, moved by the kernel."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.lightweight import kernel
from ghost.simulation.models.craft import Craft, views

FloatArray = NDArray[np.float64]

_REST_DEPTH_M = 0.005
_DAMPING_RATIO = 0.7
_FRICTION = 0.7
_CRAWL_MPS = 0.05


class Multirotors(Craft):
    """touch: how many legs are on the ground, and the hardest touch so far, in m/s."""

    def __init__(
        self, airframes: Sequence[Airframe], starts: Sequence[Start], step_ns: int
    ) -> None:
        super().__init__(airframes, starts, step_ns, standing_m)
        self.touch = np.zeros((len(self), 2))
        ground = np.array([_ground(airframe, step_ns) for airframe in airframes])
        legs = np.zeros((len(self), max(len(airframe.legs_flu_m) for airframe in airframes), 3))
        for row, airframe in enumerate(airframes):
            legs[row, : len(airframe.legs_flu_m)] = airframe.legs_flu_m
        self._advance: Callable[[int, float], None] = partial(
            kernel.advance,
            *views(
                self.body,
                self.rotor_speed,
                self.power,
                self.felt,
                self.touch,
                self.motors,
                self.push,
                self.strength,
                self.params,
                self.rotors,
                self.wrench,
                ground,
                legs,
            ),
        )

    def step(self, step_count: int = 1) -> None:
        self._advance(step_count, self.step_ns / 1e9)

    def cast_m(
        self, vehicle: int, origin_flu_m: FloatArray, directions_flu: FloatArray, max_m: float
    ) -> FloatArray:
        """Rays meet the ground, or nothing."""
        away_m = np.full(len(directions_flu), np.inf)
        kernel.cast(self.body, vehicle, origin_flu_m, directions_flu, max_m, away_m)
        return away_m


def standing_m(airframe: Airframe) -> float:
    """How high the centre of mass is when the vehicle stands on its legs."""
    return -min(leg[2] for leg in airframe.legs_flu_m) - _REST_DEPTH_M


def _ground(airframe: Airframe, step_ns: int) -> list[float]:
    """In the order in which the kernel reads them."""
    legs = len(airframe.legs_flu_m)
    stiffness = airframe.mass_kg * GRAVITY_MPS2 / _REST_DEPTH_M
    natural_rps = float(np.sqrt(GRAVITY_MPS2 / _REST_DEPTH_M))
    damping = 2.0 * _DAMPING_RATIO * natural_rps * airframe.mass_kg
    reach_m = max(float(np.sqrt(x * x + y * y + z * z)) for x, y, z in airframe.legs_flu_m)
    crawl_mps = _crawl_mps(airframe, step_ns)
    return [stiffness / legs, damping / legs, _FRICTION, reach_m, legs, crawl_mps]


def _crawl_mps(airframe: Airframe, step_ns: int) -> float:
    """Below this speed a foot's friction goes with its speed. A longer step needs more, or friction
    would push back further than it takes to stop the foot, and a vehicle at rest would shake.
    """
    lever_m = max(abs(leg[2]) for leg in airframe.legs_flu_m)
    lightness = 1.0 + airframe.mass_kg * lever_m * lever_m / min(airframe.inertia_kgm2)
    return max(_CRAWL_MPS, _FRICTION * GRAVITY_MPS2 * lightness * step_ns / 1e9)
