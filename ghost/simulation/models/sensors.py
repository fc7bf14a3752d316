"""Sensors with noise, bias that wanders, latency and dropouts, for any simulator.

A model is data; a sensor is a model at work on one vehicle, with its own random stream. Readings
are made from the truth alone, at exact multiples of the period, and handed out when their latency
has passed.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ghost.core.earth import magnetic_field_enu_t, pressure_pa
from ghost.core.errors import ConfigError
from ghost.core.exact import rotate
from ghost.core.frames import LocalFrame
from ghost.core.random import RandomSource
from ghost.hal import (
    BarometerSample,
    BatterySample,
    GpsFix,
    GpsSample,
    Health,
    ImuSample,
    Lens,
    MagnetometerSample,
    Mount,
    RangefinderSample,
    Ranging,
    RotorSpeedSample,
    Sample,
    SensorKind,
    SensorSpec,
)
from ghost.hal.message import sealed
from ghost.simulation.models import kernel

FloatArray = NDArray[np.float64]

_MIDDLE = np.zeros(3)
_DOWN = np.array([[0.0, 0.0, -1.0]])
_DOWNWARDS = Mount(attitude=(0.7071067811865476, 0.0, 0.7071067811865476, 0.0))


@dataclass(frozen=True, slots=True)
class Camera:
    """What it takes to take a picture from a vehicle."""

    mount: Mount
    lens: Lens
    near_m: float
    far_m: float


class Picture(NamedTuple):
    """What a lens sees: colours, and distances along its axis, infinite beyond the far limit."""

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]


@dataclass(slots=True)
class Truth:
    """What a simulator knows of one vehicle, for its sensors.

    felt sums specific force (FLU, m/s2) and body rate (FLU, rad/s) over physics steps and counts
    them; it only ever grows, and each IMU takes the difference since its last sample. cast_m gives
    how far rays go from a point of the body along rows of body directions, no farther than a
    limit; infinite where they hit nothing. look takes a picture, where a simulator can.
    """

    body: FloatArray
    felt: FloatArray
    power: FloatArray
    rotor_speed_rps: Callable[[], FloatArray]
    cast_m: Callable[[FloatArray, FloatArray, float], FloatArray]
    look: Callable[[Camera], Picture] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorModel:
    """What all models have. dropout is the share of samples that never arrive."""

    kind: ClassVar[SensorKind]
    name: str
    period_ns: int
    latency_ns: int = 0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, float) and not 0.0 <= value < np.inf:
                raise ConfigError(f"sensor {self.name}: {entry.name} is {value}; expected >= 0")
        if self.dropout >= 1.0:
            raise ConfigError(f"sensor {self.name}: dropout is {self.dropout}; expected below 1")
        _ = self.spec

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(self.name, self.kind, self.period_ns, self.latency_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImuModel(SensorModel):
    """Noise by its density per root hertz, bias walk per root second, both one sigma."""

    kind = SensorKind.IMU
    accel_noise: float = 0.004
    gyro_noise: float = 0.0002
    accel_bias_mps2: float = 0.05
    gyro_bias_rps: float = 0.002
    accel_walk: float = 0.0005
    gyro_walk: float = 0.00002


@dataclass(frozen=True, slots=True, kw_only=True)
class GpsModel(SensorModel):
    """Position error wanders with a correlation time; velocity error is white."""

    kind = SensorKind.GPS
    horizontal_std_m: float = 0.25
    vertical_std_m: float = 0.4
    velocity_std_mps: float = 0.08
    correlation_ns: int = 20_000_000_000
    wander: float = 0.5
    satellites: int = 14

    def __post_init__(self) -> None:
        SensorModel.__post_init__(self)
        if self.wander > 1.0:
            raise ConfigError(f"sensor {self.name}: wander is {self.wander}; expected 0 to 1")
        if self.correlation_ns < self.period_ns:
            raise ConfigError(
                f"sensor {self.name}: correlation_ns is {self.correlation_ns}; expected a period "
                f"of {self.period_ns} or more"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MagnetometerModel(SensorModel):
    kind = SensorKind.MAGNETOMETER
    noise_t: float = 4.0e-7
    bias_t: float = 3.0e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class BarometerModel(SensorModel):
    kind = SensorKind.BAROMETER
    noise_pa: float = 1.5
    bias_pa: float = 30.0
    walk_pa: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RangefinderModel(SensorModel):
    """One beam downwards."""

    kind = SensorKind.RANGEFINDER
    noise_m: float = 0.02
    min_m: float = 0.05
    max_m: float = 12.0

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(
            self.name,
            self.kind,
            self.period_ns,
            self.latency_ns,
            mount=_DOWNWARDS,
            ranging=Ranging(self.min_m, self.max_m, self.noise_m),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatteryModel(SensorModel):
    kind = SensorKind.BATTERY
    noise_v: float = 0.02
    noise_a: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RotorSpeedModel(SensorModel):
    kind = SensorKind.ROTOR_SPEED
    noise_rps: float = 0.2


class Sensor:
    """One model at work. measure() is given the truth and makes one sample."""

    def __init__(self, model: Any, random: RandomSource, place: LocalFrame) -> None:
        self.model = model
        self.random = random
        self.place = place
        self.sequence = 0
        self.frozen: Sample | None = None
        self.offset: tuple[float, ...] = ()
        self.noise_scale = 1.0
        self.silent = False
        self.blinded = False
        self.health = Health.OK
        self._last: Sample | None = None
        self.start()

    def start(self) -> None:
        """Draw what stays for the run, such as a turn-on bias."""

    def measure(self, truth: Truth, stamp_ns: int) -> Any:
        raise NotImplementedError

    def sample(self, truth: Truth, stamp_ns: int) -> Sample | None:
        """The reading at stamp_ns, or None where it is lost. Random draws don't depend on faults:
        a run with a fault is the same run up to the fault.
        """
        reading = self.measure(truth, stamp_ns)
        dropout = self.model.dropout
        is_lost = dropout > 0.0 and self.random.uniform() < dropout
        if self.frozen is not None:
            reading = replace(
                self.frozen,  # type: ignore[type-var]  # every sample is a dataclass
                stamp_ns=stamp_ns,
                sequence=self.sequence,
                health=self.health,
            )
        self._last = reading
        self.sequence += 1
        return None if is_lost or self.silent else reading

    def freeze(self) -> None:
        self.frozen = self._last

    def heal(self) -> None:
        self.frozen, self.offset, self.noise_scale = None, (), 1.0
        self.silent, self.blinded, self.health = False, False, Health.OK

    def offset_of(self, axis: int) -> float:
        return self.offset[axis] if axis < len(self.offset) else 0.0


class Imu(Sensor):
    def start(self) -> None:
        model: ImuModel = self.model
        per_sample = float(np.sqrt(1e9 / model.period_ns))
        per_step = float(np.sqrt(model.period_ns / 1e9))
        turn_on = np.repeat([model.accel_bias_mps2, model.gyro_bias_rps], 3)
        self._work = np.zeros((5, 7))
        self.bias = self._work[kernel.BIAS, :6]
        self.bias[:] = turn_on * self.random.normal(6)
        walk = np.repeat([model.accel_walk, model.gyro_walk], 3) * per_step
        noise = np.repeat([model.accel_noise, model.gyro_noise], 3) * per_sample
        self._work[kernel.WALK, :6], self._work[kernel.NOISE, :6] = walk, noise
        self._reading = self._work[kernel.READING, :6]

    def measure(self, truth: Truth, stamp_ns: int) -> ImuSample:
        kernel.read_imu(truth.felt, self._work, self.random.normal(12), self.noise_scale)
        reading = sealed(self._reading)
        if self.offset:
            reading = reading + np.array([self.offset_of(axis) for axis in range(6)])
        return ImuSample(stamp_ns, self.sequence, reading[:3], reading[3:], 25.0, self.health)


class Gps(Sensor):
    def start(self) -> None:
        model: GpsModel = self.model
        self._std = np.array([model.horizontal_std_m, model.horizontal_std_m, model.vertical_std_m])
        # Part of the variance wanders, the rest is white; together they are what is declared.
        self._keep = 1.0 - model.period_ns / model.correlation_ns
        self._wander = self._std * model.wander * self.random.normal(3)
        self._white = self._std * float(np.sqrt(max(1.0 - model.wander * model.wander, 0.0)))
        self._kick = self._std * (model.wander * float(np.sqrt(1.0 - self._keep * self._keep)))
        self._covariance = np.diag(self._std * self._std)

    def measure(self, truth: Truth, stamp_ns: int) -> GpsSample:
        draw = self.random.normal(9)
        self._wander = self._keep * self._wander + self._kick * draw[:3]
        error = (self._wander + self._white * draw[3:6]) * self.noise_scale
        position = truth.body[:3] + error
        if self.offset:
            position = position + np.array([self.offset_of(axis) for axis in range(3)])
        place = self.place.to_geodetic(position)
        velocity = truth.body[3:6] + self.model.velocity_std_mps * self.noise_scale * draw[6:]
        return GpsSample(
            stamp_ns,
            self.sequence,
            place.latitude_deg,
            place.longitude_deg,
            place.altitude_m,
            velocity,
            self._covariance,
            self.model.velocity_std_mps,
            self.model.satellites if self.health is Health.OK else 0,
            GpsFix.THREE_D if self.health is Health.OK else GpsFix.NONE,
            health=self.health,
        )


class Magnetometer(Sensor):
    def start(self) -> None:
        self._field = magnetic_field_enu_t(self.place.origin)
        self._bias = self.model.bias_t * self.random.normal(3)

    def measure(self, truth: Truth, stamp_ns: int) -> MagnetometerSample:
        w, x, y, z = truth.body[6:10].tolist()
        seen = np.array(rotate(w, -x, -y, -z, *self._field))
        seen += self._bias
        seen += self.model.noise_t * self.noise_scale * self.random.normal(3)
        if self.offset:
            seen += np.array([self.offset_of(axis) for axis in range(3)])
        return MagnetometerSample(stamp_ns, self.sequence, seen, self.health)


class Barometer(Sensor):
    def start(self) -> None:
        self._bias_pa = self.model.bias_pa * self.random.normal()
        self._walk_pa = self.model.walk_pa * float(np.sqrt(self.model.period_ns / 1e9))

    def measure(self, truth: Truth, stamp_ns: int) -> BarometerSample:
        draw = self.random.normal(2).tolist()
        self._bias_pa += self._walk_pa * draw[0]
        pressure = pressure_pa(self.place.origin.altitude_m + float(truth.body[2]))
        pressure += self._bias_pa + self.model.noise_pa * self.noise_scale * draw[1]
        return BarometerSample(
            stamp_ns, self.sequence, pressure + self.offset_of(0), 25.0, self.health
        )


class Rangefinder(Sensor):
    def measure(self, truth: Truth, stamp_ns: int) -> RangefinderSample:
        noise_m = self.model.noise_m * self.noise_scale * self.random.normal()
        clear_m = truth.cast_m(_MIDDLE, _DOWN, self.model.max_m).item()
        distance_m = clear_m + noise_m + self.offset_of(0)
        if distance_m > self.model.max_m:
            distance_m = float("inf")
        return RangefinderSample(
            stamp_ns, self.sequence, max(distance_m, self.model.min_m), self.health
        )


class BatteryGauge(Sensor):
    def measure(self, truth: Truth, stamp_ns: int) -> BatterySample:
        charge, voltage_v, current_a = truth.power.tolist()
        draw = self.random.normal(2).tolist()
        return BatterySample(
            stamp_ns,
            self.sequence,
            voltage_v + self.model.noise_v * self.noise_scale * draw[0] + self.offset_of(0),
            current_a + self.model.noise_a * self.noise_scale * draw[1] + self.offset_of(1),
            charge,
            self.health,
        )


class RotorSpeed(Sensor):
    def measure(self, truth: Truth, stamp_ns: int) -> RotorSpeedSample:
        speed_rps = truth.rotor_speed_rps()
        noise = self.model.noise_rps * self.noise_scale * self.random.normal(len(speed_rps))
        reading = speed_rps + noise
        if self.offset:
            reading += np.array([self.offset_of(rotor) for rotor in range(len(reading))])
        return RotorSpeedSample(stamp_ns, self.sequence, reading, self.health)
