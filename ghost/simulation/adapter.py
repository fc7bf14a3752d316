"""The seam that every simulator implements, and how they are found.

An adapter is physics for one or many vehicles: motors in, sensors out. Writing one gives a HAL
backend, SITL vehicles and physics for PX4 in lockstep, with no line changed in Ghost: it is found
through the entry-point group `ghost.simulators`. docs/write-an-adapter.md shows a whole one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ghost.core.errors import ConfigError
from ghost.core.random import RandomSource
from ghost.hal import GroundTruth, Sample, ScenarioSpec
from ghost.hal.airframe import Airframe
from ghost.simulation.models.sensors import SensorModel
from ghost.simulation.scenery import NOTHING, Scenery

ENTRY_POINTS = "ghost.simulators"
WHOLE_ENTRY_POINTS = "ghost.backends"
CONTACT = "contact"
"""The name under which contacts come among the sensors."""

EXTRAS = {
    "jsbsim": "pip install 'ghost-drone[jsbsim]' (in a checkout: pip install -e '.[jsbsim]')",
    "pybullet": "pip install 'ghost-drone[sim]' (in a checkout: pip install -e '.[sim]')",
}
"""How to get a module that a simulator of ours needs."""

FloatArray = NDArray[np.float64]
Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a vehicle is at the beginning. A position of None is on its legs at the origin."""

    position_enu_m: Vector | None = None
    attitude: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    velocity_enu_mps: Vector = (0.0, 0.0, 0.0)
    rate_flu_rps: Vector = (0.0, 0.0, 0.0)
    charge: float = 1.0


@dataclass(frozen=True, slots=True)
class VehicleSetup:
    airframe: Airframe
    sensors: tuple[SensorModel, ...]
    start: Start = Start()


@dataclass(frozen=True, slots=True)
class Wind:
    """Mean wind, and gusts of a standard deviation that come and go with a time constant."""

    mean_enu_mps: Vector = (0.0, 0.0, 0.0)
    gust_mps: float = 0.0
    gust_ns: int = 2_000_000_000

    def __post_init__(self) -> None:
        if not 0.0 <= self.gust_mps < np.inf:
            raise ConfigError(f"gust_mps is {self.gust_mps}; expected 0 or more")
        if self.gust_ns <= 0:
            raise ConfigError(f"gust_ns is {self.gust_ns}; expected above 0")


@dataclass(frozen=True, slots=True)
class World:
    """Everything that a run begins with. random is the simulator's own branch of the tree."""

    scenario: ScenarioSpec
    vehicles: tuple[VehicleSetup, ...]
    random: RandomSource
    wind: Wind = Wind()
    scenery: Scenery = NOTHING
    view: bool = False
    """Whether to show it in a window while it runs."""


class FaultKind(StrEnum):
    """What can go wrong. target is a sensor's name, `motor/N`, or `battery`; values go by kind.

    - SILENT: no samples. FROZEN: the last value over and over. OFFLINE: samples that say so.
      BLINDED: a camera or lidar is covered.
    - OFFSET: values are added, axis by axis. NOISE: values[0] times the noise.
    - STRENGTH: a motor gives values[0] of its thrust. CHARGE: the battery has values[0] left.
    """

    SILENT = "silent"
    FROZEN = "frozen"
    OFFLINE = "offline"
    OFFSET = "offset"
    NOISE = "noise"
    BLINDED = "blinded"
    STRENGTH = "strength"
    CHARGE = "charge"
    HEALED = "healed"


@dataclass(frozen=True, slots=True)
class Fault:
    target: str
    kind: FaultKind
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        takes_one = self.kind in {FaultKind.NOISE, FaultKind.STRENGTH, FaultKind.CHARGE}
        if takes_one and not (len(self.values) == 1 and 0.0 <= self.values[0] < np.inf):
            raise ConfigError(
                f"fault {self.kind} of {self.target} has values {self.values}; "
                "expected one of 0 or more"
            )


@dataclass(frozen=True, slots=True)
class SimulatorCapabilities:
    """max_vehicles is None where nothing but memory limits it. Where vehicles can run into things,
    contacts come among the sensors. What is in_process is arithmetic that answers or raises; any
    other is watched with a time-out where several fly.
    """

    max_vehicles: int | None
    deterministic: bool
    ground_truth: bool
    wind: bool
    disturbance: bool
    faults: tuple[FaultKind, ...]
    scenery: bool = False
    cameras: bool = False
    contacts: bool = False
    view: bool = False
    any_start: bool = True
    in_process: bool = False


class SimulatorAdapter(Protocol):
    """Vehicles are numbered from 0 in the order of World.vehicles."""

    @property
    def adapter_type(self) -> str:
        """The name in the entry point, such as lightweight."""
        ...

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def capabilities(self) -> SimulatorCapabilities: ...
    @property
    def supports_lockstep(self) -> bool:
        """Whether step() returns when, and only when, that much time has been simulated."""
        ...

    @property
    def is_connected(self) -> bool: ...
    @property
    def sim_time_ns(self) -> int: ...

    def connect(self, world: World) -> None:
        """Build the world afresh, whatever was before."""
        ...

    def disconnect(self) -> None:
        """Let go of everything. Harmless when not connected."""
        ...

    def step(self, dt_ns: int) -> None:
        """Simulate dt_ns, a multiple of the scenario's step."""
        ...

    def receive_sensors(self, vehicle: int) -> Sequence[tuple[str, Sample]]:
        """What arrived at this moment of simulated time, by sensor name, in a fixed order."""
        ...

    def send_motors(self, vehicle: int, motors: FloatArray) -> None:
        """One value per rotor, 0 to 1, in force until the next."""
        ...

    def ground_truth(self, vehicle: int) -> GroundTruth: ...

    def set_wind(self, wind: Wind) -> None: ...
    def disturb(self, vehicle: int, force_enu_n: Vector, torque_flu_nm: Vector) -> None:
        """Push until told otherwise; zeros end it."""
        ...

    def inject(self, vehicle: int, fault: Fault) -> None: ...


def simulators(group: str = ENTRY_POINTS) -> dict[str, EntryPoint]:
    """What is installed, by name."""
    return {point.name: point for point in sorted(entry_points(group=group))}


def load_adapter(name: str) -> SimulatorAdapter:
    """The adapter of that name, made afresh. NAME@ADDRESS is for one whose simulator is elsewhere:
    the factory gets what follows the @ as `address`, in a form of its own.
    """
    known = simulators()
    if name.partition("@")[0] not in known and is_whole(name):
        raise ConfigError(
            f"simulator {name.partition('@')[0]} brings its own flight controller, so nothing else "
            "can fly in it; it is for `ghost deploy sim` and `ghost conform`"
        )
    return cast("SimulatorAdapter", _load(name, known))


def is_whole(name: str) -> bool:
    """Whether it brings its own flight controller: see ghost.simulation.whole."""
    return name.partition("@")[0] in simulators(WHOLE_ENTRY_POINTS)


def load_whole(name: str) -> object:
    return _load(name, simulators(WHOLE_ENTRY_POINTS))


def _load(name: str, known: Mapping[str, EntryPoint]) -> object:
    plain, at, address = name.partition("@")
    if plain not in known:
        listed = ", ".join((*known, *simulators(WHOLE_ENTRY_POINTS))) or "none"
        raise ConfigError(f"no simulator named {plain!r}; installed are: {listed}")
    try:
        factory = known[plain].load()
        if not at:
            return factory()
        if "address" not in signature(factory).parameters:
            raise ConfigError(f"simulator {plain} takes no address; leave out {at + address!r}")
        return factory(address=address)
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(missing)
        hint = f"; {extra} brings it" if extra else ""
        raise ConfigError(f"simulator {plain} can't be loaded: {error}{hint}") from error
