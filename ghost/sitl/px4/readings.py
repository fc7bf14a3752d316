"""What arrived from a vehicle's sensors, made into what PX4 is sent in one tick."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from firmware_bridge.messages import Message
from ghost.core.errors import ConfigError
from ghost.hal import (
    BarometerSample,
    GpsSample,
    Health,
    ImuSample,
    MagnetometerSample,
    RangefinderSample,
    Ranging,
    Sample,
    SensorKind,
)
from ghost.simulation.adapter import VehicleSetup
from ghost.simulation.models.sensors import SensorModel
from ghost.sitl.px4.packets import distance_sensor, hil_gps, hil_sensor

SHORTEST_TICK_NS = 4_000_000
"""PX4 answers every IMU reading up to 250 Hz, and leaves some out beyond."""
LONGEST_TICK_NS = 10_000_000

_NEEDED = (SensorKind.IMU, SensorKind.GPS, SensorKind.MAGNETOMETER, SensorKind.BAROMETER)
_USED = (*_NEEDED, SensorKind.RANGEFINDER)


class Told(NamedTuple):
    """What to send: HIL_SENSOR last, because PX4 takes what came before it into account when it
    answers. It answers when there is an IMU reading in it.
    """

    before: list[Message]
    hil_sensor: tuple[float, ...]
    has_imu: bool


class Readings:
    """Of each kind PX4 gets the first sensor that the robot has."""

    def __init__(self, setup: VehicleSetup) -> None:
        first: dict[SensorKind, SensorModel] = {}
        for model in setup.sensors:
            first.setdefault(model.kind, model)
        for kind in _NEEDED:
            if kind not in first:
                has = ", ".join(sorted(one.name.lower() for one in first)) or "nothing"
                raise ConfigError(
                    f"PX4 needs an IMU, a GPS, a magnetometer and a barometer to fly; the robot "
                    f"has no {kind.name.lower()}, only {has}"
                )
        self.tick_ns = _tick_ns(first[SensorKind.IMU])
        self._names = [first[kind].name for kind in _USED if kind in first]
        self._ranging: Ranging | None = None
        if SensorKind.RANGEFINDER in first:
            self._ranging = first[SensorKind.RANGEFINDER].spec.ranging

    def told(self, now_us: int, arrived: Sequence[tuple[str, Sample]]) -> "Told":
        before: list[Message] = []
        imus: list[ImuSample] = []
        magnetometer, barometer = None, None
        for name, sample in arrived:
            if name not in self._names or sample.health is Health.OFFLINE:
                continue
            match sample:
                case ImuSample():
                    imus.append(sample)
                case GpsSample():
                    before.append(hil_gps(now_us, sample))
                case MagnetometerSample():
                    magnetometer = sample
                case BarometerSample():
                    barometer = sample
                case RangefinderSample() if self._ranging is not None:
                    before.append(distance_sensor(now_us, sample, self._ranging))
        imu = _mean(imus) if imus else None
        return Told(before, hil_sensor(now_us, imu, magnetometer, barometer), bool(imus))


def _tick_ns(imu: SensorModel) -> int:
    """The shortest multiple of the IMU's period that PX4 can follow."""
    tick_ns = imu.period_ns * ceil(SHORTEST_TICK_NS / imu.period_ns)
    if tick_ns > LONGEST_TICK_NS:
        raise ConfigError(
            f"sensor {imu.name} has a period of {imu.period_ns} ns; PX4 needs one of "
            f"{LONGEST_TICK_NS} ns or less"
        )
    return tick_ns


def _mean(samples: list[ImuSample]) -> ImuSample:
    if len(samples) == 1:
        return samples[0]
    newest = samples[-1]
    accel, gyro = newest.accel_flu_mps2 * 0.0, newest.gyro_flu_rps * 0.0
    for sample in samples:
        accel += sample.accel_flu_mps2
        gyro += sample.gyro_flu_rps
    return ImuSample(
        newest.stamp_ns,
        newest.sequence,
        accel / len(samples),
        gyro / len(samples),
        newest.temperature_c,
        newest.health,
    )
