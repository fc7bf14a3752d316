"""Nothing turns before all is well, and nothing that belongs on the ground is done in the air."""

import time
from collections.abc import Callable

from firmware_bridge.messages import dialect
from ghost.core.errors import RefusedError
from hil.case import case, check
from hil.hover import hover
from hil.need import Need
from hil.process import wait_until
from hil.record import FAILED
from hil.referee import Referee
from hil.robots import TILTED
from hil.stage import Stage
from hil.station import Station
from hil.target import Setting

FLIGHT = frozenset({Need.FLIGHT})
FAULTS = frozenset({Need.FLIGHT, Need.FAULTS})
SETTLES_S = 30.0
"""Until a flight controller that just started, or was healed, may be armed."""
NOTICES_S = 4.0
"""A flight controller bears with a sensor for as long as that."""
STAYS_S, ASKS_S = 1.0, 0.25


@case(
    "arming",
    "motors start without a position, or on a battery that won't bring it back",
    "read the reason in the unit's log; COM_ARM_* of the flight controller",
    FAULTS,
    120.0,
)
def arming_is_refused_without_gps_or_battery(stage: Stage) -> str:
    """And granted once they are back, so that it was them."""
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    for target, kind, bad, good in (
        ("gps", "offline", (), ("healed", ())),
        ("battery", "charge", (0.05,), ("charge", (1.0,))),
    ):
        _arms(station, referee)
        vehicle.fault(target, kind, *bad)
        station.spin(NOTICES_S)
        _stays_disarmed(station, referee)
        vehicle.fault(target, good[0], *good[1])
    _arms(station, referee)
    return f"refused without GPS and at 5% for {STAYS_S:g} s each, granted before and after"


@case(
    "arming",
    "motors start on a vehicle that is about to tip over",
    "stand it upright; calibrate the level",
    FLIGHT,
    120.0,
)
def arming_is_refused_when_tilted(stage: Stage) -> str:
    vehicle = stage.vehicle(Setting(robot=TILTED, seed=stage.seed))
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    station.spin(5.0)  # by then one that stands upright may be armed
    _stays_disarmed(station, referee)
    return f"refused at 27 degrees: {referee.texts()[-1]}"


@case(
    "arming",
    "motors start again after a kill, without anybody having looked",
    "restart the flight controller, once whatever was wrong is found",
    FLIGHT,
    120.0,
)
def arming_is_refused_after_a_kill(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee, station = stage.referee(vehicle), stage.station(vehicle)
    _arms(station, referee)
    station.vehicle.command(dialect.MAV_CMD_DO_FLIGHTTERMINATION, 1.0)
    killed_s = time.monotonic()
    _stays_disarmed(station, referee)
    unit = stage.unit(vehicle.links.unit)
    unit.until("waiting: ")
    unit.stop()
    code = unit.wait()
    check(code != 0, f"the unit's exit code is {code} for a flight that never was")
    since = [one for one in referee.history() if one.at_s > killed_s]
    check(not any(one.armed for one in since), "it was armed after the kill")
    return "refused to a station and to the unit"


@case(
    "arming",
    "propellers turn on a bench",
    "the unit's own refusal in ghost/hardware/run.py must come before the flight controller's",
    FLIGHT,
    120.0,
)
def arming_is_refused_unless_allowed(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee = stage.referee(vehicle)
    unit = stage.unit(vehicle.links.unit, options=("--hil",))
    code = unit.wait(40.0)
    check(code == FAILED, f"the unit's exit code is {code}; expected {FAILED}")
    unit.expect("--allow-arming")
    check(not any(one.armed for one in referee.history()), "it was armed without --allow-arming")
    return "never armed without --allow-arming, and says so"


@case(
    "arming",
    "it falls out of the sky because a ground station thought that it stood there",
    "the land detector, and whoever sends DISARM or REBOOT in flight",
    frozenset({Need.FLIGHT, Need.TRUTH}),
    120.0,
)
def what_belongs_on_the_ground_is_refused_in_the_air(stage: Stage) -> str:
    flight = hover(stage, seconds=6.0)
    station = stage.station(flight.vehicle)
    reboot = dialect.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN
    orders: dict[str, Callable[[], None]] = {
        "disarm": lambda: station.vehicle.arm(armed=False),
        "reboot": lambda: station.vehicle.command(reboot, 1.0),
        "calibrate": lambda: station.vehicle.command(dialect.MAV_CMD_PREFLIGHT_CALIBRATION, 1.0),
    }
    for name, order in orders.items():
        check(not _goes_through(order), f"{name} was accepted in the air")
    check(flight.referee.look().armed, "it was disarmed in the air")
    flight.completes()
    return f"{', '.join(orders)} refused, flew on, {flight.stayed_within(1.0, 4.0)}"


def _arms(station: Station, referee: Referee) -> None:
    """It can be armed, and is disarmed again."""
    wait_until(lambda: _is_granted(station), within_s=SETTLES_S, what="armed, all being well")
    referee.until(lambda one: one.armed, within_s=3.0, what="armed")
    station.vehicle.arm(armed=False)
    referee.until(lambda one: not one.armed, within_s=3.0, what="disarmed")


def _stays_disarmed(station: Station, referee: Referee) -> None:
    """However often it is asked."""
    for _ in range(round(STAYS_S / ASKS_S)):
        check(not _is_granted(station), "arming was granted")
    check(not referee.look().armed, "arming was refused, and it is armed")


def _is_granted(station: Station) -> bool:
    station.spin(ASKS_S)
    return _goes_through(lambda: station.vehicle.arm(armed=True))


def _goes_through(order: Callable[[], None]) -> bool:
    try:
        order()
    except RefusedError:
        return False
    return True
