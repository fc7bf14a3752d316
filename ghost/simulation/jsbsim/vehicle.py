"""One vehicle in JSBSim: driven by our rotors, or by the engines of a model that it carries."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ghost.core import exact
from ghost.core.errors import ConfigError
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import Start
from ghost.simulation.jsbsim import client
from ghost.simulation.jsbsim.aircraft import FORCE, MOMENT, config_of
from ghost.simulation.jsbsim.carried import Carried
from ghost.simulation.jsbsim.client import FT_M, LBF_N, Simulation
from ghost.simulation.jsbsim.earth import Site, Three

FloatArray = NDArray[np.float64]

_OBSERVED = (
    *(f"position/ecef-{axis}-ft" for axis in "xyz"),
    *(f"velocities/ecef-{axis}-fps" for axis in "xyz"),
    "position/lat-geod-rad",
    "position/long-gc-rad",
    *(f"attitude/{angle}-rad" for angle in ("phi", "theta", "psi")),
    *(f"velocities/{axis}-rad_sec" for axis in "pqr"),
)
_HEIGHT = "position/h-agl-ft"
_FELT = tuple(f"accelerations/a-pilot-{axis}-ft_sec2" for axis in "xyz")
_TURNED = tuple(f"velocities/{axis}i-rad_sec" for axis in "pqr")


class Drive(Protocol):
    """What makes it fly. All of it is set before each step; rows are those of a Craft."""

    simulation: Simulation

    def set(self, body: list[float], wrench: list[float], push: list[float]) -> None: ...


class Vehicle:
    """Where it is, and what it feels, after each step."""

    def __init__(
        self, drive: Drive, site: Site, start: Start, position_enu_m: Three, ground_m: float
    ) -> None:
        self.drive, simulation = drive, drive.simulation
        simulation.begin(site.conditions(start, position_enu_m, ground_m))
        self._site, self._run = site, simulation.run
        self._observed = [simulation.node(path) for path in _OBSERVED]
        self._felt = [simulation.node(path) for path in _FELT]
        self._turned = [simulation.node(path) for path in _TURNED]
        self._height = simulation.node(_HEIGHT)
        # JSBSim's heights are along the radius, which leaves some millimetres to a geodetic one.
        found_enu_m = self.state()[:3]
        ground_off_m = ground_m + self.height_m() - site.altitude_m(found_enu_m)
        x, y, z = (
            2.0 * wanted - found for wanted, found in zip(position_enu_m, found_enu_m, strict=True)
        )
        simulation.begin(site.conditions(start, (x, y, z), ground_m + ground_off_m))
        self._force, self._rate = self._newest_force(), self._newest_rate()

    def advance(self) -> tuple[Three, Three]:
        """A step, and what an IMU felt of it: the force that moved it, and the mean rate against
        the stars, which is what gyroscopes measure.
        """
        self._run()
        (ax, ay, az), (p, q, r) = self._force, self._rate
        self._force, self._rate = self._newest_force(), self._newest_rate()
        fx, fy, fz = self._force
        next_p, next_q, next_r = self._rate
        # By Adams and Bashforth's second, as JSBSim moves it.
        force = (1.5 * fx - 0.5 * ax, 0.5 * ay - 1.5 * fy, 0.5 * az - 1.5 * fz)
        rate = (0.5 * (p + next_p), -0.5 * (q + next_q), -0.5 * (r + next_r))
        return force, rate

    def state(self) -> list[float]:
        """A row of a Craft's body."""
        x, y, z, vx, vy, vz, latitude, longitude, roll, pitch, yaw, p, q, r = [
            node.get_double_value() for node in self._observed
        ]
        site = self._site
        return [
            *site.position_enu_m(x, y, z),
            *site.velocity_enu_mps(vx, vy, vz),
            *site.attitude(latitude, longitude, roll, pitch, yaw),
            p,
            -q,
            -r,
        ]

    def height_m(self) -> float:
        """Over the ground right below, which falls away from z = 0 as the Earth does."""
        return self._height.get_double_value() * FT_M

    def _newest_force(self) -> Three:
        """Per mass, in FRD. After a step it is the one at its beginning."""
        ax, ay, az = [node.get_double_value() for node in self._felt]
        return ax * FT_M, ay * FT_M, az * FT_M

    def _newest_rate(self) -> Three:
        p, q, r = [node.get_double_value() for node in self._turned]
        return p, q, r


class OurRotors:
    """The airframe's rotors and drag, as one force and one moment from outside."""

    def __init__(self, airframe: Airframe, step_s: float) -> None:
        self.simulation = client.built(config_of(airframe), step_s)
        self._force = [self.simulation.node(f"{FORCE}/{axis}") for axis in "xyz"]
        self._moment = [self.simulation.node(f"{MOMENT}/{axis}") for axis in "lmn"]
        for node in (*self._force, *self._moment):
            node.set_double_value(0.0)
        self.simulation.node(f"{FORCE}/magnitude").set_double_value(1.0)
        self.simulation.node(f"{MOMENT}/magnitude-lbsft").set_double_value(1.0)

    def set(self, body: list[float], wrench: list[float], push: list[float]) -> None:
        w, x, y, z = body[6:10]
        px, py, pz = exact.rotate(w, -x, -y, -z, *push[3:6])
        fx, fy, fz, tx, ty, tz = wrench
        force_n = (fx + px, -fy - py, -fz - pz)
        for node, newtons in zip(self._force, force_n, strict=True):
            node.set_double_value(newtons / LBF_N)
        for node, newton_metres in zip(self._moment, (tx, -ty, -tz), strict=True):
            node.set_double_value(newton_metres / (LBF_N * FT_M))


class ItsOwn:
    """The engines, propellers, drag and air of a model that JSBSim carries. Wind is ours."""

    def __init__(self, model: Carried, airframe: Airframe, step_s: float) -> None:
        if len(airframe.rotors) != len(model.motors):
            raise ConfigError(
                f"the robot has {len(airframe.rotors)} rotors, and JSBSim's {model.name} "
                f"{len(model.motors)}; choose a robot that describes it, such as f450"
            )
        self.simulation = client.carried(model.name, step_s)
        self.simulation.node("propulsion/set-running").set_double_value(-1.0)
        self.commands = [0.0] * len(model.motors)
        self._motors = [self.simulation.node(path) for path in model.motors]
        self._wind = [
            self.simulation.node(f"atmosphere/wind-{way}-fps") for way in ("east", "north", "down")
        ]
        self._speeds = [
            self.simulation.node(f"propulsion/engine[{number}]/propeller-rpm")
            for number in range(len(model.motors))
        ]

    def set(self, body: list[float], wrench: list[float], push: list[float]) -> None:
        del body, wrench
        for node, command in zip(self._motors, self.commands, strict=True):
            node.set_double_value(command)
        east, north, up = push[:3]
        for node, speed_mps in zip(self._wind, (east, north, -up), strict=True):
            node.set_double_value(speed_mps / FT_M)

    def speeds_rps(self) -> FloatArray:
        return np.array([node.get_double_value() / 60.0 for node in self._speeds])
