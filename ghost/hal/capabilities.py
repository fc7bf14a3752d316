"""What a backend says it can do, so that nobody has to assume."""

from dataclasses import dataclass
from enum import IntEnum

from ghost.core.channels import Channel
from ghost.core.errors import ChannelError, ConfigError
from ghost.hal.commands import CommandLevel
from ghost.hal.optics import CENTRE, Lens, Mount, Ranging
from ghost.hal.samples import (
    BarometerSample,
    BatterySample,
    ContactSample,
    DepthImage,
    GpsSample,
    ImuSample,
    LaserScan,
    MagnetometerSample,
    PointCloud,
    RangefinderSample,
    RgbImage,
    RotorSpeedSample,
)
from ghost.hal.vehicle import ControlState, VehicleState, VehicleStatus

HAL_PROTOCOL_VERSION = "1.1"
"""Major: a backend or consumer of the old contract breaks. Minor: something was added."""


class SensorKind(IntEnum):
    IMU = 1
    GPS = 2
    MAGNETOMETER = 3
    BAROMETER = 4
    RANGEFINDER = 5
    DEPTH_CAMERA = 6
    RGB_CAMERA = 7
    LASER_SCAN = 8
    POINT_CLOUD = 9
    BATTERY = 10
    ROTOR_SPEED = 11
    VEHICLE = 12
    STATUS = 13
    CONTROL = 14
    CONTACT = 15


SAMPLE_TYPES: dict[SensorKind, type] = {
    SensorKind.IMU: ImuSample,
    SensorKind.GPS: GpsSample,
    SensorKind.MAGNETOMETER: MagnetometerSample,
    SensorKind.BAROMETER: BarometerSample,
    SensorKind.RANGEFINDER: RangefinderSample,
    SensorKind.DEPTH_CAMERA: DepthImage,
    SensorKind.RGB_CAMERA: RgbImage,
    SensorKind.LASER_SCAN: LaserScan,
    SensorKind.POINT_CLOUD: PointCloud,
    SensorKind.BATTERY: BatterySample,
    SensorKind.ROTOR_SPEED: RotorSpeedSample,
    SensorKind.VEHICLE: VehicleState,
    SensorKind.STATUS: VehicleStatus,
    SensorKind.CONTROL: ControlState,
    SensorKind.CONTACT: ContactSample,
}

_OF_THE_FLIGHT_CONTROLLER = (SensorKind.VEHICLE, SensorKind.STATUS, SensorKind.CONTROL)


@dataclass(frozen=True, slots=True)
class SensorSpec:
    """One source of samples of one vehicle. What it measures travels on /sensors/<name>, what the
    flight controller says of itself on /state/<name>.

    A sensor that measures distance has a ranging, a camera a lens. What comes when it happens, as a
    contact does, comes no more often than its period.
    """

    name: str
    kind: SensorKind
    period_ns: int
    latency_ns: int = 0
    frame_id: str = "body"
    mount: Mount = CENTRE
    ranging: Ranging | None = None
    lens: Lens | None = None

    def __post_init__(self) -> None:
        try:
            _ = self.channel
        except ChannelError as error:
            raise ConfigError(f"sensor {self.name!r}: {error}") from None
        if type(self.period_ns) is not int or self.period_ns <= 0:
            raise ConfigError(
                f"sensor {self.name}: period_ns is {self.period_ns}; needs int above 0"
            )
        if type(self.latency_ns) is not int or self.latency_ns < 0:
            raise ConfigError(
                f"sensor {self.name}: latency_ns is {self.latency_ns}; needs int >= 0"
            )

    @property
    def channel(self) -> Channel[object]:
        folder = "/state" if self.kind in _OF_THE_FLIGHT_CONTROLLER else "/sensors"
        return Channel(f"{folder}/{self.name}", SAMPLE_TYPES[self.kind])


@dataclass(frozen=True, slots=True)
class ActuatorSpec:
    """What the vehicle takes, and the physical limits beyond which a value is a mistake."""

    levels: tuple[CommandLevel, ...]
    rotor_count: int
    max_rate_rps: float = 50.0
    max_speed_mps: float = 100.0
    max_acceleration_mps2: float = 200.0
    max_distance_m: float = 100_000.0

    def __post_init__(self) -> None:
        if type(self.rotor_count) is not int or self.rotor_count < 1:
            raise ConfigError(f"rotor_count is {self.rotor_count}; a vehicle has at least 1")
        for key in ("max_rate_rps", "max_speed_mps", "max_acceleration_mps2", "max_distance_m"):
            if not getattr(self, key) > 0:
                raise ConfigError(f"{key} is {getattr(self, key)}; expected above 0")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Part of the HAL contract: ask here before using a feature."""

    sensors: tuple[SensorSpec, ...]
    command_levels: tuple[CommandLevel, ...]
    ground_truth: bool
    synchronous_step: bool
    replay: bool
    deterministic: bool
    extensions: tuple[str, ...] = ()
    protocol_version: str = HAL_PROTOCOL_VERSION

    def __post_init__(self) -> None:
        names = [sensor.name for sensor in self.sensors]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigError(f"two sensors named {twice[0]!r}; give each its own name")

    def has_extension(self, name: str) -> bool:
        """Whether messages carry extensions[name]; the consumer copes when they don't."""
        return name in self.extensions
