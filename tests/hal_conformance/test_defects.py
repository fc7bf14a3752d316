"""Each check can fail: backends that break one promise each, and the check that must tell."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from ghost.autopilot import Autopilot
from ghost.autopilot.landed import LandDetector
from ghost.conformance import CHECKS, Factory, Verdict, judge
from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from ghost.deploy.robots import load_robot
from ghost.hal import EnvelopeGate, GroundTruth, Sample
from ghost.simulation.adapter import Wind, World
from ghost.simulation.backend import AdapterBackend
from ghost.simulation.embedded import EmbeddedVehicle, Provider
from ghost.simulation.lightweight.adapter import LightweightAdapter

Plant = Callable[[pytest.MonkeyPatch], None]


def adapter(kind: type[LightweightAdapter]) -> Plant:
    """Another adapter in the place of lightweight."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for home in ("ghost.deploy.hal", "ghost.conformance.factory"):
            patch.setattr(f"{home}.load_simulator", lambda _: kind())

    return plant


def hears(name: str, change: Callable[[Any], Any]) -> Plant:
    """One sensor's samples changed, or lost."""

    class Mishearing(LightweightAdapter):
        def receive_sensors(self, vehicle: int) -> Sequence[tuple[str, Sample]]:
            heard = super().receive_sensors(vehicle)
            changed = [(key, change(one) if key == name else one) for key, one in heard]
            return [(key, one) for key, one in changed if one is not None]

    return adapter(Mishearing)


def builds(change: Callable[[World], World]) -> Plant:
    """Another world than was asked for."""

    class Misbuilt(LightweightAdapter):
        def connect(self, world: World) -> None:
            super().connect(change(world))

    return adapter(Misbuilt)


def pushes(push: Callable[[GroundTruth], tuple[Any, Any]]) -> Plant:
    """A force and a torque out of nowhere."""

    class Pushed(LightweightAdapter):
        def step(self, dt_ns: int) -> None:
            self.disturb(0, *push(self.ground_truth(0)))
            super().step(dt_ns)

    return adapter(Pushed)


def believes(change: Callable[[GroundTruth], GroundTruth]) -> Plant:
    class Liar(LightweightAdapter):
        def ground_truth(self, vehicle: int) -> GroundTruth:
            return change(super().ground_truth(vehicle))

    return adapter(Liar)


def has(owner: type, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def uses(name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(name, value)


def framed(world: World, **changes: Any) -> World:
    (setup,) = world.vehicles
    other = replace(setup, airframe=replace(setup.airframe, **changes))
    return replace(world, vehicles=(other,))


class Once(LightweightAdapter):
    def disconnect(self) -> None:
        if self.is_connected:
            raise ConfigError("still in use; expected to be left alone")


class Hoarder(LightweightAdapter):
    """Keeps the charge of the run before."""

    def connect(self, world: World) -> None:
        before = self._flight
        super().connect(world)
        if before and self._flight:
            self._flight.physics.power[0, 0] = before.physics.power[0, 0]

    def disconnect(self) -> None:
        pass


class SharedMotors(LightweightAdapter):
    """Two simulators, one set of motors."""

    newest: ClassVar[dict[int, Any]] = {}

    def connect(self, world: World) -> None:
        self.newest.clear()
        super().connect(world)

    def send_motors(self, vehicle: int, motors: Any) -> None:
        self.newest[vehicle] = motors.copy()

    def step(self, dt_ns: int) -> None:
        for vehicle, motors in self.newest.items():
            super().send_motors(vehicle, motors)
        super().step(dt_ns)


class Unrepeatable(LightweightAdapter):
    runs: ClassVar[list[World]] = []

    def connect(self, world: World) -> None:
        self.runs.append(world)
        super().connect(replace(world, random=RandomSource(len(self.runs))))


class Coarse(LightweightAdapter):
    """A nudge per call, however long the call."""

    def step(self, dt_ns: int) -> None:
        super().step(dt_ns)
        if self._flight:
            self._flight.physics.body[0, 3] += 1e-9


class StuckMotors(LightweightAdapter):
    def send_motors(self, vehicle: int, motors: Any) -> None:
        if motors.any():
            super().send_motors(vehicle, motors)


class Tardy(LightweightAdapter):
    """Hands samples out a call late."""

    kept: Sequence[tuple[str, Sample]] = ()

    def receive_sensors(self, vehicle: int) -> Sequence[tuple[str, Sample]]:
        kept, self.kept = self.kept, super().receive_sensors(vehicle)
        return kept


def writable(sample: Any) -> Any:
    object.__setattr__(sample, "accel_flu_mps2", np.array(sample.accel_flu_mps2))
    return sample


def swapped(vector: Any) -> Any:
    """As NED where ENU was meant, or the other way round."""
    return vector[[1, 0, 2]] * (1.0, 1.0, -1.0)


def subscribe_for_good(provider: Provider, callback: Any) -> Callable[[], None]:
    provider._callbacks = {**provider._callbacks, object(): callback}
    return lambda: None


def forget_order(gate: EnvelopeGate, command: Any, now_ns: int, judge: Any = None) -> Any:
    gate._last_stamp_ns = gate._last_sequence = -1
    return (judge or STALE)(gate, command, now_ns)


STALE = EnvelopeGate._stale
BACKWARDS = property(
    lambda backend: SimpleNamespace(now_ns=lambda: 10**12 - backend._current().clock.now_ns())
)

DEFECTS: dict[str, Plant] = {
    "time never goes back": has(AdapterBackend, "clock", BACKWARDS),
    "unstarted use is an error": has(AdapterBackend, "ground_truth", lambda _: None),
    "reset follows shutdown": adapter(Once),
    "declared sensors deliver": hears("rangefinder", lambda _: None),
    "rates are kept": hears("barometer", lambda one: one if one.sequence % 2 else None),
    "latencies are kept": adapter(Tardy),
    "stamps and sequences rise": hears("imu", lambda one: replace(one, sequence=0)),
    "samples stay as they were": hears("imu", writable),
    "poll gives the newest": has(Provider, "poll", lambda _: None),
    "unsubscribing works": has(Provider, "subscribe", subscribe_for_good),
    "nonsense is refused": uses("ghost.hal.gate._not_finite", lambda _: None),
    "disarmed takes no command": has(EnvelopeGate, "_not_armed", lambda _: None),
    "commands keep their order": has(EnvelopeGate, "_stale", forget_order),
    "fence and altitude hold": has(EnvelopeGate, "_outside_envelope", lambda *_: None),
    "modes hold": has(Autopilot, "_refusal", lambda *_: ""),
    "declared levels fly": has(Autopilot, "_refusal", lambda *_: "not today"),
    "limits are told": uses("ghost.hal.gate.saturate", lambda command, _: command),
    "undeclared levels are refused": has(EnvelopeGate, "_unsupported", lambda *_: None),
    "unready does not arm": has(Autopilot, "arming_blocked_by", lambda _: ""),
    "arming on the ground": has(Autopilot, "_disarm", lambda _: None),
    "no disarming in the air": has(Autopilot, "_notice_landing", lambda *_: None),
    "landing disarms": has(LandDetector, "update", lambda *_, **__: False),
    "kill stops everything": has(EnvelopeGate, "kill", EnvelopeGate.disarm),
    "actions are stamped": has(
        EmbeddedVehicle,
        "request",
        lambda vehicle, action, altitude_m: vehicle.autopilot.request(
            action, altitude_m=altitude_m
        ),
    ),
    "time is what was stepped": has(
        AdapterBackend, "step", lambda backend, dt_ns: backend._current().step(2 * dt_ns)
    ),
    "impossible steps are refused": has(
        AdapterBackend, "step", lambda backend, dt_ns: backend._current().step(max(int(dt_ns), 0))
    ),
    "killed rotors stop": adapter(StuckMotors),
    "reset repeats the run": adapter(Unrepeatable),
    "another seed differs": builds(lambda world: replace(world, random=RandomSource(1))),
    "cuts of time do not matter": adapter(Coarse),
    "shutdown forgets the run": adapter(Hoarder),
    "two backends do not meet": adapter(SharedMotors),
    "truth is of now": believes(lambda truth: replace(truth, stamp_ns=0)),
    "free fall": pushes(lambda _: ((0.0, 0.0, 2.0), (0.0, 0.0, 0.0))),
    "rest on the ground": hears(
        "imu", lambda one: replace(one, accel_flu_mps2=-one.accel_flu_mps2)
    ),
    "energy is not made": pushes(lambda truth: ((0.0, 0.0, 0.0), 0.1 * truth.rate_flu_rps)),
    "wind blows along": builds(lambda world: replace(world, wind=Wind((-8.0, 0.0, 0.0)))),
    "hover thrust": builds(lambda world: framed(world, mass_kg=4.0)),
    "motor torques": builds(lambda world: framed(world, inertia_kgm2=(0.062, 0.08, 0.11))),
    "rotors report their speed": hears(
        "rotor_speed", lambda one: replace(one, speed_rps=one.speed_rps * 6.28)
    ),
    "battery drains": hears("battery", lambda one: replace(one, remaining=0.9)),
    "accelerometer axes": hears(
        "imu", lambda one: replace(one, accel_flu_mps2=swapped(one.accel_flu_mps2))
    ),
    "gyro axes": hears(
        "imu", lambda one: replace(one, gyro_flu_rps=one.gyro_flu_rps * (1.0, -1.0, -1.0))
    ),
    "magnetometer axes": hears(
        "magnetometer", lambda one: replace(one, field_flu_t=swapped(one.field_flu_t))
    ),
    "gps axes": hears(
        "gps", lambda one: replace(one, velocity_enu_mps=swapped(one.velocity_enu_mps))
    ),
    "barometer falls with height": hears(
        "barometer", lambda one: replace(one, pressure_pa=190_000.0 - one.pressure_pa)
    ),
    "rangefinder sees the ground": hears(
        "rangefinder", lambda one: replace(one, range_m=one.range_m + 0.3)
    ),
    "estimate follows the truth": believes(
        lambda truth: replace(truth, position_enu_m=truth.position_enu_m + 5.0)
    ),
}


def test_every_check_has_a_defect_to_find() -> None:
    assert sorted(DEFECTS) == sorted(check.name for check in CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_defect_is_found(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    DEFECTS[check.name](monkeypatch)
    outcome = judge(check, Factory(load_robot("hexa")))  # it has every sensor
    assert outcome.verdict is Verdict.FAIL, outcome.figure
    assert "; expected " in outcome.figure
