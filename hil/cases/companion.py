"""The companion computer fails under the unit: its process, disk, processor or clock."""

import os
import time
from itertools import pairwise

from ghost.hal.channels import VEHICLE
from ghost.telemetry import read_manifest, recover
from hil.case import Skipped, case, check
from hil.companion import Inside, NotPossibleHereError, RunDisk, starved
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
from hil.proxy import Direction, Proxy
from hil.record import (
    ABORTED,
    COMPLETED,
    ENDS_S,
    FAILED,
    INTERRUPTED,
    check_completed,
    check_whole,
    logged,
)
from hil.stage import Stage
from hil.station import Station
from hil.unit import HOVER

LIMIT_S = 120.0
"""Four times what it takes: a stall, and not a busy machine."""
FLIGHT = frozenset({Need.FLIGHT})
PROXIED = frozenset({Need.FLIGHT, Need.PROXY})
RESTART_S = 25.0
RATE_HZ = 50.0
"""Of the flight loop."""
LEAST_SHARE = 0.3
"""Of the rate before the fault: others use the machine, too. A loop that waits for the disk is left
with a tenth.
"""
MEASURED_S = 3.0
SHORT_HOVER = HOVER.format(altitude_m=2.0, seconds=7.0)
SYNC_NS, WRITE_NS = 400_000_000, 100_000_000
HOUR_NS = 3_600_000_000_000


@case(
    "companion",
    "the vehicle flies on without its computer, or the restarted one grabs it in the air",
    "COM_OF_LOSS_T of the flight controller; `ghost log recover` for the log",
    FLIGHT,
    LIMIT_S,
)
def companion_is_killed_in_flight(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    unit = hovering(stage, vehicle.links.unit, station)
    began_s = time.monotonic()
    unit.kill()
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s)
    station.vehicle.set_mode("HOLD")  # a pilot catches it: it must not be down before the restart
    check(read_manifest(unit.folder).log.status == "recording", "a killed log claims to be closed")
    again = stage.unit(vehicle.links.unit, out=unit.desk / "again")
    again.until("was cut off; lost: ", RESTART_S)
    code = again.wait(RESTART_S)
    stays_out(station, referee, 1.0)
    seen = referee.look()
    check(seen.mode == "HOLD", f"after the restart it is in {seen.mode}; expected the pilot's HOLD")
    check(code == FAILED, f"the restarted unit's exit code is {code}; expected {FAILED}")
    again.expect("by somebody else")
    status = read_manifest(unit.folder).log.status
    check(status == "recovered", f"the log is {status}; expected recovered")
    bring_down(station, referee)
    return f"{mode} {took_s:.2f} s after the kill, set to {loss_s:g} s; log recovered, left alone"


@case(
    "companion",
    "the vehicle flies on without a log, or stops where it is",
    "make room; `ghost doctor` looks for it before a flight",
    FLIGHT,
    LIMIT_S,
)
def disk_is_full_in_flight(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    place = stage.folder / "disk"
    try:
        with RunDisk(place) as disk:
            unit = hovering(stage, vehicle.links.unit, station, out=place / "run")
            began_s = time.monotonic()
            with disk.full(unit.process):
                unit.until("-> LAND", 15.0)
                took_s = time.monotonic() - began_s
                down_s = is_down(referee)
                code = unit.wait(ENDS_S)
    except NotPossibleHereError as why:
        raise Skipped(str(why)) from None
    check(code == FAILED, f"the unit's exit code is {code}; expected {FAILED}")
    recovery = recover(unit.folder)
    kept = len(logged(unit.folder, VEHICLE))
    check(kept > RATE_HZ, f"{kept} states of the flight up to then are left; {recovery.lost} lost")
    return (
        f"landing {took_s:.1f} s after the disk was full ({disk.how}), down in {down_s:.1f} s, "
        f"{kept / RATE_HZ:.0f} s in the log"
    )


@case(
    "companion",
    "set-points stutter when the log is written, up to a failsafe",
    "a faster card; nothing of the flight loop may wait for the disk (ADR 0005)",
    PROXIED,
    LIMIT_S,
)
def disk_is_slow_in_flight(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    proxy = proxied(stage, vehicle.links.unit)
    inside = stage.keep(Inside(stage.folder, seed=stage.seed))
    environment = inside.environment(os.environ)
    unit = hovering(stage, proxy.unit_url, station, mission=SHORT_HOVER, env=environment)
    before_hz = _rate_hz(proxy, station, MEASURED_S / 2)
    with inside.slow_disk(sync_ns=SYNC_NS, write_ns=WRITE_NS):
        rate_hz = _rate_hz(proxy, station)
        waits = inside.slow_operations
    check(inside.is_loaded and waits > 0, "the unit waited for no disk: there was no fault")
    _keeps_its_rate(before_hz, rate_hz)
    check_completed(unit)
    is_down(referee)
    return (
        f"set-points at {rate_hz:.0f} Hz while the log waited {waits} times, {before_hz:.0f} Hz "
        "before, mission completed"
    )


@case(
    "companion",
    "set-points come in bursts, and the vehicle jerks or falls into its failsafe",
    "a processor of its own for the unit: cpuset and priority of its container",
    PROXIED,
    LIMIT_S,
)
def companion_is_starved_of_its_processor(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    proxy = proxied(stage, vehicle.links.unit)
    unit = hovering(stage, proxy.unit_url, station, mission=SHORT_HOVER)
    with starved(unit.process, share=0.3, seed=stage.seed) as told:
        rate_hz = _rate_hz(proxy, station)
    check(told.stops > 0, "it was never stopped: there was no fault")
    code = unit.wait(ENDS_S)
    is_down(referee)
    check(code in {COMPLETED, ABORTED, INTERRUPTED}, f"the unit's exit code is {code}")
    check_whole(unit.folder)
    share = told.ran_ns / (told.ran_ns + told.stopped_ns)
    outcome = "mission completed" if code == COMPLETED else "given up and landed"
    return f"{rate_hz:.0f} set-points a second with {share:.0%} of the time, {outcome}"


@case(
    "companion",
    "the mission skips ahead or stops, or the log's time goes back",
    "time in flight is the monotonic clock's; see ghost/core/clock.py",
    PROXIED,
    LIMIT_S,
)
def companion_clock_steps_in_flight(stage: Stage) -> str:
    """As NTP does it: an hour ahead, then an hour behind."""
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    proxy = proxied(stage, vehicle.links.unit)
    inside = stage.keep(Inside(stage.folder, seed=stage.seed))
    environment = inside.environment(os.environ)
    unit = hovering(stage, proxy.unit_url, station, mission=SHORT_HOVER, env=environment)
    check(inside.is_loaded, "the unit reads no orders: there was no fault")
    before_hz = _rate_hz(proxy, station, MEASURED_S / 2)
    inside.step_clock(HOUR_NS)
    ahead_hz = _rate_hz(proxy, station, MEASURED_S / 2)
    inside.step_clock(-HOUR_NS)
    behind_hz = _rate_hz(proxy, station, MEASURED_S / 2)
    _keeps_its_rate(before_hz, min(ahead_hz, behind_hz))
    check_completed(unit)
    is_down(referee)
    stamps = [state.stamp_ns for state in logged(unit.folder, VEHICLE)]
    longest_ns = max(after - before for before, after in pairwise(stamps))
    check(min(stamps) >= 0 and stamps == sorted(stamps), "time in the log goes back")
    check(longest_ns < HOUR_NS // 60, f"the log's time jumps by {longest_ns / 1e9:.0f} s")
    return (
        f"set-points at {ahead_hz:.0f} and {behind_hz:.0f} Hz, {before_hz:.0f} Hz before, mission "
        "completed"
    )


def _keeps_its_rate(before_hz: float, hz: float) -> None:
    check(
        hz > LEAST_SHARE * before_hz,
        f"set-points at {hz:.0f} Hz; expected {before_hz:.0f} Hz, as before the fault",
    )


def _rate_hz(proxy: Proxy, station: Station, seconds: float = MEASURED_S) -> float:
    """Of the set-points that reach the link."""
    names = ("SET_POSITION_TARGET*",)
    before, began_s = len(proxy.recorded(Direction.TO_VEHICLE, names)), time.monotonic()
    station.spin(seconds)
    after, now_s = len(proxy.recorded(Direction.TO_VEHICLE, names)), time.monotonic()
    return (after - before) / (now_s - began_s)
