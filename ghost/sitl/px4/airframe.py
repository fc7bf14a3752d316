"""What PX4 has to know of the vehicle that it is to fly, as its parameters."""

import math

from ghost.core.earth import magnetic_field_enu_t
from ghost.core.errors import ConfigError
from ghost.core.exact import arctangent2
from ghost.core.frames import Geodetic
from ghost.hal import SensorKind
from ghost.hal.airframe import Airframe
from ghost.simulation.adapter import VehicleSetup

MOST_ROTORS = 12
_FIRST_MOTOR = 101
_LEAST_HOVER, _MOST_HOVER = 0.1, 0.8
"""What MPC_THR_HOVER takes."""


def px4_parameters(setup: VehicleSetup, origin: Geodetic) -> dict[str, str]:
    """Its rotors in our order, how its motors go, and how late and how askew its sensors are."""
    airframe = setup.airframe
    if len(airframe.rotors) > MOST_ROTORS:
        raise ConfigError(f"{len(airframe.rotors)} rotors; PX4 flies {MOST_ROTORS} at most")
    east_t, north_t, _ = magnetic_field_enu_t(origin)
    hover = min(max(1.0 / airframe.thrust_to_weight, _LEAST_HOVER), _MOST_HOVER)
    parameters = {
        **_rotors(airframe),
        "THR_MDL_FAC": f"{airframe.thrust_curve:.6g}",
        "MPC_THR_HOVER": f"{hover:.4f}",
        # Our field is simpler than the one that PX4 looks up.
        "EKF2_DECL_TYPE": "0",
        "EKF2_MAG_DECL": f"{math.degrees(arctangent2(east_t, north_t)):.4f}",
    }
    for model in setup.sensors:
        if model.kind is SensorKind.GPS:
            parameters["SENS_GPS0_DELAY"] = str(model.latency_ns // 1_000_000)
            break
    return parameters


def _rotors(airframe: Airframe) -> dict[str, str]:
    parameters = {"CA_AIRFRAME": "0", "CA_ROTOR_COUNT": str(len(airframe.rotors))}
    for index, rotor in enumerate(airframe.rotors):
        forward, left, up = rotor.position_flu_m
        axis_x, axis_y, axis_z = rotor.axis_flu
        torque = rotor.direction * rotor.torque_per_thrust_m
        figures = {
            "PX": forward,
            "PY": -left,
            "PZ": -up,
            "AX": axis_x,
            "AY": -axis_y,
            "AZ": -axis_z,
            "KM": torque,
        }
        for name, value in figures.items():
            parameters[f"CA_ROTOR{index}_{name}"] = f"{value:.6g}"
        parameters[f"PWM_MAIN_FUNC{index + 1}"] = str(_FIRST_MOTOR + index)
    return parameters
