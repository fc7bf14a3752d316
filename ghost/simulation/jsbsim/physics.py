"""Vehicles, each in a JSBSim of its own, felt by our sensors."""

import math

import numpy as np
from numpy.typing import NDArray

from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import World
from ghost.simulation.jsbsim.aircraft import standing_m
from ghost.simulation.jsbsim.carried import Carried
from ghost.simulation.jsbsim.earth import Site
from ghost.simulation.jsbsim.vehicle import Drive, ItsOwn, OurRotors, Vehicle
from ghost.simulation.models.craft import Craft
from ghost.simulation.models.rays import in_world

FloatArray = NDArray[np.float64]


class Vehicles(Craft):
    """They don't meet: each has an Earth for itself, with level ground at the origin's height."""

    def __init__(self, world: World, model: Carried | None) -> None:
        setups, origin = world.vehicles, world.scenario.origin
        super().__init__(
            [setup.airframe for setup in setups],
            [setup.start for setup in setups],
            world.scenario.step_ns,
            standing_m if model is None else _legs_m,
        )
        step_s = self.step_ns / 1e9
        site = Site(origin)
        self._own: list[ItsOwn] = []
        if model is None:
            drives: list[Drive] = [OurRotors(airframe, step_s) for airframe in self.airframes]
        else:
            self._own = [ItsOwn(model, airframe, step_s) for airframe in self.airframes]
            drives = [*self._own]
        self._vehicles = []
        for row, (drive, setup) in enumerate(zip(drives, setups, strict=True)):
            x, y, z = self.body[row, :3].tolist()
            vehicle = Vehicle(drive, site, setup.start, (x, y, z), origin.altitude_m)
            self._vehicles.append(vehicle)
            self.body[row] = vehicle.state()

    def step(self, step_count: int = 1) -> None:
        step_s = self.step_ns / 1e9
        for _ in range(step_count):
            self.propel(step_s)
            for row, own in enumerate(self._own):
                own.commands = self._commands(row)
            for row, vehicle in enumerate(self._vehicles):
                body, felt = self.body[row], self.felt[row]
                vehicle.drive.set(body.tolist(), self.wrench[row].tolist(), self.push[row].tolist())
                force, rate = vehicle.advance()
                felt[7:10] = body[3:6]
                body[:] = vehicle.state()
                felt[:7] += (*force, *rate, 1.0)
                felt[7:10] = (body[3:6] - felt[7:10]) / step_s

    def rotor_speed_rps(self, vehicle: int) -> FloatArray:
        return self._own[vehicle].speeds_rps() if self._own else super().rotor_speed_rps(vehicle)

    def cast_m(
        self, vehicle: int, origin_flu_m: FloatArray, directions_flu: FloatArray, max_m: float
    ) -> FloatArray:
        """Rays meet the ground as it lies under the vehicle, or nothing."""
        begin, directions = in_world(self.body[vehicle], origin_flu_m, directions_flu)
        above_m = begin[2] - self.body[vehicle, 2] + self._vehicles[vehicle].height_m()
        down = -directions[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            away_m: FloatArray = np.where(down > 0.0, above_m / down, np.inf)
        away_m[away_m > max_m] = np.inf
        return away_m

    def _commands(self, row: int) -> list[float]:
        """Of a model's own motors, which neither wear nor sag: a voltage is what they take, and
        thrust goes with its square.
        """
        sag = self.power[row, 1].item() / self.airframes[row].battery.full_v
        motors, strengths = self.motors[row].tolist(), self.strength[row].tolist()
        return [
            min(max(motor, 0.0), 1.0) * sag * math.sqrt(strength)
            for motor, strength in zip(motors, strengths, strict=True)
        ]


def _legs_m(airframe: Airframe) -> float:
    return -min(leg[2] for leg in airframe.legs_flu_m)
