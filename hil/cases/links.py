"""The link between companion and flight controller is cut, late, lossy, corrupt, narrow or deaf."""

import math
import time

from hil.case import case, check
from hil.need import Need
from hil.pilot import (
    bring_down,
    hovering,
    is_down,
    offboard_loss_s,
    proxied,
    stays_out,
    wait_for_failsafe,
)
from hil.proxy import Bandwidth, Corrupt, Cut, Delay, Direction, Effect, Fault, Loss, Reorder
from hil.record import (
    ABORTED,
    COMPLETED,
    ENDS_S,
    INTERRUPTED,
    check_completed,
    check_whole,
    check_yielded,
)
from hil.stage import Stage
from hil.unit import HOVER

LIMIT_S = 120.0
"""Four times what it takes: a stall, and not a busy machine."""
NEEDS = frozenset({Need.FLIGHT, Need.PROXY})
NS = 1_000_000_000
STAYS_OUT_S = 2.0
UNIT_PATIENCE_S = 2.0
"""Without a status for that long a mission has lost its vehicle, by docs/missions.md."""
RADIO_BYTES_PER_S = 5_760
"""57,600 baud, the slowest link that docs/hardware.md flies over."""
LEG = """\
name: leg
frame: home
steps:
  - takeoff: {altitude_m: 2.0}
  - goto: {position_enu_m: [3.0, 0.0, 2.0]}
  - land: {}
"""
LOOSE = "the vehicle flies off, or oscillates, on a link that is only bad"
SET_RIGHT = "the radio, the cable, the baud rate; the link's statistics end the unit's log"
ROGUE = "the vehicle flies on at its last set-point, or is taken back when the link returns"
LOSS_TIME = "COM_OF_LOSS_T of the flight controller; ghost/mission/authority.py for the yielding"


@case("link", "a hiccup of the link ends the mission", SET_RIGHT, NEEDS, LIMIT_S)
def link_is_cut_for_a_third_of_a_second(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    proxy = proxied(stage, vehicle.links.unit)
    mission = HOVER.format(altitude_m=2.0, seconds=4.0)
    unit = hovering(stage, proxy.unit_url, station, mission=mission)
    before, began_s = referee.look(), time.monotonic()
    proxy.apply(Fault(Cut(), duration_ns=300_000_000))
    station.spin(2.0)
    modes = {one.mode for one in referee.history() if one.at_s > began_s}
    check(modes <= {"OFFBOARD"}, f"0.3 s without a link put it into {sorted(modes)}")
    after = referee.look()
    check_completed(unit)
    is_down(referee)
    lost = proxy.counts.to_vehicle.dropped
    moved_m = math.hypot(after.north_m - before.north_m, after.east_m - before.east_m)
    return f"flew on without {lost} frames, moved {moved_m:.2f} m, mission completed"


@case("link", ROGUE, LOSS_TIME, NEEDS, LIMIT_S)
def link_is_cut_for_two_seconds(stage: Stage) -> str:
    return _cut(stage, 2.0)


@case("link", ROGUE, LOSS_TIME, NEEDS, LIMIT_S)
def link_is_cut_for_ten_seconds(stage: Stage) -> str:
    return _cut(stage, 10.0)


@case("link", LOOSE, SET_RIGHT, NEEDS, LIMIT_S)
def link_is_200_ms_late(stage: Stage) -> str:
    return _flown(stage, Delay(delay_ns=200_000_000))


@case("link", LOOSE, SET_RIGHT, NEEDS, LIMIT_S)
def link_loses_a_fifth(stage: Stage) -> str:
    return _flown(stage, Loss(probability=0.2))


@case("link", LOOSE, SET_RIGHT, NEEDS, LIMIT_S)
def link_corrupts_a_tenth(stage: Stage) -> str:
    return _flown(stage, Corrupt(probability=0.1, bits=2))


@case("link", LOOSE, SET_RIGHT, NEEDS, LIMIT_S)
def link_reorders_a_fifth(stage: Stage) -> str:
    return _flown(stage, Reorder(probability=0.2, depth=3))


@case("link", LOOSE, SET_RIGHT, NEEDS, LIMIT_S)
def link_narrows_to_that_of_a_radio(stage: Stage) -> str:
    """In flight: a flight controller that knows of a narrow link streams less from the start."""
    return _flown(stage, Bandwidth(RADIO_BYTES_PER_S, queue_bytes=2_048), in_flight=True)


@case("link", ROGUE, LOSS_TIME, NEEDS, LIMIT_S)
def link_is_deaf_to_the_unit(stage: Stage) -> str:
    """The flight controller hears nothing, and is heard."""
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    proxy = proxied(stage, vehicle.links.unit)
    unit = hovering(stage, proxy.unit_url, station)
    began_s = time.monotonic()
    handle = proxy.apply(Fault(Cut(), direction=Direction.TO_VEHICLE))
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s)
    handle.clear()
    stays_out(station, referee, STAYS_OUT_S)
    bring_down(station, referee)
    why = check_yielded(unit)
    return f"{mode} after {took_s:.2f} s, set to {loss_s:g} s; {why}"


@case(
    "link",
    "set-points go out for a vehicle that nobody hears",
    "ghost/mission/authority.py: a vehicle without a status is let go",
    NEEDS,
    LIMIT_S,
)
def link_is_deaf_to_the_vehicle(stage: Stage) -> str:
    """The unit hears nothing, and is heard: it has to fall silent, or to land, by itself."""
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station) + UNIT_PATIENCE_S
    proxy = proxied(stage, vehicle.links.unit)
    unit = hovering(stage, proxy.unit_url, station)
    began_s = time.monotonic()
    handle = proxy.apply(Fault(Cut(), direction=Direction.TO_UNIT))
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s, early=0.0)
    stays_out(station, referee, STAYS_OUT_S)
    handle.clear()
    bring_down(station, referee)
    code = unit.wait(ENDS_S)
    check(code in {ABORTED, INTERRUPTED}, f"the unit's exit code is {code}; it flew on unheard")
    check_whole(unit.folder)
    return f"{mode} {took_s:.2f} s after the unit heard its last, bound {loss_s:g} s"


def _cut(stage: Stage, seconds: float) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    proxy = proxied(stage, vehicle.links.unit)
    unit = hovering(stage, proxy.unit_url, station)
    began_s = time.monotonic()
    proxy.apply(Fault(Cut(), duration_ns=round(seconds * NS)))
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s)
    station.spin(seconds - (time.monotonic() - began_s))
    stays_out(station, referee, STAYS_OUT_S)
    bring_down(station, referee)
    why = check_yielded(unit, may_land=True)
    return f"{mode} {took_s:.2f} s after the cut, set to {loss_s:g} s; unit: {why}"


def _flown(stage: Stage, effect: Effect, *, in_flight: bool = False) -> str:
    """From the first heartbeat on: the mission is flown, or given up with the vehicle landed."""
    vehicle = stage.vehicle()
    referee, proxy = stage.referee(vehicle), proxied(stage, vehicle.links.unit)
    if not in_flight:
        proxy.apply(Fault(effect))
    unit = stage.unit(proxy.unit_url, mission=LEG)
    unit.until("-> OFFBOARD", 50.0)
    if in_flight:
        proxy.apply(Fault(effect))
    code = unit.wait(ENDS_S)
    is_down(referee)
    check_whole(unit.folder)
    outcome = _said(unit.said, "outcome")
    given_up = code in {ABORTED, INTERRUPTED}
    check(code == COMPLETED or given_up, f"the unit's exit code is {code}: {outcome}")
    return f"{outcome}; tracking {_said(unit.said, 'tracking')}"


def _said(said: str, key: str) -> str:
    """A line of the summary."""
    lines = [line for line in said.splitlines() if line.startswith(key)]
    return lines[-1].removeprefix(key).strip() if lines else f"no {key} told"
