"""The fence and the ceiling: not planned across, not sent across, and brought back from beyond."""

import time

from firmware_bridge.messages import dialect
from hil.case import case, check
from hil.hover import hover
from hil.need import Need
from hil.process import wait_until
from hil.record import FAILED
from hil.robots import FENCED, FOLDER
from hil.stage import Stage

FENCE_M, CEILING_M = 6.0, 9.0
"""As in hil/robots/fenced."""
CAGE = frozenset({Need.FLIGHT, Need.TRUTH, Need.GEOFENCE})
STORM = frozenset({*CAGE, Need.WIND})
OPTIONS = ("--hil", "--allow-arming", "--robots", str(FOLDER))
BEYOND = {
    "the fence": "- goto: {position_enu_m: [40.0, 0.0, 3.0]}",
    "the ceiling": "- goto: {position_enu_m: [0.0, 0.0, 30.0]}",
}
MISSION = """\
name: beyond
frame: home
steps:
  - takeoff: {{altitude_m: 2.0}}
  {step}
  - land: {{}}
"""
STORM_MPS = 35.0
OUTSIDE_S = 30.0
BLOWN_M = 30.0


@case(
    "envelope",
    "it takes off, and is stopped at the fence in mid-mission",
    "move the waypoint, or widen the envelope in robot.yaml; ghost/mission/check.py",
    frozenset({Need.FLIGHT}),
    150.0,
)
def missions_beyond_the_envelope_are_refused(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee = stage.referee(vehicle)
    for name, step in BEYOND.items():
        unit = stage.unit(
            vehicle.links.unit, mission=MISSION.format(step=step), robot=FENCED, options=OPTIONS
        )
        code = unit.wait(40.0)
        check(code == FAILED, f"beyond {name} its exit code is {code}; expected {FAILED}")
        unit.expect("step 1 (goto)")
    check(not any(one.armed for one in referee.history()), "it was armed for one of them")
    return f"beyond {' and beyond '.join(BEYOND)}: refused on the ground, never armed"


@case(
    "envelope",
    "a slip of the finger on the map sends it across the fence",
    "the fence of the flight controller itself: the robot's envelope, GF_* of a PX4",
    CAGE,
    150.0,
)
def a_pilots_goto_beyond_the_fence_is_refused(stage: Stage) -> str:
    flight = hover(stage, seconds=6.0, robot=FENCED)
    station = stage.station(flight.vehicle)
    here = station.vehicle.request("GLOBAL_POSITION_INT")
    for east_deg, up_m in ((0.001, 3.0), (0.0, 50.0)):
        order = dialect.MAVLink_command_int_message(
            flight.vehicle.system,
            1,
            dialect.MAV_FRAME_GLOBAL_RELATIVE_ALT,
            dialect.MAV_CMD_DO_REPOSITION,
            *(0, 0, -1.0, 1.0, 0.0, float("nan")),
            *(here.lat, here.lon + round(east_deg * 1e7), up_m),
        )
        answer = station.answer_to(order)
        check(answer != dialect.MAV_RESULT_ACCEPTED, "a goto beyond the fence was accepted")
    flight.completes()
    return f"refused at once, flew on, {flight.stayed_within(FENCE_M, CEILING_M)}"


@case(
    "envelope",
    "it fights the wind at the fence, or is lost beyond it",
    "the GEOFENCE failsafe, ghost/autopilot/failsafe.py; fly in less wind",
    STORM,
    150.0,
)
def blown_over_the_fence_it_comes_back(stage: Stage) -> str:
    return _blown(stage, (STORM_MPS, 0.0, 0.0), beyond="away_m", limit_m=FENCE_M)


@case(
    "envelope",
    "it is sucked up, and stays above its ceiling",
    "the GEOFENCE failsafe, ghost/autopilot/failsafe.py; return_height_m of the robot",
    STORM,
    150.0,
)
def blown_through_the_ceiling_it_comes_back(stage: Stage) -> str:
    return _blown(stage, (0.0, 0.0, STORM_MPS), beyond="up_m", limit_m=CEILING_M)


def _blown(
    stage: Stage, wind_mps: tuple[float, float, float], *, beyond: str, limit_m: float
) -> str:
    flight = hover(stage, seconds=40.0, robot=FENCED)
    track, vehicle = flight.track, flight.vehicle
    vehicle.wind(wind_mps)
    wait_until(lambda: getattr(track.here, beyond) > limit_m, within_s=OUTSIDE_S, what="outside")
    began_s = time.monotonic()
    flight.referee.until(
        lambda one: one.mode in ("RETURN_TO_LAUNCH", "LAND"), within_s=OUTSIDE_S, what="turned"
    )
    vehicle.wind((0.0, 0.0, 0.0))
    flight.comes_down()
    took_s = time.monotonic() - began_s
    home_m = track.here.away_m
    check(home_m < 2.0, f"it came down {home_m:.1f} m from home; expected 2")
    furthest_m = max(getattr(point, beyond) for point in track.points)
    check(furthest_m < BLOWN_M, f"it was blown {furthest_m:.0f} m off; expected {BLOWN_M:g}")
    soft = flight.touched_softly()
    return f"{furthest_m:.1f} of {limit_m:g} m, back at home after {took_s:.0f} s, {soft}"
