"""Listens to the sensors that measure distance, and says where in the world the obstacles are."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ghost.core.errors import ConfigError
from ghost.events import Bus
from ghost.hal import Obstacles, Sample, SensorKind, SensorSpec, Sight, VehicleState
from ghost.hal.channels import OBSTACLES, VEHICLE
from ghost.hal.message import Ranges
from ghost.perception.eyes import eye_of
from ghost.perception.placing import History, Posture, deviations, placed
from ghost.perception.sight import judge

SOURCE = "perception"

_KINDS = (SensorKind.DEPTH_CAMERA, SensorKind.LASER_SCAN, SensorKind.POINT_CLOUD)
_MOST_WAITING = 32
_NO_POINTS, _NO_READINGS = np.empty((3, 0)), np.empty(0)


def obstacle_sensors(specs: Iterable[SensorSpec]) -> tuple[SensorSpec, ...]:
    """Those that obstacles can be found with."""
    return tuple(spec for spec in specs if spec.kind in _KINDS)


class ObstacleFinder:
    """One Obstacles message for each sample of each obstacle sensor among specs.

    A sample waits until the vehicle's state after it is known, a fiftieth of a second at most. One
    from before the states that are kept can't be placed, and nothing is said of it: whoever needs
    obstacles has to take silence for blindness anyway.
    """

    def __init__(self, bus: Bus, specs: Sequence[SensorSpec]) -> None:
        self._bus = bus
        self._history = History()
        self._waiting: deque[tuple[_Sensor, Any]] = deque(maxlen=_MOST_WAITING)
        sensors = [_Sensor(spec) for spec in obstacle_sensors(specs)]
        self._subscriptions = [
            bus.subscribe(sensor.spec.channel, partial(self._on_sample, sensor), name=SOURCE)
            for sensor in sensors
        ]
        if sensors:
            self._subscriptions.append(bus.subscribe(VEHICLE, self._on_state, name=SOURCE))

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.cancel()

    def _on_sample(self, sensor: "_Sensor", sample: Any) -> None:
        if self._history.reaches(sample.stamp_ns):
            self._look(sensor, sample)
        else:
            self._waiting.append((sensor, sample))

    def _on_state(self, state: VehicleState) -> None:
        self._history.add(state)
        for _ in range(len(self._waiting)):
            self._on_sample(*self._waiting.popleft())

    def _look(self, sensor: "_Sensor", sample: Sample) -> None:
        posture = self._history.at(sample.stamp_ns)
        if posture is not None:
            self._bus.publish(OBSTACLES, sensor.look(sample, posture))


class _Sensor:
    """A sensor, and how often in a row it has said the same."""

    def __init__(self, spec: SensorSpec) -> None:
        if spec.ranging is None:
            raise ConfigError(f"sensor {spec.name}: no ranging; it needs one to find obstacles")
        self.spec = spec
        self._ranging = spec.ranging
        self._eye = eye_of(spec, spec.ranging)
        self._last = b""
        self._repeats = 0

    def look(self, sample: Sample, posture: Posture) -> Obstacles:
        raw = self._eye.raw(sample)
        self._repeats = self._repeats + 1 if raw == self._last else 0
        self._last = raw
        readings_m = self._eye.readings_m(sample)
        sight = judge(readings_m, self._ranging, health=sample.health, repeats=self._repeats)
        points_m, found_m = self._points(sample, readings_m, sight)
        return Obstacles(
            sample.stamp_ns,
            self.spec.name,
            sight,
            placed(points_m, self.spec.mount, posture),
            deviations(found_m, self._ranging, posture.attitude_std_rad),
        )

    def _points(self, sample: Sample, readings_m: Ranges, sight: Sight) -> tuple[Ranges, Ranges]:
        if sight is not Sight.OK:
            return _NO_POINTS, _NO_READINGS
        return self._eye.points(sample, readings_m)
