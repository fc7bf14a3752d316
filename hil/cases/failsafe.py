"""Who commands falls silent: the flight controller notices in time, and keeps the vehicle."""

import os
import signal
import time
from pathlib import Path

from hil.case import case
from hil.need import Need
from hil.pilot import bring_down, hovering, offboard_loss_s, stays_out, wait_for_failsafe
from hil.record import check_yielded
from hil.stage import Stage

LIMIT_S = 120.0
"""Four times what it takes: a stall, and not a busy machine."""
FLIGHT = frozenset({Need.FLIGHT})
STAYS_OUT_S = 3.0
HANG_S = 3.0
_HANGS = f"""\
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep({HANG_S}))
"""
"""The thread of the control loop sleeps; those of the log and the interpreter live on."""


@case(
    "failsafe",
    "the vehicle flies on at its last set-point, or is taken back when the program wakes up",
    "COM_OF_LOSS_T of the flight controller; nothing may repeat a set-point for the loop",
    FLIGHT,
    LIMIT_S,
)
def control_loop_stops(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    unit = hovering(stage, vehicle.links.unit, station)
    began_s = time.monotonic()
    unit.stop(signal.SIGSTOP)
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s)
    unit.stop(signal.SIGCONT)
    stays_out(station, referee, STAYS_OUT_S)
    bring_down(station, referee)
    why = check_yielded(unit)
    return f"{mode} {took_s:.2f} s after the loop stopped, set to {loss_s:g} s; {why}"


@case(
    "failsafe",
    "the vehicle flies on at its last set-point, or is taken back when the loop goes on",
    "COM_OF_LOSS_T of the flight controller; no thread but the loop's may send a set-point",
    FLIGHT,
    LIMIT_S,
)
def control_loop_hangs(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    unit = hovering(stage, vehicle.links.unit, station, env={"PYTHONPATH": _startup(stage.folder)})
    began_s = time.monotonic()
    unit.stop(signal.SIGUSR1)
    took_s, mode = wait_for_failsafe(station, referee, began_s, loss_s)
    stays_out(station, referee, HANG_S + 1.0)
    bring_down(station, referee)
    why = check_yielded(unit)
    return f"{mode} {took_s:.2f} s after the loop hung, set to {loss_s:g} s; {why}"


def _startup(folder: Path) -> str:
    """A PYTHONPATH from which Python starts with a signal that hangs its main thread."""
    place = folder.absolute() / "hangs"
    place.mkdir()
    (place / "sitecustomize.py").write_text(_HANGS, encoding="utf-8")
    return os.pathsep.join((str(place), *filter(None, [os.environ.get("PYTHONPATH")])))
