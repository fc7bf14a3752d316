"""Sensors against the truth: the right axis, the right sign, the right size."""

import numpy as np
from numpy.typing import NDArray

from ghost.conformance.check import Check, Need, NotApplicableError, require
from ghost.conformance.commands import HEIGHT_M
from ghost.conformance.factory import Factory
from ghost.conformance.flight import MILLISECOND_NS, SECOND_NS, SEED, Flight, fresh, started
from ghost.conformance.physics import HIGH_M
from ghost.core.earth import magnetic_field_enu_t, pressure_pa
from ghost.core.frames import Geodetic, LocalFrame
from ghost.core.rotations import from_rotation_vector, rotate, rotate_inverse, to_rotation_vector
from ghost.hal import SensorKind
from ghost.hal.airframe import GRAVITY_MPS2
from ghost.simulation.adapter import Start

FloatArray = NDArray[np.float64]

_AXES = np.eye(3)
_ASKEW = from_rotation_vector((0.5, -0.4, 0.9))
_LEAST_FORCE_MPS2 = 0.3


def accelerometer_axes(factory: Factory) -> str:
    """Drag is what a falling vehicle feels: blow along each body axis, either way. The difference
    of the two leaves the accelerometer's bias out.
    """
    ratios = []
    for axis, name in zip(_AXES, "xyz", strict=True):
        seen, true = _felt(factory, 20.0 * axis)
        other_seen, other_true = _felt(factory, -20.0 * axis)
        seen, true = 0.5 * (seen - other_seen), 0.5 * (true - other_true)
        force = float(np.sum(true * axis))
        if abs(force) < _LEAST_FORCE_MPS2:
            continue
        require(force < 0.0, f"drag pushes with {force:.2f} m/s2 along the motion", "against it")
        error = float(np.max(np.abs(seen - true)))
        require(
            error < 0.1 * abs(force) + 0.1,
            f"blown at along {name}, the accelerometer reads {seen.round(2).tolist()} m/s2",
            f"{true.round(2).tolist()}",
        )
        ratios.append(f"{name} {np.sum(seen * axis):.2f} of {force:.2f}")
    if not ratios:
        raise NotApplicableError(f"less than {_LEAST_FORCE_MPS2} m/s2 of drag at 20 m/s")
    return f"{', '.join(ratios)} m/s2"


def gyro_axes(factory: Factory) -> str:
    """Roll lifts the left side, pitch lowers the nose, yaw turns the nose from east to north."""
    told = []
    for axis, name in zip(_AXES, ("roll", "pitch", "yaw"), strict=True):
        x, y, z = (0.8 * axis).tolist()
        flight = started(factory, Start(HIGH_M, rate_flu_rps=(x, y, z)))
        flight.watch(200 * MILLISECOND_NS)
        pairs = flight.with_truth(SensorKind.IMU)
        seen = np.mean([sample.gyro_flu_rps for sample, _ in pairs], 0)
        true = np.mean([truth.rate_flu_rps for _, truth in pairs], 0)
        require(
            np.allclose(seen, true, atol=0.05) and np.allclose(seen, (x, y, z), atol=0.2),
            f"the gyro reads {seen.round(3).tolist()} rad/s in a {name} of 0.8",
            f"{true.round(3).tolist()}",
        )
        attitude = flight.truths[-1].attitude
        nose, left = rotate(attitude, _AXES[0]), rotate(attitude, _AXES[1])
        moved = {"roll": left[2], "pitch": -nose[2], "yaw": nose[1]}[name]
        require(moved > 0.1, f"a positive {name} turned the body the other way", "FLU in ENU")
        told.append(f"{name} {np.sum(seen * axis):+.2f}")
    return f"{', '.join(told)} rad/s of 0.80"


def magnetometer_axes(factory: Factory) -> str:
    """The field stays where it is while the vehicle turns under it."""
    field = np.array(magnetic_field_enu_t(factory.scenario(SEED).origin))
    turns = (
        (0.0, 0.0, 0.0),
        (0.0, 0.0, 1.5),
        (0.0, 0.0, -2.5),
        (1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.5, -0.4, 0.9),
    )
    worst_deg = 0.0
    for turn in turns:
        w, x, y, z = from_rotation_vector(turn).tolist()
        flight = started(factory, Start(HIGH_M, attitude=(w, x, y, z)))
        flight.watch(200 * MILLISECOND_NS)
        pairs = flight.with_truth(SensorKind.MAGNETOMETER)
        seen = np.mean([sample.field_flu_t for sample, _ in pairs], 0)
        true = rotate_inverse(pairs[0][1].attitude, field)
        off_deg = _angle_deg(seen, true)
        worst_deg = max(worst_deg, off_deg)
        require(
            off_deg < 15.0,
            f"turned by {turn} the magnetometer reads {(seen * 1e6).round(1).tolist()} uT",
            f"{(true * 1e6).round(1).tolist()} uT",
        )
    return f"within {worst_deg:.1f} deg in {len(turns)} attitudes"


def gps_axes(factory: Factory) -> str:
    """East, north and up of where the vehicle was at the stamp, and how fast."""
    place = LocalFrame(factory.scenario(SEED).origin)
    start = Start((60.0, -40.0, 150.0), velocity_enu_mps=(6.0, -3.0, 2.0))
    flight = started(factory, start)
    flight.watch(1500 * MILLISECOND_NS)
    worst_m = 0.0
    for sample, truth in flight.with_truth(SensorKind.GPS):
        where = Geodetic(sample.latitude_deg, sample.longitude_deg, sample.altitude_m)
        error = place.to_enu_m(where) - truth.position_enu_m
        worst_m = max(worst_m, float(np.max(np.abs(error))))
        spread = np.sqrt(np.diag(sample.position_covariance_enu_m2))
        require(
            np.all(np.abs(error) < 6.0 * spread + 0.1),
            f"a fix off by {error.round(2).tolist()} m",
            f"its own {spread.round(2).tolist()} m, six times at most",
        )
        slip = np.abs(sample.velocity_enu_mps - truth.velocity_enu_mps)
        require(
            np.all(slip < 6.0 * sample.velocity_std_mps + 0.1),
            f"a GPS velocity of {sample.velocity_enu_mps.round(2).tolist()} m/s",
            f"{truth.velocity_enu_mps.round(2).tolist()}",
        )
    return f"within {worst_m:.2f} m at (60, -40, 150), and as fast"


def barometer_falls_with_height(factory: Factory) -> str:
    ground_m = factory.scenario(SEED).origin.altitude_m
    flight = started(factory, Start(HIGH_M))
    flight.watch(2500 * MILLISECOND_NS)
    pairs = flight.with_truth(SensorKind.BAROMETER)
    heights_m = np.array([float(truth.position_enu_m[2]) for _, truth in pairs])
    seen_pa = np.array([sample.pressure_pa for sample, _ in pairs])
    true_pa = np.array([pressure_pa(ground_m + height_m) for height_m in heights_m.tolist()])
    seen, true = (float(np.polyfit(heights_m, values, 1)[0]) for values in (seen_pa, true_pa))
    require(abs(seen - true) < 0.07 * abs(true), f"{seen:.2f} Pa a metre", f"{true:.2f}")
    off_pa = float(np.mean(seen_pa - true_pa))
    require(abs(off_pa) < 1000.0, f"off by {off_pa:.0f} Pa", "the air at the scenario's origin")
    return f"{seen:.2f} Pa a metre of {true:.2f}, off by {off_pa:.0f} Pa"


def rangefinder_sees_the_ground(factory: Factory) -> str:
    """Level, the height; rolled, the longer way along the beam."""
    told = []
    for roll_rad in (0.0, 0.4):
        w, x, y, z = from_rotation_vector((roll_rad, 0.0, 0.0)).tolist()
        flight = started(factory, Start((0.0, 0.0, 2.5), attitude=(w, x, y, z)))
        flight.watch(400 * MILLISECOND_NS)
        errors_m = [
            sample.range_m - float(truth.position_enu_m[2]) / float(np.cos(roll_rad))
            for sample, truth in flight.with_truth(SensorKind.RANGEFINDER)
        ]
        off_m = float(np.mean(errors_m))
        require(
            abs(off_m) < 0.1,
            f"off by {off_m:.2f} m at a roll of {roll_rad} rad",
            "the distance to the ground, downwards",
        )
        told.append(f"{off_m * 1000:+.0f} mm")
    return f"{told[0]} level, {told[1]} at a roll of 0.4 rad"


def estimate_follows_the_truth(factory: Factory) -> str:
    """After a take-off: what the flight controller believes is about where it is."""
    flight = fresh(factory)
    flight.take_off(HEIGHT_M)
    flight.watch(SECOND_NS)
    place_m = tilt_deg = 0.0
    for state, truth in flight.with_truth(SensorKind.VEHICLE):
        place_m = max(place_m, _length(state.position_enu_m - truth.position_enu_m))
        turn = to_rotation_vector(_between(state.attitude, truth.attitude))
        tilt_deg = max(tilt_deg, float(np.degrees(_length(turn))))
    require(
        place_m < 2.0 and tilt_deg < 10.0,
        f"off by {place_m:.2f} m and {tilt_deg:.1f} deg",
        "less than 2 m and 10 deg",
    )
    return f"within {place_m:.2f} m and {tilt_deg:.1f} deg"


def _felt(factory: Factory, velocity_flu_mps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean specific force by the accelerometer, and by the change of the true velocity."""
    w, x, y, z = _ASKEW.tolist()
    east, north, up = rotate(_ASKEW, velocity_flu_mps).tolist()
    start = Start(HIGH_M, attitude=(w, x, y, z), velocity_enu_mps=(east, north, up))
    flight: Flight = started(factory, start)
    flight.watch(100 * MILLISECOND_NS)
    pairs = flight.with_truth(SensorKind.IMU)
    (_, first), (_, last) = pairs[0], pairs[-1]
    seen = np.mean([sample.accel_flu_mps2 for sample, _ in pairs[1:]], 0)
    span_s = (last.stamp_ns - first.stamp_ns) / 1e9
    force = (last.velocity_enu_mps - first.velocity_enu_mps) / span_s + GRAVITY_MPS2 * _AXES[2]
    return seen, rotate_inverse(last.attitude, force)


def _between(one: FloatArray, other: FloatArray) -> FloatArray:
    w, x, y, z = one.tolist()
    a, b, c, d = other.tolist()
    return np.array(
        [
            w * a + x * b + y * c + z * d,
            w * b - x * a - y * d + z * c,
            w * c + x * d - y * a - z * b,
            w * d - x * c + y * b - z * a,
        ]
    )


def _angle_deg(one: FloatArray, other: FloatArray) -> float:
    cosine = float(np.sum(one * other)) / (_length(one) * _length(other))
    return float(np.degrees(np.arccos(min(max(cosine, -1.0), 1.0))))


def _length(vector: FloatArray) -> float:
    return float(np.sqrt(np.sum(vector * vector)))


def _need(kind: SensorKind) -> Need:
    return Need(features=("ground_truth",), sensors=(kind,))


CHECKS = (
    Check("accelerometer axes", accelerometer_axes, _need(SensorKind.IMU)),
    Check("gyro axes", gyro_axes, _need(SensorKind.IMU)),
    Check("magnetometer axes", magnetometer_axes, _need(SensorKind.MAGNETOMETER)),
    Check("gps axes", gps_axes, _need(SensorKind.GPS)),
    Check("barometer falls with height", barometer_falls_with_height, _need(SensorKind.BAROMETER)),
    Check(
        "rangefinder sees the ground", rangefinder_sees_the_ground, _need(SensorKind.RANGEFINDER)
    ),
    Check(
        "estimate follows the truth",
        estimate_follows_the_truth,
        _need(SensorKind.VEHICLE),
        in_flight=True,
    ),
)
