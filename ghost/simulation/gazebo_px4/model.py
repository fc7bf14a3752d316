"""Which of PX4's models a robot is, and what PX4 has to know of it."""

import math
from collections.abc import Sequence

from ghost.core.errors import ConfigError
from ghost.core.frames import LocalFrame
from ghost.core.rotations import rotate
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import Start, VehicleSetup
from ghost.simulation.gazebo_px4.settings import Physics
from ghost.simulation.gazebo_px4.stage import PREFIX, Stage
from ghost.simulation.models.suite import LOOKING

QUADROTORS = {Physics.GAZEBO: "x500", Physics.SIH: "quadx"}

_LEAST_HOVER, _MOST_HOVER = 0.1, 0.8
"""What MPC_THR_HOVER takes."""


def refuse_unflyable(vehicle: VehicleSetup) -> None:
    """A mission counts on eyes; whatever else a robot has is there if PX4 streams it."""
    for model in vehicle.sensors:
        if model.kind in LOOKING:
            raise ConfigError(
                f"sensor {model.name} is a {model.kind.name}, which PX4 passes nothing on of; fly "
                "a robot without it, or in another simulator such as --simulator pybullet"
            )
    if vehicle.start.charge < 1.0:
        raise ConfigError(
            f"the scenario starts with a charge of {vehicle.start.charge:g}; PX4's simulated "
            "battery starts full, so leave start.charge out"
        )


def model_for(airframe: Airframe, wanted: str | None, physics: Physics) -> str:
    if wanted is not None:
        return wanted
    if len(airframe.rotors) != 4:
        raise ConfigError(
            f"the robot has {len(airframe.rotors)} rotors; say which of PX4's models it is, as in "
            f"gazebo_px4@model={QUADROTORS[physics]}, which has four"
        )
    return QUADROTORS[physics]


def model_environment(
    stage: Stage, model: str, world: str | None, vehicle: VehicleSetup, place: LocalFrame
) -> dict[str, str]:
    """Where and as what it begins. Gazebo gets the place in its world, whose origin is that of the
    scenario; SIH stands where PX4's home is.
    """
    east_m, north_m, up_m = _ground_enu_m(vehicle)
    parameters = {"NAV_DLL_ACT": "0"}  # Ghost is no ground station, and PX4 needs none of it
    yaw_enu_rad = _yaw_rad(vehicle.start)
    if stage.physics is Physics.GAZEBO:
        home = place.origin
        at = f"{east_m:.3f},{north_m:.3f},{up_m:.3f},0,0,{yaw_enu_rad:.6f}"
        own = {"PX4_GZ_MODEL_POSE": at, "PX4_GZ_NO_FOLLOW": "1", "HEADLESS": "1"}
        own |= {"PX4_GZ_WORLD": world} if world is not None else {}
    else:
        home = place.to_geodetic((east_m, north_m, up_m))
        own = {"PX4_HOME_YAW": f"{0.5 * math.pi - yaw_enu_rad:.6f}"}
        if model == QUADROTORS[Physics.SIH]:
            parameters |= _sih_quadrotor(vehicle.airframe)
    return {
        **stage.environment,
        "PX4_SIM_MODEL": f"{PREFIX[stage.physics]}_{model}",
        "PX4_HOME_LAT": f"{home.latitude_deg:.9f}",
        "PX4_HOME_LON": f"{home.longitude_deg:.9f}",
        "PX4_HOME_ALT": f"{home.altitude_m:.3f}",
        **own,
        **{f"PX4_PARAM_{name}": value for name, value in parameters.items()},
    }


def _sih_quadrotor(airframe: Airframe) -> dict[str, str]:
    """SIH's quadrotor with the robot's figures. It is an X whose four rotors are alike, whose
    thrust goes with the command, and which drag slows alike in all directions.
    """
    rotors = airframe.rotors
    thrust_n = _mean([rotor.max_thrust_n for rotor in rotors])
    torque_m = _mean([rotor.torque_per_thrust_m for rotor in rotors])
    ixx, iyy, izz = airframe.inertia_kgm2
    hover = min(max(1.0 / airframe.thrust_to_weight, _LEAST_HOVER), _MOST_HOVER)
    figures = {
        "SIH_MASS": airframe.mass_kg,
        "SIH_IXX": ixx,
        "SIH_IYY": iyy,
        "SIH_IZZ": izz,
        "SIH_T_MAX": thrust_n,
        "SIH_Q_MAX": thrust_n * torque_m,
        "SIH_L_ROLL": _mean([abs(rotor.position_flu_m[1]) for rotor in rotors]),
        "SIH_L_PITCH": _mean([abs(rotor.position_flu_m[0]) for rotor in rotors]),
        "SIH_KDV": _mean(airframe.drag_linear),
        "SIH_KDW": _mean(airframe.drag_angular),
        "SIH_T_TAU": _mean([rotor.time_constant_ns / 1e9 for rotor in rotors]),
        "MPC_THR_HOVER": hover,
    }
    return {name: f"{value:.9g}" for name, value in figures.items()}


def _ground_enu_m(vehicle: VehicleSetup) -> tuple[float, float, float]:
    """What it stands on: its own position is its middle's."""
    if vehicle.start.position_enu_m is None:
        return 0.0, 0.0, 0.0
    east_m, north_m, up_m = vehicle.start.position_enu_m
    legs_m = -min(leg[2] for leg in vehicle.airframe.legs_flu_m)
    return east_m, north_m, max(up_m - legs_m, 0.0)


def _yaw_rad(start: Start) -> float:
    east, north, _ = rotate(start.attitude, (1.0, 0.0, 0.0)).tolist()
    return math.atan2(north, east)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
