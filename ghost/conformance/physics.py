"""The world: what falls, what stands, what the air does. Judged by the ground truth."""

import numpy as np
from numpy.typing import NDArray

from ghost.conformance.check import Check, Need, NotApplicableError, require
from ghost.conformance.factory import Factory
from ghost.conformance.flight import MILLISECOND_NS, SECOND_NS, fresh, started
from ghost.core.rotations import multiply, rotate, to_rotation_vector
from ghost.hal import GroundTruth, SensorKind
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Start, Wind

HIGH_M = (0.0, 0.0, 200.0)


def free_fall(factory: Factory) -> str:
    """Nothing is felt while falling, and down is where z is negative."""
    flight = started(factory, Start(position_enu_m=HIGH_M))
    flight.watch(100 * MILLISECOND_NS)
    first, last = flight.truths[0], flight.truths[-1]
    span_s = (last.stamp_ns - first.stamp_ns) / 1e9
    gained = (last.velocity_enu_mps - first.velocity_enu_mps) / span_s
    require(
        np.allclose(gained, (0.0, 0.0, -GRAVITY_MPS2), atol=0.3),
        f"falls with {_text(gained)} m/s2",
        f"(0, 0, -{GRAVITY_MPS2:.2f})",
    )
    fallen_m = float(first.position_enu_m[2] - last.position_enu_m[2])
    drop_m = -0.5 * float(last.velocity_enu_mps[2] + first.velocity_enu_mps[2]) * span_s
    require(
        abs(fallen_m - drop_m) < 0.02 * drop_m,
        f"fell {fallen_m:.4f} m",
        f"{drop_m:.4f} m by its speed",
    )
    felt = ""
    if flight.name_of(SensorKind.IMU) is not None:
        force = np.mean([sample.accel_flu_mps2 for sample in flight.samples(SensorKind.IMU)], 0)
        require(
            np.max(np.abs(force)) < 0.5,
            f"the accelerometer reads {_text(force)} m/s2 in free fall",
            "nothing",
        )
        felt = f", accelerometer {_text(force)}"
    return f"{gained[2]:.3f} m/s2{felt}"


def rest_on_the_ground(factory: Factory) -> str:
    """It stands still, and feels the ground push up with +g."""
    flight = fresh(factory)
    flight.step(2 * SECOND_NS)
    places = np.array([truth.position_enu_m for truth in flight.truths])
    moved_m = float(np.max(np.ptp(places, axis=0)))
    require(moved_m < 0.01, f"moved {moved_m:.3f} m at rest", "less than a centimetre")
    force = np.mean([sample.accel_flu_mps2 for sample in flight.samples(SensorKind.IMU)], 0)
    require(
        np.allclose(force, (0.0, 0.0, GRAVITY_MPS2), atol=0.5),
        f"the accelerometer reads {_text(force)} m/s2 at rest",
        f"(0, 0, +{GRAVITY_MPS2:.2f})",
    )
    return f"accelerometer {_text(force)} m/s2, moved {moved_m * 1000:.2f} mm"


def truth_is_of_now(factory: Factory) -> str:
    """Its stamp is the clock's, its turning is its rate, its way is its velocity."""
    start = Start(HIGH_M, velocity_enu_mps=(3.0, -2.0, 1.0), rate_flu_rps=(0.6, -0.4, 0.8))
    flight = started(factory, start)
    for _ in range(100):
        flight.watch(factory.step_ns)
        stamp_ns = flight.truths[-1].stamp_ns
        require(stamp_ns == flight.now_ns, f"a truth of {stamp_ns} ns", f"{flight.now_ns} ns")
    first, last = flight.truths[0], flight.truths[-1]
    span_s = (last.stamp_ns - first.stamp_ns) / 1e9
    conjugate = first.attitude * (1.0, -1.0, -1.0, -1.0)
    turned = to_rotation_vector(multiply(conjugate, last.attitude)) / span_s
    mean_rate = np.mean([truth.rate_flu_rps for truth in flight.truths], 0)
    require(
        np.allclose(turned, mean_rate, atol=0.03),
        f"turned by {_text(turned)} rad/s",
        f"its rate of {_text(mean_rate)}",
    )
    moved = (last.position_enu_m - first.position_enu_m) / span_s
    mean_velocity = np.mean([truth.velocity_enu_mps for truth in flight.truths], 0)
    require(
        np.allclose(moved, mean_velocity, atol=0.05),
        f"moved by {_text(moved)} m/s",
        f"its velocity of {_text(mean_velocity)}",
    )
    return f"turned {_text(turned)} rad/s at {_text(mean_rate)}"


def energy_is_not_made(factory: Factory) -> str:
    """Spinning and falling with the motors off: drag takes energy, and nothing gives any."""
    start = Start(
        HIGH_M,
        attitude=(0.8, 0.0, 0.6, 0.0),
        velocity_enu_mps=(6.0, 3.0, 4.0),
        rate_flu_rps=(4.0, -3.0, 5.0),
    )
    flight = started(factory, start)
    flight.watch(2 * SECOND_NS)
    spin_j = np.array([_spin_j(factory.airframe, truth) for truth in flight.truths])
    total_j = spin_j + [_flight_j(factory.airframe, truth) for truth in flight.truths]
    for name, energy_j in (("rotation", spin_j), ("motion", total_j)):
        growth = float(np.max(np.maximum.accumulate(-energy_j) + energy_j))
        share = growth / float(total_j[0] if name == "motion" else spin_j[0])
        require(share < 1e-4, f"the energy of {name} grew by {share:.2%}", "never")
    lost_j = float(total_j[0] - total_j[-1])
    momentum = _momentum(factory.airframe, flight.truths[0])
    later = _momentum(factory.airframe, flight.truths[-1])
    cosine = float(np.sum(momentum * later) / (_length(momentum) * _length(later)))
    if not any(factory.airframe.drag_angular):
        require(cosine > 0.9999, f"the spin axis moved to {cosine:.5f}", "to stay in the world")
    return f"{lost_j:.3g} J of {total_j[0]:.4g} J lost to drag in 2 s, none gained"


def wind_blows_along(factory: Factory) -> str:
    """Downwind, on either axis, and the truth says which wind it is."""
    simulated = factory.simulated
    if simulated is not None and not simulated.wind:
        raise NotApplicableError("the simulator has no wind")
    if not any(factory.airframe.drag_linear + factory.airframe.drag_quadratic):
        raise NotApplicableError("the airframe has no drag for a wind to push against")
    told = []
    for wind in ((8.0, 0.0, 0.0), (0.0, -8.0, 0.0)):
        flight = started(factory, Start(HIGH_M), wind=Wind(mean_enu_mps=wind))
        flight.watch(500 * MILLISECOND_NS)
        truth = flight.truths[-1]
        require(
            np.allclose(truth.wind_enu_mps, wind, atol=1e-9),
            f"the truth has a wind of {_text(truth.wind_enu_mps)} m/s",
            f"{_text(np.array(wind))}",
        )
        along = float(np.sum(truth.velocity_enu_mps * wind)) / 8.0
        across = abs(
            float(truth.velocity_enu_mps[0] * wind[1] - truth.velocity_enu_mps[1] * wind[0])
        )
        require(
            0.01 < along < 8.0 and across / 8.0 < 0.1 * along,
            f"after 0.5 s in a wind of {_text(np.array(wind))} it moves with "
            f"{_text(truth.velocity_enu_mps)} m/s",
            "it to be blown along",
        )
        told.append(f"{along:.2f}")
    return f"{' and '.join(told)} m/s along after 0.5 s in 8 m/s"


def _spin_j(airframe: Airframe, truth: GroundTruth) -> float:
    return 0.5 * float(np.sum(airframe.inertia_kgm2 * truth.rate_flu_rps * truth.rate_flu_rps))


def _flight_j(airframe: Airframe, truth: GroundTruth) -> float:
    speed2 = float(np.sum(truth.velocity_enu_mps * truth.velocity_enu_mps))
    return airframe.mass_kg * (0.5 * speed2 + GRAVITY_MPS2 * float(truth.position_enu_m[2]))


def _momentum(airframe: Airframe, truth: GroundTruth) -> NDArray[np.float64]:
    return rotate(truth.attitude, airframe.inertia_kgm2 * truth.rate_flu_rps)


def _length(vector: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.sum(vector * vector)))


def _text(vector: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in vector.tolist()) + ")"


_TRUTH = Need(features=("ground_truth",))
_FELT = Need(features=("ground_truth",), sensors=(SensorKind.IMU,))

CHECKS = (
    Check("truth is of now", truth_is_of_now, _TRUTH),
    Check("free fall", free_fall, _TRUTH),
    Check("rest on the ground", rest_on_the_ground, _FELT, in_flight=True),
    Check("energy is not made", energy_is_not_made, _TRUTH),
    Check("wind blows along", wind_blows_along, _TRUTH),
)
