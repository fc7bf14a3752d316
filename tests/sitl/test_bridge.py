"""Simulators by name, vehicles by id, one clock: who dies takes nobody along but its own."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError, GhostError
from ghost.deploy import load_robot
from ghost.deploy.hal import vehicle_setup
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import Fault, FaultKind, Start, Wind
from ghost.simulation.backend import Happening
from ghost.simulation.lightweight.adapter import LightweightAdapter
from ghost.sitl.bridge import Loss, SitlBridge
from ghost.sitl.firmware import FloatArray, Seat
from ghost.sitl.registry import Unlockstepped
from ghost.sitl.time import TimePlan, parse_time
from ghost.sitl.vehicles import Vehicle

SPEC = ScenarioSpec("bridge", 1, 1_000_000, 10**12)
SETUP = vehicle_setup(load_robot("x500"), Start((0.0, 0.0, 50.0)))
FULL = np.ones(4)


class Scripted:
    """A firmware that does as it is told, and keeps account."""

    tick_ns = 4_000_000

    def __init__(self, seat: Seat, script: Callable[[int], None] = lambda _: None) -> None:
        self.seat = seat
        self.script = script
        self.heard: list[tuple[int, str]] = []
        self.is_closed = False

    def give(self, now_ns: int, arrived: Any) -> None:
        self.heard += [(now_ns, name) for name, _ in arrived]

    def take(self, now_ns: int) -> FloatArray | None:
        self.script(now_ns)
        return FULL

    def close(self) -> None:
        self.is_closed = True


def vehicle(number: int, adapter: str = "lightweight", **settings: Any) -> Vehicle:
    return Vehicle(number, SETUP, adapter, settings.pop("make", Scripted), **settings)


@pytest.fixture
def losses() -> list[Loss]:
    return []


def bridge_of(*vehicles: Vehicle, losses: list[Loss] | None = None, **settings: Any) -> SitlBridge:
    told = losses.append if losses is not None else (lambda _: None)
    bridge = SitlBridge(SPEC, on_loss=told, **settings)
    for name in sorted({one.adapter for one in vehicles}):
        bridge.adapters.register(name, LightweightAdapter())
    for one in vehicles:
        bridge.vehicles.add(one)
    return bridge


@pytest.mark.parametrize("number", [0, 255, -1, True, 1.0, "1"])
def test_an_id_that_mavlink_has_no_room_for_is_refused(number: Any) -> None:
    with pytest.raises(ConfigError, match=r"vehicle id .*; expected 1 to 254"):
        bridge_of(vehicle(number))


def test_an_id_is_one_vehicles_until_it_is_removed() -> None:
    bridge = bridge_of(vehicle(7))
    with pytest.raises(ConfigError, match="vehicle 7 is there already; the next free id is 1"):
        bridge.vehicles.add(vehicle(7))
    bridge.vehicles.remove(7)
    bridge.vehicles.add(vehicle(7))
    with pytest.raises(ConfigError, match="no vehicle 8; there are: 7"):
        bridge.vehicles.remove(8)


def test_a_simulator_has_one_name_and_a_name_one_simulator() -> None:
    bridge = SitlBridge(SPEC)
    adapter = LightweightAdapter()
    bridge.adapters.register("one", adapter)
    with pytest.raises(ConfigError, match="'one' is registered already"):
        bridge.adapters.register("one", LightweightAdapter())
    with pytest.raises(ConfigError, match="'two' is the one that is registered as 'one'"):
        bridge.adapters.register("two", adapter)
    with pytest.raises(ConfigError, match="timeout_ns of three is 0; expected an int above 0"):
        bridge.adapters.register("three", LightweightAdapter(), timeout_ns=0)
    assert bridge.adapters.unregister("one") is adapter
    with pytest.raises(ConfigError, match="no simulator registered as 'one'; registered: none"):
        bridge.adapters.unregister("one")


def test_nobody_flies_without_a_simulator() -> None:
    bridge = SitlBridge(SPEC)
    with pytest.raises(ConfigError, match="vehicle 1 has no simulator"):
        bridge.vehicles.add(vehicle(1, ""))
    with pytest.raises(ConfigError, match="no vehicles; add one first"):
        bridge.start()
    bridge.vehicles.add(vehicle(1, "lihgtweight"))
    bridge.adapters.register("lightweight", LightweightAdapter())
    with pytest.raises(ConfigError, match="as 'lihgtweight'; registered: lightweight"):
        bridge.start()


def test_a_bridge_that_does_not_run_says_so() -> None:
    bridge = bridge_of(vehicle(1))
    with pytest.raises(GhostError, match="call start first"):
        bridge.step()
    bridge.start()
    with pytest.raises(GhostError, match="stop it first"):
        bridge.start()
    for wrong in (-1, 1.0, 1_500_000, True):
        with pytest.raises(ConfigError, match="a multiple of the scenario's 1000000 ns"):
            bridge.step(wrong)  # type: ignore[arg-type]
    bridge.stop()
    bridge.stop()
    bridge.start()
    assert bridge.clock.now_ns() == 0


def test_vehicles_are_visited_by_id_and_simulators_by_name() -> None:
    visited: list[int] = []

    def make(seat: Seat) -> Scripted:
        return Scripted(seat, lambda _: visited.append(seat.vehicle_id))

    order = [vehicle(9, "b", make=make), vehicle(2, "b", make=make), vehicle(5, "a", make=make)]
    bridge = bridge_of(*order)
    bridge.start()
    bridge.step(8_000_000)
    assert visited == [2, 5, 9, 2, 5, 9]


def test_a_simulator_may_be_elsewhere() -> None:
    bridge = bridge_of(vehicle(1, "far@10.0.0.7:9002,channels=32"), vehicle(2, "far"))
    bridge.start()
    bridge.step()
    assert bridge.alive == (1, 2)


def test_how_time_is_cut_up_does_not_matter() -> None:
    def fly(cuts: list[int]) -> list[float]:
        bridge = bridge_of(vehicle(1), wind=Wind(gust_mps=3.0))
        bridge.start()
        for cut in cuts:
            bridge.step(cut * 1_000_000)
        return list(bridge.ground_truth(1).position_enu_m)

    assert fly([100]) == fly([1, 2, 3, 4, 90]) == fly([50, 50])


def test_what_befalls_a_vehicle_befalls_it_alone() -> None:
    fall = (Happening(50_000_000, Fault("motor/0", FaultKind.STRENGTH, (0.0,))),)
    bridge = bridge_of(vehicle(1), vehicle(2, happenings=fall))
    bridge.start()
    bridge.step(500_000_000)
    level, tumbling = (np.abs(bridge.ground_truth(number).rate_flu_rps).max() for number in (1, 2))
    assert level < 0.1
    assert tumbling > 1.0


def test_a_firmware_that_fails_is_lost_alone(losses: list[Loss]) -> None:
    def dies(now_ns: int) -> None:
        if now_ns == 40_000_000:
            raise RuntimeError("out of memory")

    bridge = bridge_of(
        vehicle(1), vehicle(2, make=lambda seat: Scripted(seat, dies)), losses=losses
    )
    bridge.start()
    dying: Any = bridge.firmware(2)
    bridge.step(1_000_000_000)
    assert losses == [Loss(40_000_000, "vehicle 2", (2,), "RuntimeError: out of memory")]
    assert dying.is_closed
    assert bridge.alive == (1,)
    assert bridge.why_lost(2) == "RuntimeError: out of memory"
    assert (
        bridge.ground_truth(2).velocity_enu_mps[2]
        < -5.0
        < bridge.ground_truth(1).velocity_enu_mps[2]
    )


def broken(adapter: LightweightAdapter, method: str, act: Callable[[], None]) -> LightweightAdapter:
    """One of another process, which works until act doesn't return."""
    original = getattr(adapter, method)

    def call(*arguments: Any) -> Any:
        act()
        return original(*arguments)

    setattr(adapter, method, call)
    adapter.capabilities = replace(LightweightAdapter.capabilities, in_process=False)
    return adapter


@pytest.mark.parametrize("method", ["step", "receive_sensors", "send_motors"])
def test_a_simulator_that_fails_takes_its_own_vehicles_along(
    method: str, losses: list[Loss]
) -> None:
    calls = []

    def fail() -> None:
        calls.append(0)
        if len(calls) == 30:
            raise ConnectionResetError("gone")

    bridge = bridge_of(vehicle(1), losses=losses)
    bridge.adapters.register("far", broken(LightweightAdapter(), method, fail))
    bridge.vehicles.add(vehicle(2, "far"))
    bridge.vehicles.add(vehicle(3, "far"))
    bridge.start()
    bridge.step(400_000_000)
    (loss,) = losses
    assert (loss.who, loss.vehicle_ids) == ("simulator far", (2, 3))
    assert loss.reason == "ConnectionResetError: gone"
    assert bridge.alive == (1,)
    assert bridge.clock.now_ns() == 400_000_000
    with pytest.raises(GhostError, match="vehicle 3 was lost: simulator far died"):
        bridge.ground_truth(3)


def test_a_simulator_that_hangs_is_given_up_in_time(losses: list[Loss]) -> None:
    is_released = threading.Event()

    def hang() -> None:
        is_released.wait(5.0)

    bridge = bridge_of(vehicle(1), losses=losses)
    hanging = broken(LightweightAdapter(), "step", hang)
    bridge.adapters.register("far", hanging, timeout_ns=20_000_000)
    bridge.vehicles.add(vehicle(2, "far"))
    bridge.start()
    bridge.step(40_000_000)
    is_released.set()
    assert [loss.reason for loss in losses] == ["a step of simulator far did not end in 0.02 s"]
    assert bridge.alive == (1,)
    bridge.stop()


def test_a_simulator_that_keeps_its_own_time_is_refused_in_lockstep() -> None:
    def bridge(plan: TimePlan, **settings: Any) -> SitlBridge:
        made = SitlBridge(SPEC, time=plan)
        adapter = LightweightAdapter()
        adapter.supports_lockstep = False
        made.adapters.register("free", adapter, **settings)
        made.vehicles.add(vehicle(1, "free"))
        return made

    for held in ("lockstep", "scaled:2"):
        with pytest.raises(
            ConfigError, match=f"keeps its own time and can't be flown in {held[:6]}"
        ):
            bridge(parse_time(held)).start()
    bridge(parse_time("realtime")).start()
    followed = bridge(parse_time("lockstep"), unlockstepped=Unlockstepped.FOLLOW)
    followed.start()
    followed.step()
    assert not followed.deterministic
    assert bridge_of(vehicle(1)).deterministic


def test_a_simulator_has_no_more_vehicles_than_it_has_room_for() -> None:
    bridge = bridge_of(vehicle(1), vehicle(2))
    adapter: Any = bridge.adapters["lightweight"].adapter
    adapter.capabilities = replace(LightweightAdapter.capabilities, max_vehicles=1)
    with pytest.raises(ConfigError, match="has 2 vehicles, and room for 1"):
        bridge.start()


def test_a_start_that_fails_leaves_nothing_connected() -> None:
    def refuse(_: Seat) -> Scripted:
        raise ConfigError("no PX4 here")

    bridge = bridge_of(vehicle(1, "a"), vehicle(2, "b", make=refuse))
    with pytest.raises(ConfigError, match="no PX4 here"):
        bridge.start()
    assert not any(entry.adapter.is_connected for entry in bridge.adapters)
    assert not bridge.is_running
