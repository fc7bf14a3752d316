"""What a start finds at the other end of the link: nobody, two, another firmware, one that reboots
and one whose clock jumps.
"""

import threading
import time
from itertools import pairwise

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.messages import dialect
from hil.case import case, check
from hil.embedded import free_ports
from hil.need import Need
from hil.pilot import hovering, is_down, offboard_loss_s
from hil.record import FAILED, check_completed
from hil.shift import ShiftedClock
from hil.stage import Stage
from hil.target import Setting
from hil.unit import HOVER, Unit

LIMIT_S = 90.0
"""Four times what it takes: a stall, and not a busy machine."""
STATED_S = 10.0
"""How long a start looks for a flight controller, by docs/hardware.md and its own words."""
STARTS_S = 15.0
"""An interpreter, its imports and a report, on a machine that has other work."""
RESET_S = 8.0
HOUR_NS = 3_600_000_000_000
FLIGHT = frozenset({Need.FLIGHT, Need.PROXY})
GROUNDED = ("--hil",)
SECOND = 2


@case(
    "startup",
    "a start that hangs, or that claims a vehicle which isn't there",
    "cable, baud rate, `ghost doctor`; ghost/hardware/px4.py has the time",
)
def start_with_no_flight_controller(stage: Stage) -> str:
    (port,) = free_ports(1)
    link = f"udpin://127.0.0.1:{port}"
    took_s = _refuses(stage.unit(link), "waiting for the heartbeat of a flight controller")
    stage.units[-1].expect(link)  # what was tried
    return f"gave up after {took_s:.1f} s, names link and what was heard"


@case(
    "startup",
    "the mission flies on whichever vehicle was heard first",
    "--system says which one is meant",
    frozenset({Need.SECOND}),
    LIMIT_S,
)
def start_with_two_flight_controllers(stage: Stage) -> str:
    first = stage.vehicle()
    second = stage.vehicle(Setting(seed=stage.seed, system=SECOND))
    links = (*GROUNDED, "--link", second.links.unit)
    took_s = _refuses(stage.unit(first.links.unit, options=links), "--system")
    told = stage.units[-1].said
    for system in (first.system, second.system):
        check(str(system) in told, f"the refusal names not system {system}: {told}")
    meant = stage.unit(first.links.unit, options=(*links, "--system", str(SECOND)))
    meant.until(f"system {SECOND}", STATED_S + STARTS_S)
    return f"refused after {took_s:.1f} s; with --system it is the one that was meant"


@case(
    "startup",
    "modes and commands that mean something else to another firmware",
    "flash PX4; ghost flies nothing else",
)
def start_with_the_wrong_firmware(stage: Stage) -> str:
    (port,) = free_ports(1)
    other = _Beating(port, dialect.MAV_AUTOPILOT_ARDUPILOTMEGA)
    stage.keep(other)
    took_s = _refuses(stage.unit(f"udpin://127.0.0.1:{port}"), "ARDUPILOT")
    stage.units[-1].expect("expected PX4")
    check(not other.commands, f"it was sent {other.commands} before it was refused")
    return f"refused after {took_s:.1f} s, and sent no command"


@case(
    "startup",
    "the unit waits for ever, or arms on what it knew before the reboot",
    "read the LINK_UP and FLIGHT_CONTROLLER_SAYS events in the log",
    frozenset({Need.FLIGHT, Need.FAULTS, Need.REBOOT}),
    LIMIT_S,
)
def flight_controller_reboots_on_the_ground(stage: Stage) -> str:
    vehicle = stage.vehicle()
    vehicle.fault("battery", "charge", 0.15)  # too little to be armed
    unit = stage.unit(vehicle.links.unit, mission=HOVER.format(altitude_m=2.0, seconds=1.0))
    unit.until("waiting: ")
    began_s = time.monotonic()
    vehicle.reboot()
    rebooted_s = time.monotonic() - began_s
    referee = stage.referee(vehicle)
    unit.until("step 0 (takeoff) started", 40.0)
    found_s = time.monotonic() - began_s
    unit.expect("clock has jumped")
    check_completed(unit)
    check(not referee.look().armed, "it is armed after the mission")
    return f"rebooted in {rebooted_s:.1f} s, took off {found_s:.1f} s after it was told to"


@case(
    "clock",
    "set-points pause or are refused as stale, and the vehicle falls into its failsafe",
    "firmware_bridge/timesync.py; a flight controller that jumps in flight needs service",
    FLIGHT,
    LIMIT_S,
)
def flight_controller_clock_jumps_in_flight(stage: Stage) -> str:
    """An hour ahead and back again, as TIMESYNC and every stamp tell it."""
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    loss_s = offboard_loss_s(station)
    clock: ShiftedClock = stage.keep(ShiftedClock(vehicle.links.unit))
    mission = HOVER.format(altitude_m=2.0, seconds=6.0)
    unit = hovering(stage, clock.unit_url, station, mission=mission)
    began_s = time.monotonic()
    clock.shift_ns = HOUR_NS
    unit.until("clock has jumped", RESET_S)
    reset_s = time.monotonic() - began_s
    clock.shift_ns = 0
    unit.until("clock has jumped", RESET_S)
    station.spin(1.0)
    modes = {one.mode for one in referee.history() if one.at_s > began_s}
    check(modes <= {"OFFBOARD", "LAND"}, f"jumps of its clock put it into {sorted(modes)}")
    check_completed(unit)
    is_down(referee)
    gap_s = _longest_gap_s(clock.setpoints_at_ns)
    check(gap_s < loss_s, f"no set-point for {gap_s:.2f} s; expected less than {loss_s:g} s")
    return f"noticed after {reset_s:.1f} s, longest pause of set-points {gap_s * 1e3:.0f} ms"


def _longest_gap_s(at_ns: list[int]) -> float:
    return max(after - before for before, after in pairwise(at_ns)) / 1e9


def _refuses(unit: Unit, words: str) -> float:
    """Seconds that it took to end with code 1 and those words."""
    began_s = time.monotonic()
    code = unit.wait(STATED_S + STARTS_S)
    took_s = time.monotonic() - began_s
    check(code == FAILED, f"the unit's exit code is {code}; expected {FAILED}")
    unit.expect(words)
    return took_s


class _Beating:
    """A flight controller of another make: beats, and notes what it is told."""

    def __init__(self, port: int, autopilot: int) -> None:
        self.commands: list[int] = []
        self._hub = Hub(time.monotonic_ns, system=1, component=1)
        self._hub.add(parse_endpoint(f"udpout://127.0.0.1:{port}"))
        heartbeat = dialect.MAVLink_heartbeat_message(
            dialect.MAV_TYPE_QUADROTOR, autopilot, 0, 0, dialect.MAV_STATE_STANDBY, 3
        )
        self._hub.every(200_000_000, lambda _: self._hub.send(heartbeat))
        self._hub.on("COMMAND_LONG", lambda heard: self.commands.append(heard.message.command))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(5.0)
        self._hub.close()

    def _beat(self) -> None:
        while not self._is_over.is_set():
            self._hub.spin(self._hub.now_ns() + 50_000_000)
