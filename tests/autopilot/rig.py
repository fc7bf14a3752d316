"""The autopilot on Ghost's own physics, through the HAL, as a mission would have it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ghost.deploy import build_hal, load_robot
from ghost.hal import (
    Action,
    ActionAck,
    CommandAck,
    GroundTruth,
    ScenarioSpec,
    VehicleState,
    VehicleStatus,
)
from ghost.simulation.adapter import Start, Vector, Wind
from ghost.simulation.backend import AdapterBackend, Happening

SECOND_NS = 1_000_000_000
CYCLE_NS = 20_000_000
STEP_NS = 2_000_000
SETTLED_NS = 2 * SECOND_NS


class Flight:
    """One vehicle that has been standing on its legs for long enough to know where it is."""

    def __init__(
        self,
        robot: str = "x500",
        *,
        seed: int = 1,
        wind: Wind = Wind(),  # noqa: B008 - frozen
        start: Start = Start(),  # noqa: B008 - frozen
        happenings: tuple[Happening, ...] = (),
        settle_ns: int = SETTLED_NS,
        legs_flu_m: tuple[Vector, ...] = (),
        **envelope: Any,
    ) -> None:
        description = load_robot(robot)
        assert description.airframe is not None
        legs_flu_m = legs_flu_m or description.airframe.legs_flu_m
        description = replace(
            description,
            airframe=replace(description.airframe, legs_flu_m=legs_flu_m),
            envelope=replace(description.envelope, **envelope),
        )
        self.backend: AdapterBackend = build_hal(
            description, mode="sim", wind=wind, start=start, happenings=happenings
        )
        self.backend.reset(ScenarioSpec("test", seed, STEP_NS, 3600 * SECOND_NS), seed)
        self._sent = 0
        self.run(settle_ns)

    @property
    def now_ns(self) -> int:
        return self.backend.clock.now_ns()

    @property
    def truth(self) -> GroundTruth:
        return self.backend.ground_truth()

    @property
    def place_m(self) -> NDArray[np.float64]:
        return self.truth.position_enu_m

    @property
    def height_m(self) -> float:
        return float(self.truth.position_enu_m[2])

    @property
    def state(self) -> VehicleState:
        return self.backend.flight_controller.autopilot.state()

    @property
    def status(self) -> VehicleStatus:
        return self.backend.flight_controller.autopilot.status()

    @property
    def motors(self) -> NDArray[np.float64]:
        return self.backend.flight_controller.autopilot.motors

    def run(self, duration_ns: int) -> None:
        self.backend.step(duration_ns)

    def until(self, is_met: Callable[["Flight"], bool], *, within_s: int) -> None:
        """Fly until it is so; a failure says how things stand instead."""
        deadline_ns = self.now_ns + within_s * SECOND_NS
        while not is_met(self):
            assert self.now_ns < deadline_ns, f"not in {within_s} s: {self.status} {self.place_m}"
            self.run(CYCLE_NS)

    def request(self, action: Action, *, altitude_m: float = 0.0) -> ActionAck:
        return self.backend.flight_controller.request(action, altitude_m=altitude_m)

    def do(self, action: Action, *, altitude_m: float = 0.0) -> None:
        ack = self.request(action, altitude_m=altitude_m)
        assert ack.accepted, ack.detail

    def take_off(self, altitude_m: float = 3.0) -> None:
        self.do(Action.ARM)
        self.do(Action.TAKEOFF, altitude_m=altitude_m)
        self.until(lambda flight: flight.status.mode.name == "HOLD", within_s=20)

    def send(self, kind: Any, *values: Any) -> CommandAck:
        """A command of that kind, stamped now."""
        self._sent += 1
        return self.backend.actuators.send(kind(self.now_ns, self._sent, *values))

    def follow(self, kind: Any, *values: Any, for_s: float) -> None:
        """Send the same over and over, and see it accepted each time."""
        end_ns = self.now_ns + round(for_s * 1e9)
        while self.now_ns < end_ns:
            ack = self.send(kind, *values)
            assert ack.accepted, ack.detail
            self.run(CYCLE_NS)
