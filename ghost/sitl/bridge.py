"""Vehicles, simulators and time, joined: every vehicle flies its unchanged autopilot, in whichever
simulator it was put, and all of them share one clock.

Whatever order things were registered in, simulators are visited by name and vehicles by id. A
simulator or a firmware that dies takes its vehicles along, and nobody else.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, GhostError
from ghost.core.random import RandomSource
from ghost.hal import GroundTruth, ScenarioSpec
from ghost.simulation.adapter import Fault, Wind, World
from ghost.simulation.backend import Happening
from ghost.simulation.scenery import NOTHING, Scenery
from ghost.sitl.firmware import Firmware
from ghost.sitl.group import Flown, Group
from ghost.sitl.registry import AdapterRegistry, Registration, Unlockstepped
from ghost.sitl.time import TimeMode, TimePlan
from ghost.sitl.vehicles import VehicleManager

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """Who died, when, and why: `simulator NAME` with all of its vehicles, or `vehicle N`."""

    at_ns: int
    who: str
    vehicle_ids: tuple[int, ...]
    reason: str


class SitlBridge:
    """Register simulators, add vehicles, start(), step()."""

    def __init__(
        self,
        scenario: ScenarioSpec,
        *,
        time: TimePlan = TimePlan(),  # noqa: B008 - frozen
        wind: Wind = Wind(),  # noqa: B008 - frozen
        happenings: tuple[Happening, ...] = (),
        scenery: Scenery = NOTHING,
        on_loss: Callable[[Loss], None] = lambda _: None,
    ) -> None:
        self.scenario = scenario
        self.time = time
        self.adapters = AdapterRegistry()
        self.vehicles = VehicleManager()
        self._wind = wind
        self._happenings = happenings
        self._scenery = scenery
        self._on_loss = on_loss
        self._run: _Run | None = None

    @property
    def is_running(self) -> bool:
        return self._run is not None

    @property
    def clock(self) -> SimClock:
        return self._current().clock

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same run."""
        return self.time.mode is TimeMode.LOCKSTEP and all(
            entry.adapter.capabilities.deterministic and entry.adapter.supports_lockstep
            for entry in self._used()
        )

    @property
    def alive(self) -> tuple[int, ...]:
        """The ids of those that still fly."""
        return tuple(number for number, one in self._current().flown.items() if not one.lost)

    def start(self) -> None:
        """Connect the simulators and put a firmware into each vehicle. What was added later flies
        after the next start.
        """
        if self._run is not None:
            raise GhostError("the bridge runs already; stop it first")
        if not len(self.vehicles):
            raise ConfigError("the bridge has no vehicles; add one first")
        entries = self._used()
        for entry in entries:
            self._refuse_unfit(entry)
        run = _Run(self._on_loss)
        try:
            run.begin([self._group(entry, run.clock) for entry in entries])
            for happening in self._happenings:
                run.schedule(happening)
            for vehicle in self.vehicles:
                for happening in vehicle.happenings:
                    run.schedule(happening, vehicle.vehicle_id)
        except BaseException:
            run.close()
            raise
        self._run = run

    def step(self, dt_ns: int | None = None) -> None:
        """Let so much time pass, by default the time plan's step."""
        dt_ns = self.time.step_ns if dt_ns is None else dt_ns
        step_ns = self.scenario.step_ns
        if type(dt_ns) is not int or dt_ns < 0 or dt_ns % step_ns:
            raise ConfigError(
                f"step of {dt_ns!r} ns; expected an int of 0 or more, a multiple of the "
                f"scenario's {step_ns} ns"
            )
        self._current().step(dt_ns)

    def stop(self) -> None:
        """Harmless when it doesn't run."""
        run, self._run = self._run, None
        if run is not None:
            run.close()

    def firmware(self, vehicle_id: int) -> Firmware:
        return self._flown(vehicle_id).firmware

    def ground_truth(self, vehicle_id: int) -> GroundTruth:
        flown = self._flown(vehicle_id)
        if flown.group.lost:
            raise GhostError(f"vehicle {vehicle_id} was lost: {flown.lost}")
        return flown.group.adapter.ground_truth(flown.row)

    def inject(self, vehicle_id: int, fault: Fault) -> None:
        """Now; what is to happen at a time of its own is a Happening."""
        flown = self._flown(vehicle_id)
        flown.group.adapter.inject(flown.row, fault)

    def set_wind(self, wind: Wind) -> None:
        """For all, now."""
        for group in self._current().groups:
            group.adapter.set_wind(wind)

    def lose(self, vehicle_id: int, reason: str) -> None:
        """Give a vehicle up: its motors stop, and its firmware is let go of."""
        self._current().lose(self._flown(vehicle_id), reason)

    def why_lost(self, vehicle_id: int) -> str:
        """Empty while it flies."""
        return self._flown(vehicle_id).lost

    def _flown(self, vehicle_id: int) -> Flown:
        flown = self._current().flown.get(vehicle_id)
        if flown is None:
            listed = ", ".join(map(str, self._current().flown))
            raise ConfigError(f"no vehicle {vehicle_id} flies; there are: {listed}")
        return flown

    def _used(self) -> list[Registration]:
        """The simulators that have vehicles, by name."""
        return [self.adapters[name] for name in sorted({one.adapter for one in self.vehicles})]

    def _refuse_unfit(self, entry: Registration) -> None:
        name, known = entry.name, entry.adapter.capabilities
        count = sum(vehicle.adapter == name for vehicle in self.vehicles)
        if known.max_vehicles is not None and count > known.max_vehicles:
            raise ConfigError(
                f"simulator {name} has {count} vehicles, and room for {known.max_vehicles}; "
                "register another of its kind for the rest"
            )
        is_held = self.time.mode is not TimeMode.FREE_RUNNING
        if (
            is_held
            and not entry.adapter.supports_lockstep
            and entry.unlockstepped is Unlockstepped.REFUSE
        ):
            raise ConfigError(
                f"simulator {name} keeps its own time and can't be flown in {self.time.mode}; "
                "choose realtime, or let it follow (unlockstepped=follow) and give up repeatability"
            )

    def _group(self, entry: Registration, clock: SimClock) -> Group:
        vehicles = [vehicle for vehicle in self.vehicles if vehicle.adapter == entry.name]
        world = World(
            self.scenario,
            tuple(vehicle.setup for vehicle in vehicles),
            RandomSource(self.scenario.seed).child("simulators").child(_label(entry.name)),
            self._wind,
            self._scenery,
        )
        return Group(entry, vehicles, world, clock)

    def _current(self) -> "_Run":
        if self._run is None:
            raise GhostError("the bridge doesn't run; call start first")
        return self._run


class _Run:
    """From one start to the next stop."""

    def __init__(self, on_loss: Callable[[Loss], None]) -> None:
        self.clock = SimClock()
        self.flown: dict[int, Flown] = {}
        self.groups: list[Group] = []
        self._on_loss = on_loss
        self._tick_ns = 0

    def begin(self, groups: list[Group]) -> None:
        manned: list[Flown] = []
        for group in groups:
            self.groups.append(group)
            group.connect()
            manned += group.man()
            self.flown = {one.vehicle.vehicle_id: one for one in manned}
        self.flown = dict(sorted(self.flown.items()))
        self._tick_ns = gcd(*(one.firmware.tick_ns for one in manned))

    def schedule(self, happening: Happening, vehicle_id: int | None = None) -> None:
        """Wind is for all; a fault too, unless it is for one vehicle."""
        what = happening.what
        # Physics runs in stretches that end at ticks; only there does it not matter how the
        # caller cuts up time.
        at_ns = -(-happening.at_ns // self._tick_ns) * self._tick_ns
        flown = self.flown.values() if vehicle_id is None else (self.flown[vehicle_id],)
        if isinstance(what, Wind):
            for group in self.groups:
                self.clock.call_at(at_ns, lambda group=group: group.adapter.set_wind(what))  # type: ignore[misc]
            return
        for one in flown:
            self.clock.call_at(
                at_ns,
                lambda one=one: one.group.adapter.inject(one.row, what),  # type: ignore[misc]
            )

    def step(self, dt_ns: int) -> None:
        clock, tick_ns = self.clock, self._tick_ns
        end_ns = clock.now_ns() + dt_ns
        while (now_ns := clock.now_ns()) < end_ns:
            stretch_ns = min(tick_ns - now_ns % tick_ns, end_ns - now_ns)
            self._move(stretch_ns)
            clock.advance(stretch_ns)
            now_ns += stretch_ns
            if now_ns % tick_ns == 0:
                self._tick(now_ns)

    def lose(self, flown: Flown, reason: str) -> None:
        if flown.lost:
            return
        flown.lost = reason
        _close(flown.firmware.close)
        if not flown.group.lost:
            _close(lambda: flown.move(np.zeros(len(flown.vehicle.setup.airframe.rotors))))
        number = flown.vehicle.vehicle_id
        self._on_loss(Loss(self.clock.now_ns(), f"vehicle {number}", (number,), reason))

    def close(self) -> None:
        for flown in self.flown.values():
            _close(flown.firmware.close)
        for group in self.groups:
            if not group.lost:
                _close(group.close)

    def _move(self, stretch_ns: int) -> None:
        groups = [group for group in self.groups if not group.lost]
        for group in groups:
            group.begin_step(stretch_ns)
        for group in groups:
            try:
                group.finish_step()
            except Exception as error:  # noqa: BLE001 - others fly on, and it is told
                self._lose_group(group, _words(error))

    def _tick(self, now_ns: int) -> None:
        due = [
            one
            for one in self.flown.values()
            if not one.lost and now_ns % one.firmware.tick_ns == 0
        ]
        for one in due:
            try:
                arrived = one.arrived()
            except Exception as error:  # noqa: BLE001 - others fly on, and it is told
                self._lose_group(one.group, _words(error))
                continue
            if one.lost:
                continue
            try:
                one.firmware.give(now_ns, arrived)
            except Exception as error:  # noqa: BLE001 - others fly on, and it is told
                self.lose(one, _words(error))
        for one in due:
            if one.lost:
                continue
            try:
                motors = one.firmware.take(now_ns)
            except Exception as error:  # noqa: BLE001 - others fly on, and it is told
                self.lose(one, _words(error))
                continue
            if motors is not None:
                try:
                    one.move(motors)
                except Exception as error:  # noqa: BLE001 - others fly on, and it is told
                    self._lose_group(one.group, _words(error))

    def _lose_group(self, group: Group, reason: str) -> None:
        if group.lost:
            return
        group.lost = reason
        gone = [one for one in self.flown.values() if one.group is group and not one.lost]
        for one in gone:
            one.lost = f"simulator {group.name} died: {reason}"
            _close(one.firmware.close)
        _close(group.close)
        numbers = tuple(one.vehicle.vehicle_id for one in gone)
        self._on_loss(Loss(self.clock.now_ns(), f"simulator {group.name}", numbers, reason))


def _label(name: str) -> str:
    """A simulator's name as a random label: an address has signs that a label may not have."""
    return "".join(sign if sign.isalnum() else f"-{ord(sign):x}." for sign in name)


def _close(close: Callable[[], None]) -> None:
    """What is being given up may fail at that, too."""
    try:
        close()
    except Exception:  # noqa: BLE001 - told below
        _log.warning("not let go of in good order", exc_info=True)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, GhostError) else f"{type(error).__name__}: {error}"
