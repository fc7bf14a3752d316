"""The pace of each loop, from what the airframe can do."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.exact import sine_cosine
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.hal.envelope import SafetyEnvelope


@dataclass(frozen=True, slots=True)
class Gains:
    """Each loop is slower than the one inside it; rates per second, limits in SI."""

    rate: float
    yaw_rate: float
    rate_integral: float
    attitude: float
    yaw: float
    velocity: float
    climb: float
    velocity_integral: float
    position: float
    height: float

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ConfigError(f"gain {name} is {getattr(self, name)}; expected 0 or more")


def derive(airframe: Airframe, loop_period_ns: int) -> Gains:
    """Pole placement by rule: the inner loop as fast as the motors and the sampling allow, each
    outer one a third of the one inside it.
    """
    slowest_ns = max(rotor.time_constant_ns for rotor in airframe.rotors)
    rate = 0.45 * 1e9 / (slowest_ns + 1.5 * loop_period_ns)
    attitude = rate / 3.0
    velocity = attitude / 2.6
    return Gains(
        rate=rate,
        yaw_rate=rate / 2.0,
        rate_integral=rate,
        attitude=attitude,
        yaw=attitude / 3.0,
        velocity=velocity,
        climb=velocity * 1.3,
        velocity_integral=velocity * 0.3,
        position=velocity / 2.5,
        height=velocity / 2.5,
    )


def pack(gains: Gains, airframe: Airframe, envelope: SafetyEnvelope) -> NDArray[np.float64]:
    """In the order in which the kernel reads them."""
    tilt_mps2 = GRAVITY_MPS2 * _tangent(min(envelope.max_tilt_rad, 1.2))
    spare_mps2 = GRAVITY_MPS2 * float(
        np.sqrt(max(airframe.thrust_to_weight * airframe.thrust_to_weight - 1.0, 0.01))
    )
    return np.array(
        [
            airframe.mass_kg,
            airframe.max_thrust_n,
            *airframe.inertia_kgm2,
            gains.position,
            gains.height,
            envelope.max_speed_mps,
            envelope.max_climb_mps,
            gains.velocity,
            gains.climb,
            min(tilt_mps2, 0.8 * spare_mps2),
            0.9,  # of the greatest thrust: the rest is for attitude
            gains.velocity_integral,
            0.5 * GRAVITY_MPS2,
            gains.attitude,
            gains.yaw,
            envelope.max_rate_rps,
            min(envelope.max_rate_rps, 2.0),
            gains.rate,
            gains.yaw_rate,
            gains.rate_integral,
            40.0,  # rad/s2 that the rate integral may hold: an unbalanced or weakened rotor
            0.5 * (airframe.drag_linear[0] + airframe.drag_linear[1]) / airframe.mass_kg,
            airframe.drag_linear[2] / airframe.mass_kg,
        ]
    )


def _tangent(angle_rad: float) -> float:
    sine, cosine = sine_cosine(angle_rad)
    return sine / cosine
