"""Sensors err as much as they declare, late as they declare, and fail as they are told."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.earth import magnetic_field_enu_t, pressure_pa
from ghost.core.errors import ConfigError
from ghost.core.frames import Geodetic, LocalFrame
from ghost.core.random import RandomSource
from ghost.core.rotations import from_axis_angle
from ghost.hal import ImuSample, Sample
from ghost.hal.scenario import ZURICH
from ghost.simulation.models.sensors import (
    BarometerModel,
    BatteryModel,
    GpsModel,
    ImuModel,
    MagnetometerModel,
    RangefinderModel,
    RotorSpeedModel,
    SensorModel,
    Truth,
)
from ghost.simulation.models.suite import SensorSuite

FloatArray = NDArray[np.float64]
MS = 1_000_000
PERIOD_NS = 10 * MS
PLACE = LocalFrame(ZURICH)
EVERY_KIND: tuple[SensorModel, ...] = (
    ImuModel(name="imu", period_ns=PERIOD_NS),
    GpsModel(name="gps", period_ns=PERIOD_NS),
    MagnetometerModel(name="magnetometer", period_ns=PERIOD_NS),
    BarometerModel(name="barometer", period_ns=PERIOD_NS),
    RangefinderModel(name="rangefinder", period_ns=PERIOD_NS),
    BatteryModel(name="battery", period_ns=PERIOD_NS),
    RotorSpeedModel(name="rotor_speed", period_ns=PERIOD_NS),
)


def still(height_m: float = 5.0) -> Truth:
    """A level vehicle at rest in the air."""
    body = np.zeros(13)
    body[2], body[6] = height_m, 1.0
    return Truth(
        body=body,
        felt=np.zeros(10),
        power=np.array([0.7, 15.5, 12.0]),
        rotor_speed_rps=lambda: np.array([90.0, 91.0, 92.0, 93.0]),
        cast_m=lambda _, rays, __: np.full(len(rays), height_m),
    )


class Bench:
    """A suite in front of a vehicle that doesn't move."""

    def __init__(self, *models: SensorModel, seed: int = 1, height_m: float = 5.0) -> None:
        self.suite = SensorSuite(models, RandomSource(seed), PLACE)
        self.truth = still(height_m)
        self.now_ns = 0

    def step(self, step_ns: int = PERIOD_NS) -> list[tuple[str, Sample]]:
        self.now_ns += step_ns
        self.truth.felt[:7] += (0.0, 0.0, 9.80665, 0.0, 0.0, 0.0, 1.0)
        return self.suite.sample(self.truth, self.now_ns)

    def take(self, count: int) -> list[Any]:
        return [sample for _ in range(count) for _, sample in self.step()]


def imu_values(sample: Any) -> FloatArray:
    return np.concatenate((sample.accel_flu_mps2 - (0.0, 0.0, 9.80665), sample.gyro_flu_rps))


def gps_error(sample: Any) -> FloatArray:
    place = Geodetic(sample.latitude_deg, sample.longitude_deg, sample.altitude_m)
    return PLACE.to_enu_m(place) - (0.0, 0.0, 5.0)


VALUES: dict[str, Callable[[Any], FloatArray]] = {
    "imu": imu_values,
    "gps": gps_error,
    "magnetometer": lambda sample: sample.field_flu_t,
    "barometer": lambda sample: np.array([sample.pressure_pa]),
    "rangefinder": lambda sample: np.array([sample.range_m]),
    "battery": lambda sample: np.array([sample.voltage_v, sample.current_a]),
    "rotor_speed": lambda sample: sample.speed_rps,
}
PER_ROOT_HZ = 10.0  # at a hundred samples a second


@pytest.mark.parametrize(
    ("model", "expected_std"),
    [
        (
            ImuModel(
                name="imu",
                period_ns=PERIOD_NS,
                accel_noise=0.01,
                gyro_noise=0.002,
                accel_walk=0.0,
                gyro_walk=0.0,
            ),
            [0.01 * PER_ROOT_HZ] * 3 + [0.002 * PER_ROOT_HZ] * 3,
        ),
        (
            GpsModel(
                name="gps",
                period_ns=PERIOD_NS,
                wander=0.0,
                horizontal_std_m=0.3,
                vertical_std_m=0.6,
            ),
            [0.3, 0.3, 0.6],
        ),
        (MagnetometerModel(name="magnetometer", period_ns=PERIOD_NS, noise_t=5e-7), [5e-7] * 3),
        (BarometerModel(name="barometer", period_ns=PERIOD_NS, noise_pa=2.0, walk_pa=0.0), [2.0]),
        (RangefinderModel(name="rangefinder", period_ns=PERIOD_NS, noise_m=0.03), [0.03]),
        (BatteryModel(name="battery", period_ns=PERIOD_NS, noise_v=0.05, noise_a=0.2), [0.05, 0.2]),
        (RotorSpeedModel(name="rotor_speed", period_ns=PERIOD_NS, noise_rps=0.5), [0.5] * 4),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_noise_is_what_is_declared(model: SensorModel, expected_std: list[float]) -> None:
    samples = Bench(model).take(8000)
    values = np.array([VALUES[model.name](sample) for sample in samples])
    np.testing.assert_allclose(values.std(axis=0), expected_std, rtol=0.04)


def test_without_errors_a_sensor_says_what_is() -> None:
    bench = Bench(
        ImuModel(
            name="imu",
            period_ns=PERIOD_NS,
            accel_noise=0.0,
            gyro_noise=0.0,
            accel_bias_mps2=0.0,
            gyro_bias_rps=0.0,
            accel_walk=0.0,
            gyro_walk=0.0,
        ),
        BarometerModel(
            name="barometer", period_ns=PERIOD_NS, noise_pa=0.0, bias_pa=0.0, walk_pa=0.0
        ),
        RangefinderModel(name="rangefinder", period_ns=PERIOD_NS, noise_m=0.0),
        BatteryModel(name="battery", period_ns=PERIOD_NS, noise_v=0.0, noise_a=0.0),
        MagnetometerModel(name="magnetometer", period_ns=PERIOD_NS, noise_t=0.0, bias_t=0.0),
    )
    bench.truth.body[6:10] = from_axis_angle((0.0, 0.0, 1.0), np.pi / 2.0)  # nose to the north
    imu, barometer, rangefinder, battery, magnetometer = bench.take(1)
    np.testing.assert_allclose(imu_values(imu), 0.0, rtol=0, atol=1e-12)
    assert barometer.pressure_pa == pressure_pa(ZURICH.altitude_m + 5.0)
    assert rangefinder.range_m == 5.0
    assert (battery.voltage_v, battery.current_a, battery.remaining) == (15.5, 12.0, 0.7)
    forward, left, up = magnetometer.field_flu_t
    assert forward > 1e-5, "to the north"
    assert left == pytest.approx(-magnetic_field_enu_t(ZURICH)[0])
    assert up < -3e-5, "and down, on this half of the Earth"


def test_the_share_of_the_gps_error_that_wanders_comes_back_and_the_rest_is_white() -> None:
    model = GpsModel(
        name="gps", period_ns=PERIOD_NS, wander=0.6, horizontal_std_m=1.0, vertical_std_m=0.5
    )
    firsts, nexts = [], []
    for seed in range(400):
        first, *_, following = Bench(model, seed=seed).take(3)
        firsts.append(gps_error(first)[:2])
        nexts.append(gps_error(following)[:2])
    pairs = np.array([np.ravel(firsts), np.ravel(nexts)])
    np.testing.assert_allclose(pairs.std(axis=1), 1.0, rtol=0.1)
    assert np.corrcoef(pairs)[0, 1] == pytest.approx(0.36, abs=0.1)
    (sample,) = Bench(model).take(1)
    np.testing.assert_array_equal(sample.position_covariance_enu_m2, np.diag([1.0, 1.0, 0.25]))


def test_a_bias_is_drawn_once_and_walks_with_the_root_of_time() -> None:
    model = ImuModel(
        name="imu", period_ns=PERIOD_NS, accel_bias_mps2=0.5, accel_walk=0.1, gyro_walk=0.01
    )
    starts: list[FloatArray] = []
    after: dict[int, list[FloatArray]] = {100: [], 900: []}
    for seed in range(80):
        bench = Bench(model, seed=seed)
        imu: Any = bench.suite.sensors["imu"]
        before = imu.bias.copy()
        starts.append(before)
        for count in (100, 800):
            bench.take(count)
            after[round(bench.now_ns / PERIOD_NS)].append(imu.bias - before)
    assert np.std(np.array(starts)[:, :3]) == pytest.approx(0.5, rel=0.15)
    assert np.std(np.array(after[100])[:, :3]) == pytest.approx(0.1, rel=0.15)
    assert np.std(np.array(after[900])[:, :3]) == pytest.approx(0.3, rel=0.15)
    assert np.std(np.array(after[900])[:, 3:]) == pytest.approx(0.03, rel=0.15)


def test_an_imu_reports_the_mean_since_its_last_sample() -> None:
    quiet = ImuModel(
        name="imu", period_ns=2 * PERIOD_NS, accel_noise=0.0, accel_bias_mps2=0.0, accel_walk=0.0
    )
    bench = Bench(quiet)
    bench.truth.felt[0] = 4.0  # in one step of two
    assert not bench.step()
    ((_, sample),) = bench.step()
    assert isinstance(sample, ImuSample)
    np.testing.assert_allclose(sample.accel_flu_mps2, (2.0, 0.0, 9.80665))


def test_a_sample_arrives_when_its_latency_has_passed_and_says_when_it_was_taken() -> None:
    slow = GpsModel(name="gps", period_ns=4 * PERIOD_NS, latency_ns=3 * PERIOD_NS)
    prompt = BarometerModel(name="barometer", period_ns=PERIOD_NS)
    bench = Bench(prompt, slow)
    arrivals = [
        (round(bench.now_ns / PERIOD_NS), sample.stamp_ns // PERIOD_NS)
        for _ in range(20)
        for name, sample in bench.step()
        if name == "gps"
    ]
    assert arrivals == [(7, 4), (11, 8), (15, 12), (19, 16)]


def test_late_samples_arrive_before_fresh_ones_and_by_their_due_times() -> None:
    later = GpsModel(name="later", period_ns=2 * PERIOD_NS, latency_ns=6 * PERIOD_NS)
    sooner = GpsModel(name="sooner", period_ns=3 * PERIOD_NS, latency_ns=PERIOD_NS)
    prompt = BarometerModel(name="prompt", period_ns=PERIOD_NS)
    bench = Bench(prompt, later, sooner)
    seen = [
        [(name, sample.stamp_ns // PERIOD_NS) for name, sample in bench.step()] for _ in range(10)
    ]
    assert seen[7] == [("later", 2), ("prompt", 8)]
    assert seen[9] == [("later", 4), ("sooner", 9), ("prompt", 10)]


def test_the_declared_share_of_samples_is_lost() -> None:
    model = BarometerModel(name="barometer", period_ns=PERIOD_NS, dropout=0.3)
    samples = Bench(model).take(5000)
    assert len(samples) == pytest.approx(3500, abs=100)
    steps = np.diff([sample.sequence for sample in samples])
    assert steps.max() > 1, "a gap in the sequence tells of the loss"
    assert steps.sum() == pytest.approx(5000, abs=20)


def test_asked_twice_at_the_same_time_there_is_nothing_new() -> None:
    bench = Bench(*EVERY_KIND)
    assert bench.suite.sample(bench.truth, 0) == []
    assert len(bench.step()) == len(EVERY_KIND)
    assert bench.suite.sample(bench.truth, bench.now_ns) == []


@pytest.mark.parametrize("model", EVERY_KIND, ids=lambda model: model.name)
def test_a_sensor_is_independent_of_who_else_is_aboard(model: SensorModel) -> None:
    alone = Bench(model).take(20)
    company = Bench(*EVERY_KIND[::-1])
    beside = [sample for _ in range(20) for name, sample in company.step() if name == model.name]
    assert alone == beside


@pytest.mark.parametrize("model", EVERY_KIND, ids=lambda model: model.name)
def test_two_of_a_kind_err_differently(model: SensorModel) -> None:
    bench = Bench(model, replace(model, name="second"))
    values = VALUES[model.name]
    pairs = np.array([[values(sample) for _, sample in bench.step()] for _ in range(400)])
    first, second = (pairs[:, index, 0] - pairs[:, index, 0].mean() for index in (0, 1))
    assert not (first == second).any()
    if model.name not in {"gps", "barometer"}:  # these wander
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.2


def test_another_seed_is_another_flight() -> None:
    assert Bench(*EVERY_KIND, seed=1).take(2) == Bench(*EVERY_KIND, seed=1).take(2)
    assert Bench(*EVERY_KIND, seed=1).take(2) != Bench(*EVERY_KIND, seed=2).take(2)


@pytest.mark.parametrize(
    ("height_m", "range_m"),
    [(0.01, 0.05), (3.0, 3.0), (11.9, 11.9), (12.1, np.inf), (np.inf, np.inf)],
)
def test_a_rangefinder_sees_between_its_limits(height_m: float, range_m: float) -> None:
    model = RangefinderModel(name="rangefinder", period_ns=PERIOD_NS, noise_m=0.0)
    (sample,) = Bench(model, height_m=height_m).take(1)
    assert sample.range_m == range_m


@pytest.mark.parametrize(
    ("kind", "settings", "complaint"),
    [
        (ImuModel, {"period_ns": 0}, "period_ns is 0"),
        (ImuModel, {"latency_ns": -1}, "latency_ns is -1"),
        (ImuModel, {"accel_noise": -0.1}, "accel_noise is -0.1"),
        (ImuModel, {"gyro_walk": np.nan}, "gyro_walk is nan"),
        (BarometerModel, {"noise_pa": np.inf}, "noise_pa is inf"),
        (GpsModel, {"dropout": 1.0}, "dropout is 1.0"),
        (GpsModel, {"wander": 1.5}, "wander is 1.5"),
        (GpsModel, {"correlation_ns": 0}, "correlation_ns is 0"),
    ],
)
def test_an_impossible_sensor_is_refused(
    kind: Any, settings: dict[str, float], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        kind(**{"name": "odd", "period_ns": PERIOD_NS} | settings)
