"""A batch of vehicles as arrays: what every simulator of ours packs, spins and reads alike."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.hal import ContactSample
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.models import kernel
from ghost.simulation.models.sensors import Camera, Picture

FloatArray = NDArray[np.float64]


class Craft:
    """The state of a batch, a row per vehicle. Whoever has the physics moves the bodies.

    - body: position ENU, velocity ENU, attitude, rate FLU
    - power: charge (0 to 1), voltage, current
    - felt: sums of specific force and rate over all steps, how many, and the newest acceleration
    - push: wind ENU, force ENU, torque FLU
    - wrench: force and torque FLU of rotors, air and disturbing torque, as propel() left them
    """

    def __init__(
        self,
        airframes: Sequence[Airframe],
        starts: Sequence[Start],
        step_ns: int,
        standing_m: Callable[[Airframe], float],
    ) -> None:
        if not airframes or len(airframes) != len(starts):
            raise ConfigError(f"{len(airframes)} airframes and {len(starts)} starts; need as many")
        count = len(airframes)
        rotor_count = max(len(airframe.rotors) for airframe in airframes)
        self.step_ns = step_ns
        self.airframes = tuple(airframes)
        pairs = tuple(zip(airframes, starts, strict=True))
        self.body = np.array([_body(start, standing_m(airframe)) for airframe, start in pairs])
        self.rotor_speed = np.zeros((count, rotor_count))
        self.power = np.array(
            [
                [start.charge, _open_voltage(airframe, start.charge), 0.0]
                for airframe, start in pairs
            ]
        )
        self.felt = np.zeros((count, 10))
        self.motors = np.zeros((count, rotor_count))
        self.push = np.zeros((count, 9))
        self.strength = np.ones((count, rotor_count))
        self.wrench = np.zeros((count, 6))
        self.params = np.array([_params(airframe) for airframe in airframes])
        self.rotors = np.zeros((count, rotor_count, 10))
        for row, airframe in enumerate(airframes):
            self.rotors[row, : len(airframe.rotors)] = _rotors(airframe, step_ns)
        self._top_speed_rps = [
            np.array([rotor.max_speed_rps for rotor in airframe.rotors]) for airframe in airframes
        ]
        self.propel: Callable[[float], None] = partial(
            kernel.propel,
            *views(
                self.body,
                self.rotor_speed,
                self.power,
                self.motors,
                self.push,
                self.strength,
                self.params,
                self.rotors,
                self.wrench,
            ),
        )

    def __len__(self) -> int:
        return len(self.body)

    def rotor_speed_rps(self, vehicle: int) -> FloatArray:
        top_rps, airframe = self._top_speed_rps[vehicle], self.airframes[vehicle]
        speed_rps = np.empty(len(top_rps))
        kernel.turning(
            self.rotor_speed,
            self.power,
            vehicle,
            airframe.thrust_curve,
            airframe.battery.full_v,
            top_rps,
            speed_rps,
        )
        return speed_rps

    def look(self, vehicle: int, camera: Camera) -> Picture:
        raise NotImplementedError  # where the simulator says that it has cameras, it does

    def take_contacts(self, vehicle: int) -> list[ContactSample]:
        """Those since the last call; none where nothing can be run into."""
        del vehicle
        return []

    def close(self) -> None:
        """Let go of what is not memory."""


def views(*arrays: FloatArray) -> list[Any]:
    """Memory views, because an interpreted kernel reads floats from them several times faster."""
    return [memoryview(array) for array in arrays]  # type: ignore[arg-type]  # arrays are buffers


def _body(start: Start, standing_m: float) -> list[float]:
    return [
        *(start.position_enu_m or (0.0, 0.0, standing_m)),
        *start.velocity_enu_mps,
        *start.attitude,
        *start.rate_flu_rps,
    ]


def _params(airframe: Airframe) -> list[float]:
    """In the order in which the kernels read them."""
    battery = airframe.battery
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
    ]


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
