"""Whatever moves a batch of vehicles, with the shared models of sensors, air and faults around it:
that is an adapter.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError, GhostError
from ghost.core.frames import LocalFrame
from ghost.hal import ContactSample, GroundTruth, Health, Sample
from ghost.hal.message import sealed
from ghost.simulation.adapter import (
    CONTACT,
    Fault,
    FaultKind,
    SimulatorCapabilities,
    Vector,
    Wind,
    World,
)
from ghost.simulation.models.sensors import Camera, Picture, Sensor, Truth
from ghost.simulation.models.suite import LOOKING, SensorSuite

FloatArray = NDArray[np.float64]

GUST_PERIOD_NS = 20_000_000


class Physics(Protocol):
    """A ghost.simulation.models.craft.Craft that moves."""

    body: FloatArray
    felt: FloatArray
    power: FloatArray
    motors: FloatArray
    push: FloatArray
    strength: FloatArray

    def step(self, step_count: int) -> None: ...
    def rotor_speed_rps(self, vehicle: int) -> FloatArray: ...
    def cast_m(
        self, vehicle: int, origin_flu_m: FloatArray, directions_flu: FloatArray, max_m: float
    ) -> FloatArray:
        """See Truth."""
        ...

    def look(self, vehicle: int, camera: Camera) -> Picture: ...
    def take_contacts(self, vehicle: int) -> list[ContactSample]:
        """Those since the last call."""
        ...

    def close(self) -> None: ...


class PhysicsAdapter:
    """A SimulatorAdapter but for what a simulator alone knows: its name, what it can do, and how
    it builds its physics.
    """

    adapter_type: str
    name: str
    supports_lockstep = True
    capabilities: SimulatorCapabilities

    def __init__(self) -> None:
        self.sim_time_ns = 0
        self._flight: _Flight | None = None

    def build(self, world: World) -> Physics:
        raise NotImplementedError

    @property
    def is_connected(self) -> bool:
        return self._flight is not None

    def connect(self, world: World) -> None:
        self.disconnect()
        self.sim_time_ns = 0
        physics = self.build(world)
        try:
            self._flight = _Flight(world, physics, self.capabilities)
        except BaseException:
            physics.close()
            raise

    def disconnect(self) -> None:
        flight, self._flight = self._flight, None
        if flight is not None:
            flight.physics.close()

    def step(self, dt_ns: int) -> None:
        flight = self._connected()
        steps, rest_ns = divmod(dt_ns, flight.step_ns)
        if rest_ns or steps < 1:
            raise ConfigError(
                f"step of {dt_ns} ns; expected a multiple of the scenario's {flight.step_ns} ns"
            )
        # Gusts change at fixed times, so that how a stretch of time is cut up doesn't matter.
        while steps:
            until_gust = (-self.sim_time_ns % GUST_PERIOD_NS) // flight.step_ns
            if until_gust == 0:
                flight.gust()
                until_gust = max(GUST_PERIOD_NS // flight.step_ns, 1)
            stretch = min(steps, until_gust)
            flight.physics.step(stretch)
            self.sim_time_ns += stretch * flight.step_ns
            steps -= stretch

    def receive_sensors(self, vehicle: int) -> Sequence[tuple[str, Sample]]:
        flight = self._connected()
        heard = flight.suites[vehicle].sample(flight.truths[vehicle], self.sim_time_ns)
        if self.capabilities.contacts:
            heard += [(CONTACT, touch) for touch in flight.physics.take_contacts(vehicle)]
        return heard

    def send_motors(self, vehicle: int, motors: FloatArray) -> None:
        physics = self._connected().physics
        physics.motors[vehicle, : len(motors)] = motors

    def ground_truth(self, vehicle: int) -> GroundTruth:
        physics = self._connected().physics
        body, felt, push = (
            sealed(row)
            for row in (physics.body[vehicle], physics.felt[vehicle], physics.push[vehicle])
        )
        return GroundTruth(
            self.sim_time_ns,
            body[:3],
            body[3:6],
            body[6:10],
            body[10:13],
            felt[7:10],
            push[:3],
            physics.rotor_speed_rps(vehicle),
        )

    def set_wind(self, wind: Wind) -> None:
        self._connected().set_wind(wind)

    def disturb(self, vehicle: int, force_enu_n: Vector, torque_flu_nm: Vector) -> None:
        self._connected().physics.push[vehicle, 3:9] = (*force_enu_n, *torque_flu_nm)

    def inject(self, vehicle: int, fault: Fault) -> None:
        self._connected().inject(vehicle, fault)

    def _connected(self) -> "_Flight":
        if self._flight is None:
            raise GhostError("the simulator is not connected; call connect first")
        return self._flight


class _Flight:
    """One connected world."""

    def __init__(self, world: World, physics: Physics, capabilities: SimulatorCapabilities) -> None:
        place = LocalFrame(world.scenario.origin)
        self.physics = physics
        self.step_ns = world.scenario.step_ns
        self._rotor_counts = [len(vehicle.airframe.rotors) for vehicle in world.vehicles]
        self.suites: list[SensorSuite] = []
        self._air = []
        for index, vehicle in enumerate(world.vehicles):
            for model in vehicle.sensors:
                _refuse_uneven(model.name, model.period_ns, model.latency_ns, self.step_ns)
            branch = world.random.child(f"vehicle/{index}")
            self.suites.append(SensorSuite(vehicle.sensors, branch.child("sensors"), place))
            self._air.append(branch.child("gusts"))
        self.truths = [
            self._truth(index, has_cameras=capabilities.cameras)
            for index in range(len(world.vehicles))
        ]
        self._gusts = np.zeros((len(world.vehicles), 3))
        self.set_wind(world.wind)

    def set_wind(self, wind: Wind) -> None:
        self._wind = wind
        self.physics.push[:, :3] = np.array(wind.mean_enu_mps) + self._gusts

    def gust(self) -> None:
        """Gusts are a first-order process per axis; vertical ones are half as strong."""
        wind = self._wind
        if wind.gust_mps == 0.0 and not self._gusts.any():
            return
        keep = 1.0 - min(GUST_PERIOD_NS / wind.gust_ns, 1.0)
        kick = wind.gust_mps * float(np.sqrt(1.0 - keep * keep))
        for row, air in enumerate(self._air):
            self._gusts[row] = keep * self._gusts[row] + kick * air.normal(3) * (1.0, 1.0, 0.5)
        self.physics.push[:, :3] = np.array(wind.mean_enu_mps) + self._gusts

    def inject(self, vehicle: int, fault: Fault) -> None:
        if fault.target.startswith("motor/"):
            self._inject_motor(vehicle, fault)
            return
        if fault.target == "battery" and fault.kind is FaultKind.CHARGE:
            self.physics.power[vehicle, 0] = min(fault.values[0], 1.0)
            return
        sensors = self.suites[vehicle].sensors
        if fault.target not in sensors:
            listed = ", ".join((*sensors, "motor/N", "battery"))
            raise ConfigError(f"fault target {fault.target!r}; expected one of {listed}")
        self._inject_sensor(sensors[fault.target], fault)

    def _inject_sensor(self, sensor: Sensor, fault: Fault) -> None:
        match fault.kind:
            case FaultKind.SILENT:
                sensor.silent = True
            case FaultKind.FROZEN:
                sensor.freeze()
            case FaultKind.OFFLINE:
                sensor.health = Health.OFFLINE
            case FaultKind.OFFSET:
                sensor.offset = fault.values
            case FaultKind.NOISE:
                sensor.noise_scale = fault.values[0]
            case FaultKind.BLINDED if sensor.model.kind in LOOKING:
                sensor.blinded = True
            case FaultKind.HEALED:
                sensor.heal()
            case _:
                raise ConfigError(f"fault {fault.kind} is not one of sensor {fault.target}")

    def _inject_motor(self, vehicle: int, fault: Fault) -> None:
        rotor_count = self._rotor_counts[vehicle]
        number = fault.target.removeprefix("motor/")
        if not number.isdigit() or int(number) >= rotor_count:
            raise ConfigError(
                f"fault target {fault.target!r}; this vehicle has motor/0 to "
                f"motor/{rotor_count - 1}"
            )
        if fault.kind not in {FaultKind.STRENGTH, FaultKind.HEALED}:
            raise ConfigError(f"fault {fault.kind} is not one of a motor; expected strength")
        strength = fault.values[0] if fault.kind is FaultKind.STRENGTH else 1.0
        self.physics.strength[vehicle, int(number)] = strength

    def _truth(self, vehicle: int, *, has_cameras: bool) -> Truth:
        physics = self.physics

        def cast_m(origin: FloatArray, directions: FloatArray, max_m: float) -> FloatArray:
            return physics.cast_m(vehicle, origin, directions, max_m)

        def look(camera: Camera) -> Picture:
            return physics.look(vehicle, camera)

        return Truth(
            physics.body[vehicle],
            physics.felt[vehicle],
            physics.power[vehicle],
            lambda: physics.rotor_speed_rps(vehicle),
            cast_m,
            look if has_cameras else None,
        )


def _refuse_uneven(name: str, period_ns: int, latency_ns: int, step_ns: int) -> None:
    for key, value in (("period", period_ns), ("latency", latency_ns)):
        if value % step_ns:
            raise ConfigError(
                f"sensor {name} has a {key} of {value} ns, which the scenario's step of "
                f"{step_ns} ns does not divide; choose a step that does"
            )
