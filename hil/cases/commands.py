"""Commands that must not be obeyed: out of the envelope, of no number, stale, out of order."""

import itertools
import math
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from firmware_bridge.messages import Message, dialect
from ghost.hal import AckStatus, RejectReason
from ghost.hal.channels import CMD_ACK, CMD_TRAJECTORY
from hil.case import case, check
from hil.hover import hover
from hil.need import Need
from hil.pilot import bring_down, offboard_loss_s, wait_for_failsafe
from hil.record import logged
from hil.robots import FENCED, FOLDER
from hil.stage import Stage
from hil.station import Station

NEEDS = frozenset({Need.FLIGHT, Need.TRUTH})
FLOOD_S = 4.0
FLOOD_NS = 10_000_000
"""Twice as often as the unit's: one kind that is obeyed would be seen."""
HIGH_M = 4.0
EACH = 5
WRONGS = {
    "nan": RejectReason.NOT_FINITE,
    "infinite": RejectReason.NOT_FINITE,
    "far": RejectReason.OUT_OF_RANGE,
    "fence": RejectReason.GEOFENCE,
    "ceiling": RejectReason.ALTITUDE,
    "stale": RejectReason.STALE,
    "future": RejectReason.STALE,
    "order": RejectReason.OUT_OF_ORDER,
}
_WAYWARD = f"""\
import signal

def go_wrong(*_):
    import math
    from dataclasses import replace
    import numpy as np
    from ghost.hal.channels import CMD_ACK, CMD_TRAJECTORY
    from ghost.mission.link import Link, TrajectoryCommand

    stream, kinds = Link.stream, {list(WRONGS)!r} * {EACH}

    def streams_wrong(self, now_ns, point):
        ack = stream(self, now_ns, point)
        if kinds:
            kind, number = kinds.pop(), self._commands
            self._commands += 1
            place = list(point.position_enu_m)
            at = {{"nan": math.nan, "infinite": math.inf, "far": 1.0e9, "fence": 40.0}}
            place[0] = at.get(kind, place[0])
            place[2] = 500.0 if kind == "ceiling" else place[2]
            wrong = TrajectoryCommand(
                now_ns + {{"stale": -10**9, "future": 10**9}}.get(kind, 0),
                number - 5 if kind == "order" else number,
                np.array(place), np.zeros(3), np.zeros(3), point.yaw_rad, 0.0,
            )
            self._bus.publish(CMD_TRAJECTORY, wrong)
            self._bus.publish(CMD_ACK, self._actuators.send(wrong))
        return ack

    Link.stream = streams_wrong

signal.signal(signal.SIGUSR1, go_wrong)
"""
"""A unit whose mission, at a signal, commands one wrong thing after each right one."""


@case(
    "commands",
    "a defect in a mission or planner becomes a movement",
    "the acks in the unit's log: `ghost log verify`; ghost/hal/gate.py",
    NEEDS,
    150.0,
)
def the_units_own_gate_refuses(stage: Stage) -> str:
    flight = hover(
        stage,
        seconds=6.0,
        robot=FENCED if stage.has(Need.GEOFENCE) else "x500",
        options=("--hil", "--allow-arming", "--robots", str(FOLDER)),
        unit_robot=FENCED,
        env={"PYTHONPATH": _startup(stage.folder)},
    )
    flight.unit.stop(signal.SIGUSR1)
    flight.completes()
    commands, acks = logged(flight.unit.folder, CMD_TRAJECTORY), logged(flight.unit.folder, CMD_ACK)
    check(len(commands) == len(acks), f"{len(commands)} commands have {len(acks)} acks")
    refused = [ack for ack in acks if ack.status is AckStatus.REJECTED]
    check(all(ack.applied is None for ack in refused), "something was applied of what was refused")
    counts = Counter(ack.reason for ack in refused)
    expected = Counter(itertools.chain.from_iterable([reason] * EACH for reason in WRONGS.values()))
    for reason, count in expected.items():
        check(
            counts[reason] == count,
            f"{counts[reason]} refused as {reason.name}; expected {count} of them",
        )
    away = flight.stayed_within(1.0, HIGH_M)
    return f"{sum(expected.values())} of {len(acks)} commands wrong, each refused, {away}"


@case(
    "commands",
    "anybody on the network can move the vehicle with nonsense",
    "ghost/sitl/setpoints.py and the gate behind it; signing keeps strangers out altogether",
    NEEDS,
    150.0,
)
def a_second_senders_nonsense_is_refused(stage: Stage) -> str:
    robot = FENCED if stage.has(Need.GEOFENCE) else "x500"
    flight = hover(stage, seconds=FLOOD_S + 2.0, robot=robot)
    station = stage.station(flight.vehicle)
    sent, cancel = _flood(station, is_fenced=stage.has(Need.GEOFENCE))
    station.spin(FLOOD_S)
    cancel()
    seen = flight.referee.look()
    check(seen.armed and seen.mode == "OFFBOARD", f"it is no longer armed in OFFBOARD: {seen}")
    flight.completes()
    away = flight.stayed_within(1.0, HIGH_M)
    return f"{len(sent)} bad set-points in {FLOOD_S:g} s between the unit's, flew on, {away}"


@case(
    "commands",
    "the companion is dead, and nonsense from elsewhere passes for its stream",
    "what counts as heard in ghost/sitl/offboard.py; COM_OF_LOSS_T of the flight controller",
    NEEDS,
    150.0,
)
def nonsense_holds_off_no_failsafe(stage: Stage) -> str:
    robot = FENCED if stage.has(Need.GEOFENCE) else "x500"
    flight = hover(stage, seconds=30.0, robot=robot)
    station = stage.station(flight.vehicle)
    loss_s = offboard_loss_s(station)
    sent, cancel = _flood(station, is_fenced=stage.has(Need.GEOFENCE))
    began_s = time.monotonic()
    flight.unit.kill()
    took_s, mode = wait_for_failsafe(station, flight.referee, began_s, loss_s)
    cancel()
    bring_down(station, flight.referee)
    flight.stayed_within(2.0, HIGH_M)
    return f"{mode} {took_s:.2f} s after the kill, set to {loss_s:g} s, {len(sent)} bad set-points"


def _flood(station: Station, *, is_fenced: bool) -> tuple[list[str], Callable[[], None]]:
    """From now on, whenever the station is spun. What was sent so far, and how to end it."""
    kinds = itertools.cycle(_nonsense(station.vehicle.system or 1, is_fenced=is_fenced).items())
    sent: list[str] = []

    def send(_: int) -> None:
        name, message = next(kinds)
        sent.append(name)
        station.vehicle.send(message)

    return sent, station.hub.every(FLOOD_NS, send)


def _nonsense(system: int, *, is_fenced: bool) -> dict[str, Message]:
    nan, level = math.nan, (1.0, 0.0, 0.0, 0.0)
    kinds = {
        "no place": _place(system, nan, nan, nan),
        "half a place": _place(system, nan, 0.0, -2.0),
        "infinitely far": _place(system, math.inf, 0.0, -2.0),
        "another planet": _place(system, 1.0e9, 0.0, -2.0),
        "above the ceiling": _place(system, 0.0, 0.0, -500.0),
        "no speed": _speed(system, nan, 0.0, 0.0),
        "a bullet's speed": _speed(system, 1.0e6, 0.0, 0.0),
        "no attitude": _attitude(system, (nan, nan, nan, nan), 0.5),
        "an attitude of length 0": _attitude(system, (0.0, 0.0, 0.0, 0.0), 0.5),
        "no thrust": _attitude(system, level, nan),
        "seven times the thrust": _attitude(system, level, 7.0),
    }
    if is_fenced:
        kinds["across the fence"] = _place(system, 0.0, 40.0, -2.0)
    return kinds


def _place(system: int, north_m: float, east_m: float, down_m: float) -> Message:
    return _target(system, 0xDF8, (north_m, east_m, down_m), (0.0, 0.0, 0.0))


def _speed(system: int, north_mps: float, east_mps: float, down_mps: float) -> Message:
    return _target(system, 0xDC7, (0.0, 0.0, 0.0), (north_mps, east_mps, down_mps))


def _target(system: int, mask: int, place: tuple[float, ...], speed: tuple[float, ...]) -> Message:
    return dialect.MAVLink_set_position_target_local_ned_message(
        *(0, system, 1, dialect.MAV_FRAME_LOCAL_NED, mask),
        *place,
        *speed,
        *(0.0, 0.0, 0.0, 0.0, 0.0),
    )


def _attitude(system: int, quaternion: tuple[float, ...], thrust: float) -> Message:
    ignores_rates = 0x7
    return dialect.MAVLink_set_attitude_target_message(
        0, system, 1, ignores_rates, list(quaternion), 0.0, 0.0, 0.0, thrust
    )


def _startup(folder: Path) -> str:
    """A path for a Python that can go wrong."""
    place = folder.absolute() / "wayward"
    place.mkdir()
    (place / "sitecustomize.py").write_text(_WAYWARD, encoding="utf-8")
    return os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
