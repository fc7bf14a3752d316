"""All sensors of one vehicle at work, and which kinds there are."""

from collections import deque

from ghost.core.frames import LocalFrame
from ghost.core.random import RandomSource
from ghost.hal import Sample, SensorKind
from ghost.simulation.models import sensors, vision
from ghost.simulation.models.sensors import Sensor, SensorModel, Truth

KINDS: dict[SensorKind, tuple[type[SensorModel], type[Sensor]]] = {
    SensorKind.IMU: (sensors.ImuModel, sensors.Imu),
    SensorKind.GPS: (sensors.GpsModel, sensors.Gps),
    SensorKind.MAGNETOMETER: (sensors.MagnetometerModel, sensors.Magnetometer),
    SensorKind.BAROMETER: (sensors.BarometerModel, sensors.Barometer),
    SensorKind.RANGEFINDER: (sensors.RangefinderModel, sensors.Rangefinder),
    SensorKind.BATTERY: (sensors.BatteryModel, sensors.BatteryGauge),
    SensorKind.ROTOR_SPEED: (sensors.RotorSpeedModel, sensors.RotorSpeed),
    SensorKind.LASER_SCAN: (vision.LaserScanModel, vision.Scanner),
    SensorKind.POINT_CLOUD: (vision.PointCloudModel, vision.Lidar),
    SensorKind.DEPTH_CAMERA: (vision.DepthCameraModel, vision.DepthCamera),
    SensorKind.RGB_CAMERA: (vision.RgbCameraModel, vision.RgbCamera),
}
MODELS = {kind: model for kind, (model, _) in KINDS.items()}
LOOKING = (
    SensorKind.LASER_SCAN,
    SensorKind.POINT_CLOUD,
    SensorKind.DEPTH_CAMERA,
    SensorKind.RGB_CAMERA,
)
CAMERAS = (SensorKind.DEPTH_CAMERA, SensorKind.RGB_CAMERA)


class SensorSuite:
    """All sensors of one vehicle."""

    def __init__(
        self, models: tuple[SensorModel, ...], random: RandomSource, place: LocalFrame
    ) -> None:
        self.sensors = {
            model.name: KINDS[model.kind][1](model, random.child(model.name), place)
            for model in models
        }
        self._schedule = [
            (sensor.model.period_ns, sensor.model.latency_ns, sensor)
            for sensor in self.sensors.values()
        ]
        self._late: deque[tuple[int, str, Sample]] = deque()
        self._measured_ns = 0

    def sample(self, truth: Truth, now_ns: int) -> list[tuple[str, Sample]]:
        """What arrives at now_ns: late samples first, then those measured now, as declared."""
        late, arriving = self._late, []
        while late and late[0][0] <= now_ns:
            arriving.append(late.popleft()[1:])
        if now_ns <= self._measured_ns:  # asked twice, or before any time has passed
            return arriving
        self._measured_ns = now_ns
        for period_ns, latency_ns, sensor in self._schedule:
            if now_ns % period_ns == 0:
                reading = sensor.sample(truth, now_ns)
                if reading is None:
                    continue
                if latency_ns:
                    self._hold(now_ns + latency_ns, sensor.model.name, reading)
                else:
                    arriving.append((sensor.model.name, reading))
        return arriving

    def _hold(self, due_ns: int, name: str, reading: Sample) -> None:
        late = self._late
        late.append((due_ns, name, reading))
        if len(late) > 1 and late[-2][0] > due_ns:
            self._late = deque(sorted(late, key=lambda entry: entry[0]))  # stable: order is kept
