"""One simulated vehicle: physics, autopilot and gate, and what the face asks of them."""

import itertools
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot import AutopilotConfig
from ghost.core.frames import LocalFrame
from ghost.core.rotations import yaw_of
from ghost.hal import (
    Action,
    ActionAck,
    Command,
    CommandAck,
    EstimateHealth,
    Failsafe,
    FlightMode,
    Health,
    SafetyEnvelope,
    Sample,
    ScenarioSpec,
    VehicleState,
    VehicleStatus,
)
from ghost.hal.airframe import Airframe
from ghost.simulation.backend import AdapterBackend

FloatArray = NDArray[np.float64]
S = TypeVar("S", bound=Sample)

STEP_NS = 1_000_000
_LONGEST_NS = 2**62


class SitlVehicle:
    """Begins its run when it is made; step() lets simulated time pass."""

    def __init__(
        self,
        backend: AdapterBackend,
        airframe: Airframe,
        envelope: SafetyEnvelope,
        config: AutopilotConfig,
        *,
        seed: int = 0,
    ) -> None:
        self.airframe, self.envelope, self.config = airframe, envelope, config
        self.scenario = ScenarioSpec("sitl", seed, STEP_NS, _LONGEST_NS)
        self.frame = LocalFrame(self.scenario.origin)
        self._backend = backend
        backend.reset(self.scenario, seed)
        self._autopilot = backend.flight_controller.autopilot
        self._sequence = itertools.count()
        self._state: VehicleState | None = None
        self._was_armed = False

    @property
    def now_ns(self) -> int:
        return self._backend.clock.now_ns()

    @property
    def period_ns(self) -> int:
        return self.config.control_period_ns

    @property
    def mode(self) -> FlightMode:
        return self._autopilot.mode

    @property
    def armed(self) -> bool:
        return self._autopilot.armed

    @property
    def killed(self) -> bool:
        return self._autopilot.killed

    @property
    def failsafe(self) -> Failsafe:
        return self._autopilot.failsafe

    @property
    def verdict(self) -> EstimateHealth:
        return self._autopilot.estimator.verdict

    @property
    def motors(self) -> FloatArray:
        return self._autopilot.motors

    @property
    def on_ground(self) -> bool:
        status = self._status()
        return not self.armed or status is None or status.on_ground

    @property
    def blocked(self) -> str:
        return self._autopilot.arming_blocked_by()

    @property
    def is_located(self) -> bool:
        return self._autopilot.estimator.ready

    @property
    def position_enu_m(self) -> FloatArray:
        return np.array(self._autopilot.estimator.nominal[:3])

    @property
    def yaw_rad(self) -> float:
        return yaw_of(self._autopilot.estimator.nominal[6:10])

    @property
    def home_enu_m(self) -> FloatArray | None:
        """Where it was armed, before that where it stands; None before it knows a place."""
        status = self._status()
        if self._was_armed and status is not None:
            return status.home_enu_m
        return self.position_enu_m if self.is_located else None

    def state(self) -> VehicleState | None:
        """The estimate of now; None before there is one."""
        if self._state is None and self.is_located:
            self._state = self._autopilot.estimator.state(0)
        return self._state

    def newest(self, kind: type[S]) -> S | None:
        """The newest sample of a type, from whichever sensor gives it and works."""
        for provider in self._backend.sensors.values():
            sample = provider.poll()
            if isinstance(sample, kind) and sample.health is not Health.OFFLINE:
                return sample
        return None

    def step(self) -> None:
        """One control period."""
        self._backend.step(self.period_ns)
        self._state = None

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        ack = self._backend.flight_controller.request(action, altitude_m=altitude_m)
        if action is Action.ARM and ack.accepted:
            self._was_armed = True
            self._backend.sensors["status"].push(self._autopilot.status())  # with the new home
        return ack

    def send(self, command: Command) -> CommandAck:
        return self._backend.actuators.send(command)

    def stamp(self) -> tuple[int, int]:
        """The stamp and sequence of the next command."""
        return self.now_ns, next(self._sequence)

    def revive(self) -> None:
        """Undo a kill, as PX4 does by a restart."""
        self._autopilot.reset_kill()
        self._backend.actuators.reset()

    def close(self) -> None:
        self._backend.shutdown()

    def _status(self) -> VehicleStatus | None:
        return cast("VehicleStatus | None", self._backend.sensors["status"].poll())
