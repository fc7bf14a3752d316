"""The companion computer fails under the unit: its process, disk, processor or clock."""

import time

from ghost.telemetry import read_manifest
from hil.case import case, check
from hil.need import Need
from hil.pilot import bring_down, hovering, offboard_loss_s, stays_out, wait_for_failsafe
from hil.record import FAILED
from hil.stage import Stage

FLIGHT = frozenset({Need.FLIGHT})
RESTART_S = 25.0


@case(
    "companion",
    "the vehicle flies on without its computer, or the restarted one grabs it in the air",
    "COM_OF_LOSS_T of the flight controller; `ghost log recover` for the log",
    FLIGHT,
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
