"""A vehicle on the bench: resets a backend, writes down all it says, and flies it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ghost.conformance.check import ConformanceError, NotApplicableError, require
from ghost.conformance.factory import Factory
from ghost.core.errors import shown
from ghost.hal import (
    Action,
    ActionAck,
    Command,
    CommandAck,
    GroundTruth,
    Sample,
    SensorKind,
    SimulationBackend,
    VelocityCommand,
)
from ghost.simulation.adapter import Start

SEED = 7
MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
CYCLE_NS = 20_000_000
LONGEST_WAIT_NS = 20_000_000_000
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Heard:
    """A sample, and when it was delivered."""

    at_ns: int
    name: str
    sample: Sample


class Flight:
    """From reset on. heard is every sample of every declared sensor, in order of delivery; truths
    are taken after each step, where the backend has any.
    """

    def __init__(self, factory: Factory, backend: SimulationBackend, seed: int = SEED) -> None:
        self.backend = backend
        self.heard: list[Heard] = []
        self.truths: list[GroundTruth] = []
        self.acks: list[ActionAck | CommandAck] = []
        self.factory = factory
        self._sequence = 0
        backend.reset(factory.scenario(seed), seed)
        self.capabilities = backend.capabilities
        for name, provider in backend.sensors.items():
            provider.subscribe(self._listener(name))

    @property
    def now_ns(self) -> int:
        return self.backend.clock.now_ns()

    def step(self, duration_ns: int, look_ns: int = CYCLE_NS, *, cuts: int = 1) -> None:
        """Look at the truth each look_ns, and get there in so many cuts."""
        for _ in range(duration_ns // look_ns):
            for _ in range(cuts):
                self.backend.step(look_ns // cuts)
            if self.capabilities.ground_truth:
                self.truths.append(self.backend.ground_truth())

    def watch(self, duration_ns: int) -> None:
        """As finely as the physics goes, for a truth at each sample's stamp."""
        self.step(duration_ns, self.factory.step_ns)

    def request(self, action: Action, altitude_m: float = 0.0) -> ActionAck:
        ack = self.backend.flight_controller.request(action, altitude_m=altitude_m)
        self.acks.append(ack)
        return ack

    def ask(self, action: Action, altitude_m: float = 0.0) -> None:
        """A request that can't be refused here; answers may get lost where it goes over a link."""
        attempts = 1 if self.capabilities.synchronous_step else _ATTEMPTS
        ack = self.request(action, altitude_m)
        while not ack.accepted and (attempts := attempts - 1):
            self.step(5 * CYCLE_NS)
            ack = self.request(action, altitude_m)
        require(ack.accepted, f"{action.name} refused: {ack.detail}", "it to be accepted")

    def send(self, kind: type[Any], *values: Any, age_ns: int = 0) -> CommandAck:
        """A command stamped now, numbered on."""
        self._sequence += 1
        return self.give(kind(self.now_ns - age_ns, self._sequence, *values))

    def give(self, command: Command) -> CommandAck:
        ack = self.backend.actuators.send(command)
        self.acks.append(ack)
        return ack

    def arm(self) -> None:
        """As soon as the vehicle lets us."""
        ack = self.request(Action.ARM)
        while not ack.accepted:
            if self.now_ns > LONGEST_WAIT_NS:
                raise ConformanceError(
                    f"not armed after {self.now_ns / 1e9:.0f} s: {ack.detail}", "ARM to be accepted"
                )
            self.step(5 * CYCLE_NS)
            ack = self.request(Action.ARM)

    def take_off(self, height_m: float = 3.0) -> None:
        """Armed, up, and given the time to come to rest."""
        self.arm()
        self.ask(Action.TAKEOFF, height_m)
        until_ns = self.now_ns + LONGEST_WAIT_NS
        while abs(self.height_m() - height_m) > self._near_m:
            require(
                self.now_ns < until_ns,
                f"at {self.height_m():.2f} m {LONGEST_WAIT_NS // SECOND_NS} s after TAKEOFF",
                f"{height_m} m",
            )
            self.step(CYCLE_NS)
        self.step(2 * SECOND_NS)

    @property
    def _near_m(self) -> float:
        """PX4 (v1.18) takes itself to be there from 0.8 m on (NAV_MC_ALT_RAD), and stays so."""
        return 0.3 if self.capabilities.synchronous_step else 1.0

    def height_m(self) -> float:
        if self.capabilities.ground_truth:
            return float(self.backend.ground_truth().position_enu_m[2])
        newest = self.newest(SensorKind.VEHICLE)
        if newest is None:
            raise NotApplicableError("neither ground truth nor an estimate tells the height")
        return float(newest.position_enu_m[2])

    def newest(self, kind: SensorKind) -> Any:
        """Of the first sensor of a kind; None before its first sample, or without one."""
        name = self.name_of(kind)
        return None if name is None else self.backend.sensors[name].poll()

    def name_of(self, kind: SensorKind) -> str | None:
        return next((spec.name for spec in self.capabilities.sensors if spec.kind is kind), None)

    def samples(self, kind: SensorKind) -> list[Any]:
        """Everything that the first sensor of a kind said."""
        name = self.name_of(kind) or ""
        found: list[Any] = self.heard_of(name)
        require(found, f"no sample of {name} in {self.now_ns / 1e9:g} s", "some")
        return found

    def heard_of(self, name: str) -> list[Sample]:
        return [heard.sample for heard in self.heard if heard.name == name]

    def with_truth(self, kind: SensorKind) -> list[tuple[Any, GroundTruth]]:
        """Each sample beside the truth of its stamp, as far as one was taken then; about then,
        where both come as they come.
        """
        grain_ns = 1 if self.capabilities.synchronous_step else CYCLE_NS
        known = {truth.stamp_ns // grain_ns: truth for truth in self.truths}
        pairs = [
            (sample, known[sample.stamp_ns // grain_ns])
            for sample in self.samples(kind)
            if sample.stamp_ns // grain_ns in known
        ]
        require(pairs, f"no sample of {kind.name} stamped like a truth", "some")
        return pairs

    def _listener(self, name: str) -> Any:
        return lambda sample: self.heard.append(Heard(self.now_ns, name, sample))


def fresh(factory: Factory, seed: int = SEED, **arguments: Any) -> Flight:
    """A flight of a backend of its own."""
    return Flight(factory, factory(**arguments), seed)


def started(factory: Factory, start: Start, **arguments: Any) -> Flight:
    """One that begins elsewhere than on the ground, which not every backend can."""
    if not factory.takes(start=start, **arguments):
        names = ", ".join(("start", *arguments))
        raise NotApplicableError(f"the backend takes no argument {names}")
    return fresh(factory, start=start, **arguments)


def hop(flight: Flight, cuts: int = 1) -> Iterator[None]:
    """The same short flight each time, a cycle per turn: arm, take off, fly east."""
    armed_for = 0
    while armed_for < 180:
        flight.step(CYCLE_NS, cuts=cuts)
        yield
        if not armed_for:
            require(flight.now_ns < LONGEST_WAIT_NS, "never armed", "ARM to be accepted in 20 s")
            if not flight.request(Action.ARM).accepted:
                continue
            flight.ask(Action.TAKEOFF, 2.0)
        elif armed_for == 130:
            flight.ask(Action.OFFBOARD)
        elif armed_for > 130:
            flight.send(VelocityCommand, np.array([1.0, 0.0, 0.0]), 0.0)
        armed_for += 1


def finish(story: Iterator[None]) -> None:
    for _ in story:
        pass


def compare(ours: Flight, theirs: Flight) -> str:
    """How much was equal, bit for bit; an error that shows the first difference."""
    for one, other in zip(ours.heard, theirs.heard, strict=False):
        if one.at_ns != other.at_ns or one.name != other.name or one.sample != other.sample:
            raise ConformanceError(
                f"the runs part at {one.at_ns / 1e9:g} s with {one.name}: "
                f"{difference(one.sample, other.sample)}",
                "the same bits",
            )
    require(
        len(ours.heard) == len(theirs.heard),
        f"{len(ours.heard)} samples and {len(theirs.heard)}",
        "as many",
    )
    for truth, other_truth in zip(ours.truths, theirs.truths, strict=True):
        require(
            truth == other_truth,
            f"ground truths part at {truth.stamp_ns / 1e9:g} s: {difference(truth, other_truth)}",
            "the same bits",
        )
    require(ours.acks == theirs.acks, "the acks differ", "the same answers")
    return f"{len(ours.heard)} samples, {len(ours.truths)} truths and {len(ours.acks)} acks"


def difference(one: Any, other: Any) -> str:
    """The first field in which two messages differ."""
    if type(one) is not type(other):
        return f"{type(one).__name__} and {type(other).__name__}"
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if not np.array_equal(a, b):
            return f"{field.name} {shown(a)} and {shown(b)}"
    return "in the last bits"
