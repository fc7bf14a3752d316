"""What a pilot looks up, watches for and does, whatever is tried on the vehicle."""

import time
from collections.abc import Callable
from typing import Any

from firmware_bridge.parameters import Parameters
from hil.case import check
from hil.proxy import Proxy
from hil.referee import Referee
from hil.stage import Stage
from hil.station import Station
from hil.unit import Unit

LATE_S = 2.0
"""Beyond the configured time: PX4 tells its mode once a second, and a rig shares its machine."""
EARLY = 0.5
"""Of the configured time: what ends it sooner is something else."""
DOWN_S = 40.0
_ASK_NS = 50_000_000


def offboard_loss_s(station: Station) -> float:
    """How long set-points may stay away, by the flight controller's own word."""
    return float(Parameters(station.vehicle).get("COM_OF_LOSS_T"))


def hovering(stage: Stage, link: str, station: Station, **settings: Any) -> Unit:
    """A unit whose set-points the flight controller obeys: the mode comes after the step."""
    unit = stage.unit(link, **settings)
    unit.until_hovering()
    wait_for_offboard(station)
    return unit


def proxied(stage: Stage, link: str, name: str = "proxy") -> Proxy:
    """A proxy in front of where somebody listens; its unit_url is to be told to whoever did."""
    journal = stage.folder / f"{name}.jsonl"
    proxy: Proxy = stage.keep(
        Proxy(unit="udpin://127.0.0.1:0", vehicle=link, seed=stage.seed, journal=journal)
    )
    return proxy


def wait_for_offboard(station: Station) -> None:
    _until_mode(station, lambda mode: mode == "OFFBOARD", within_s=10.0, what="in OFFBOARD")


def wait_for_failsafe(
    station: Station, referee: Referee, began_s: float, loss_s: float, early: float = EARLY
) -> tuple[float, str]:
    """Seconds from began_s until it left OFFBOARD by itself, and for which mode; in time, as the
    referee sees it, or the case has failed.
    """
    _until_mode(
        station, lambda mode: mode != "OFFBOARD", within_s=loss_s + 10.0, what="out of OFFBOARD"
    )
    took_s = time.monotonic() - began_s
    check(
        early * loss_s <= took_s <= loss_s + LATE_S,
        f"failsafe {took_s:.2f} s after the last set-point; expected {loss_s:g} s, the flight "
        "controller's COM_OF_LOSS_T",
    )
    referee.until(lambda one: one.mode != "OFFBOARD", within_s=2.0, what="out of OFFBOARD")
    return took_s, station.vehicle.mode


def stays_out(station: Station, referee: Referee, seconds: float) -> None:
    """Nobody takes the vehicle back meanwhile. Once it is down, PX4 falls back to a mode that can
    be armed, and no longer counts.
    """
    began_s = time.monotonic()
    station.spin(seconds)
    seen = [one for one in referee.history() if one.at_s > began_s]
    modes = {one.mode for one in (*seen, referee.look()) if one.armed}
    check("OFFBOARD" not in modes, f"it was taken back: in {seconds:g} s it was in {sorted(modes)}")


def bring_down(station: Station, referee: Referee) -> float:
    """Seconds from the order to land until the motors are off."""
    if referee.look().armed:
        station.vehicle.set_mode("LAND")
    return is_down(referee)


def is_down(referee: Referee, within_s: float = DOWN_S) -> float:
    return referee.until(lambda one: not one.armed, within_s=within_s, what="landed and disarmed")


def _until_mode(
    station: Station, fits: Callable[[str], bool], *, within_s: float, what: str
) -> None:
    """Asks all the time: what was heard last may be old."""
    vehicle = station.vehicle
    cancel = station.hub.every(_ASK_NS, lambda _: vehicle.ask_for("HEARTBEAT"))
    try:
        station.until(lambda: fits(vehicle.mode), within_s=within_s, what=what)
    finally:
        cancel()
