"""The pilot and the ground station always win."""

import time

from firmware_bridge.messages import Message, dialect
from hil.case import case, check
from hil.need import Need
from hil.stage import Stage

FLIGHT = frozenset({Need.FLIGHT})
YIELD_S = 0.1
"""One cycle of the flight loop is 20 ms; the mode's change is heard with the next heartbeat."""
STAYS_OUT_S = 4.0
MOTORS_STOP_S = 0.5


@case(
    "authority",
    "the vehicle fights its pilot, or goes back to the mission by itself",
    "read the LET_GO event in the log, then ghost/mission/authority.py",
    FLIGHT,
)
def pilot_takes_over(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    unit = stage.flying(vehicle)
    station.vehicle.set_mode("HOLD")
    began_s = time.monotonic()
    unit.until("the mode was changed to HOLD", 5.0)
    took_s = time.monotonic() - began_s
    station.spin(STAYS_OUT_S)
    seen = referee.look()
    check(seen.armed and seen.mode == "HOLD", f"it stayed neither armed nor in HOLD: {seen}")
    modes = {one.mode for one in referee.history() if one.at_s > began_s + 1.0}
    check(modes == {"HOLD"}, f"after the pilot took over it was in {sorted(modes)}")
    station.vehicle.set_mode("LAND")
    referee.until(lambda one: not one.armed, within_s=20.0, what="landed and disarmed")
    check(unit.wait() == 4, f"the unit's exit code is {unit.process.returncode}; expected 4")
    return f"yielded {took_s:.2f} s after the mode's acknowledgement, stayed out {STAYS_OUT_S:g} s"


@case(
    "authority",
    "motors turn on after a kill",
    "cut the power; check the kill path of flight controller and receiver",
    frozenset({Need.FLIGHT, Need.TRUTH}),
)
def kill_switch_stops_motors(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    unit = stage.flying(vehicle)
    check(max(vehicle.truth()["rotor_speed_rps"]) > 10.0, "the rotors don't turn in flight")
    began_s = time.monotonic()
    station.vehicle.send(
        dialect.MAVLink_command_long_message(
            vehicle.system, 1, dialect.MAV_CMD_DO_FLIGHTTERMINATION, 0, 1, 0, 0, 0, 0, 0, 0
        )
    )
    station.until(
        lambda: max(vehicle.truth()["rotor_speed_rps"]) < 10.0, within_s=3.0, what="still rotors"
    )
    took_s = time.monotonic() - began_s
    check(
        took_s < MOTORS_STOP_S, f"the rotors turned for {took_s:.2f} s; expected {MOTORS_STOP_S:g}"
    )
    pilot = station.vehicle
    station.until(  # PX4 v1.18 stays armed, in this state until it is restarted
        lambda: not pilot.is_armed or bool(pilot.heartbeat and _is_terminated(pilot.heartbeat)),
        within_s=5.0,
        what="disarmed, or flight termination",
    )
    check(unit.wait() != 0, "the unit calls a killed flight completed")
    speed_rps = max(vehicle.truth()["rotor_speed_rps"])
    check(speed_rps < 10.0, f"the rotors turn again, with {speed_rps:.0f}/s")
    armed = "armed, in flight termination" if referee.look().armed else "disarmed"
    return f"rotors below 10/s in {took_s * 1e3:.0f} ms, and {armed} ever after"


def _is_terminated(heartbeat: Message) -> bool:
    return bool(heartbeat.system_status == dialect.MAV_STATE_FLIGHT_TERMINATION)
