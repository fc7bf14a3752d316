"""One simulated vehicle, as its MAVLink face sees it: autopilot, gate and sensors."""

import itertools
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ghost.autopilot import AutopilotConfig
from ghost.core.clock import Clock
from ghost.core.frames import Geodetic, LocalFrame
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
    VehicleState,
    VehicleStatus,
)
from ghost.hal.airframe import Airframe
from ghost.simulation.embedded import EmbeddedVehicle

FloatArray = NDArray[np.float64]
S = TypeVar("S", bound=Sample)


class SitlVehicle:
    """What is told of an embedded vehicle, and what may be asked of it, between two steps."""

    def __init__(
        self,
        embedded: EmbeddedVehicle,
        clock: Clock,
        *,
        origin: Geodetic,
        airframe: Airframe,
        envelope: SafetyEnvelope,
        config: AutopilotConfig,
    ) -> None:
        self.airframe, self.envelope, self.config = airframe, envelope, config
        self.frame = LocalFrame(origin)
        self._embedded = embedded
        self._clock = clock
        self._autopilot = embedded.autopilot
        self._sequence = itertools.count()
        self._state: VehicleState | None = None
        self._was_armed = False

    @property
    def now_ns(self) -> int:
        return self._clock.now_ns()

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
        known = self._state
        if (known is None or known.stamp_ns != self.now_ns) and self.is_located:
            self._state = self._autopilot.estimator.state(0)
        return self._state

    def newest(self, kind: type[S]) -> S | None:
        """The newest sample of a type, from whichever sensor gives it and works."""
        for provider in self._embedded.providers.values():
            sample = provider.poll()
            if isinstance(sample, kind) and sample.health is not Health.OFFLINE:
                return sample
        return None

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        ack = self._embedded.request(action, altitude_m=altitude_m)
        if action is Action.ARM and ack.accepted:
            self._was_armed = True
            self._embedded.providers["status"].push(self._autopilot.status())  # with the new home
        return ack

    def send(self, command: Command) -> CommandAck:
        return self._embedded.gate.send(command)

    def stamp(self) -> tuple[int, int]:
        """The stamp and sequence of the next command."""
        return self.now_ns, next(self._sequence)

    def revive(self) -> None:
        """Undo a kill, as PX4 does by a restart."""
        self._autopilot.reset_kill()
        self._embedded.gate.reset()

    def _status(self) -> VehicleStatus | None:
        return cast("VehicleStatus | None", self._embedded.providers["status"].poll())
