"""Vehicles that Gazebo moves. Rotors and battery are reckoned here, from what was commanded."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.frames import attitude_ned_to_enu, frd_to_flu, ned_to_enu
from ghost.core.rotations import normalize, tilt_of
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import Start, World
from ghost.simulation.gazebo.link import Link, gather, meet
from ghost.simulation.gazebo.protocol import GazeboError, State
from ghost.simulation.gazebo.server import Server
from ghost.simulation.models.craft import Craft
from ghost.simulation.models.rays import in_world

FloatArray = NDArray[np.float64]

_REST_NS = 50_000_000
_REST_BY_NS = 10_000_000_000
_STILL = 0.05  # m/s, and rad/s
_UPRIGHT_RAD = 0.5
_ELSEWHERE_M = 0.5


class Models(Craft):
    """One plugin per vehicle, on ports of their own. Gazebo can't be put back to its beginning from
    here: a run begins where the vehicles have come to rest with their motors off.
    """

    def __init__(self, world: World, server: Server) -> None:
        vehicles = world.vehicles
        super().__init__(
            [vehicle.airframe for vehicle in vehicles],
            [vehicle.start for vehicle in vehicles],
            world.scenario.step_ns,
            standing_m,
        )
        for row, airframe in enumerate(self.airframes):
            if len(airframe.rotors) > server.channels:
                raise ConfigError(
                    f"vehicle {row} has {len(airframe.rotors)} rotors, and the plugin "
                    f"{server.channels} channels; set channels=32 there and here"
                )
        self._server = server
        self.links: list[Link] = []
        try:
            for row in range(len(vehicles)):
                self.links.append(Link(server, row))
            self._begin([vehicle.start for vehicle in vehicles])
        except BaseException:
            self.close()
            raise

    def step(self, step_count: int = 1) -> None:
        pulses_us = self._pulses_us()
        for _ in range(step_count):
            self.propel(self.step_ns / 1e9)
        self._advance(step_count * self._frames_per_step, pulses_us)
        self._show()

    def cast_m(
        self, vehicle: int, origin_flu_m: FloatArray, directions_flu: FloatArray, max_m: float
    ) -> FloatArray:
        """Rays meet flat ground at z = 0, or nothing: what else is in the world isn't told."""
        from_enu_m, directions = in_world(self.body[vehicle], origin_flu_m, directions_flu)
        down = -directions[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            away_m: FloatArray = np.where(down > 0.0, from_enu_m[2] / down, np.inf)
        away_m[away_m > max_m] = np.inf
        return away_m

    def close(self) -> None:
        for link in self.links:
            link.close()

    def _begin(self, starts: Sequence[Start]) -> None:
        off = self._pulses_us()
        meet(self.links, off, self._server.timeout_ns)
        frame_ns = self.links[0].step_ns or 0
        for link in self.links:
            if link.step_ns != frame_ns:
                raise ConfigError(
                    f"Gazebo at {link.where} takes steps of {(link.step_ns or 0) / 1e6:g} ms and "
                    f"at {self.links[0].where} of {frame_ns / 1e6:g} ms; they must be the same"
                )
        if self.step_ns % frame_ns:
            raise ConfigError(
                f"the scenario's step of {self.step_ns} ns is no multiple of Gazebo's {frame_ns} "
                "ns; set step_ns in the scenario, or max_step_size in Gazebo's world"
            )
        self._frames_per_step = self.step_ns // frame_ns
        self._states = [link.state for link in self.links if link.state is not None]
        self._rest(off, frame_ns)
        self._show()
        self.felt[:] = 0.0
        for row, start in enumerate(starts):
            self._refuse_elsewhere(row, start)

    def _rest(self, off: list[list[int]], frame_ns: int) -> None:
        """A vehicle that an earlier run left in the air falls first."""
        frames = still = 0
        while still * frame_ns < _REST_NS:
            if frames * frame_ns >= _REST_BY_NS:
                speeds = ", ".join(f"{_quickest(state):.2g}" for state in self._states)
                raise GazeboError(
                    f"the vehicles are not at rest after {_REST_BY_NS / 1e9:g} s with their motors "
                    f"off, but at ({speeds}) m/s or rad/s; start Gazebo again"
                )
            self._advance(1, off)
            frames += 1
            still = still + 1 if max(map(_quickest, self._states)) < _STILL else 0

    def _advance(self, frame_count: int, pulses_us: list[list[int]]) -> None:
        """So many frames, the same for all vehicles; what their IMUs say is added up."""
        links, timeout_ns = self.links, self._server.timeout_ns
        sums = [[0.0] * 6 for _ in links]
        for _ in range(frame_count):
            for link, pulses in zip(links, pulses_us, strict=True):
                link.post(pulses)
            before, self._states = self._states, gather(links, timeout_ns)
            for total, state in zip(sums, self._states, strict=True):
                fx, fy, fz = state.specific_force_frd_mps2
                wx, wy, wz = state.rate_frd_rps
                total[0] += fx
                total[1] -= fy
                total[2] -= fz
                total[3] += wx
                total[4] -= wy
                total[5] -= wz
        for row, (total, was, now) in enumerate(zip(sums, before, self._states, strict=True)):
            self.felt[row, :6] += total
            self.felt[row, 6] += frame_count
            passed_s = (now.time_ns - was.time_ns) / 1e9
            change_mps = np.subtract(now.velocity_ned_mps, was.velocity_ned_mps)
            self.felt[row, 7:10] = ned_to_enu(change_mps / passed_s)

    def _show(self) -> None:
        for row, state in enumerate(self._states):
            self.body[row, :3] = ned_to_enu(state.position_ned_m)
            self.body[row, 3:6] = ned_to_enu(state.velocity_ned_mps)
            self.body[row, 6:10] = normalize(attitude_ned_to_enu(state.attitude_ned))
            self.body[row, 10:13] = frd_to_flu(state.rate_frd_rps)

    def _pulses_us(self) -> list[list[int]]:
        return [self._pulses_of(row, airframe) for row, airframe in enumerate(self.airframes)]

    def _pulses_of(self, row: int, airframe: Airframe) -> list[int]:
        """Gazebo's motors neither wear nor sag: they are told to do what ours would."""
        lowest_us, highest_us = self._server.lowest_us, self._server.highest_us
        sag = self.power[row, 1].item() / airframe.battery.full_v
        pulses = []
        for rotor in range(len(airframe.rotors)):
            motor = self.motors[row, rotor].item()
            if not math.isfinite(motor):
                raise ConfigError(f"motor {rotor} of vehicle {row} is {motor}; expected 0 to 1")
            left = self.strength[row, rotor].item() * sag * sag
            motor = _weakened(min(max(motor, 0.0), 1.0), left, airframe.thrust_curve)
            pulses.append(lowest_us + round(min(motor, 1.0) * (highest_us - lowest_us)))
        return pulses

    def _refuse_elsewhere(self, row: int, start: Start) -> None:
        where, place = self.links[row].where, self.body[row, :3]
        tilt_rad = tilt_of(self.body[row, 6:10])
        if tilt_rad > _UPRIGHT_RAD:
            raise GazeboError(
                f"vehicle {row} lies tilted by {math.degrees(tilt_rad):.0f} deg in Gazebo at "
                f"{where}; start Gazebo again"
            )
        if any(start.velocity_enu_mps) or any(start.rate_flu_rps):
            raise ConfigError(f"vehicle {row} starts moving, and Gazebo's vehicles start at rest")
        wanted = start.position_enu_m
        if wanted is not None and max(np.abs(place - wanted).tolist()) > _ELSEWHERE_M:
            stands = ", ".join(f"{part:.2f}" for part in place.tolist())
            raise ConfigError(
                f"vehicle {row} starts at {wanted} and stands at ({stands}) in Gazebo at {where}; "
                "place it there in Gazebo's world, or leave the scenario's start out"
            )


def standing_m(airframe: Airframe) -> float:
    """How high the centre of mass is when the vehicle stands on its legs."""
    return -min(leg[2] for leg in airframe.legs_flu_m)


def _quickest(state: State) -> float:
    return max(map(abs, (*state.velocity_ned_mps, *state.rate_frd_rps)))


def _weakened(motor: float, strength: float, curve: float) -> float:
    """The command that gives strength times the thrust."""
    thrust = strength * (curve * motor + (1.0 - curve)) * motor
    if curve == 0.0:
        return thrust
    linear = 1.0 - curve
    return (math.sqrt(linear * linear + 4.0 * curve * thrust) - linear) / (2.0 * curve)
