"""Others on the link: forged and repeated traffic where a key is set, and a second station."""

import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from firmware_bridge.frame import Framer
from firmware_bridge.messages import decode, dialect
from firmware_bridge.parameters import Parameters
from firmware_bridge.signing import make_key
from ghost.events import EventKind
from hil.case import case, check
from hil.need import Need
from hil.pilot import bring_down, hovering, is_down, proxied
from hil.proxy import Direction, Fault, Inject, Proxy, traffic
from hil.record import check_completed, check_yielded, texts
from hil.referee import Referee
from hil.stage import Stage
from hil.station import Station
from hil.target import Setting
from hil.unit import HOVER, Unit

LIMIT_S = 120.0
"""Four times what it takes: a stall, and not a busy machine."""
SIGNED = frozenset({Need.FLIGHT, Need.PROXY, Need.SIGNING})
ATTACK_NS = 2_000_000_000
PERIOD_NS = 20_000_000
ASKED_S, ASK_S = 3.0, 0.05
STRANGER = 255
SECOND_STATION = 254
MISSION = HOVER.format(altitude_m=2.0, seconds=5.0)
OPTIONS = ("--hil", "--allow-arming", "--signing-key")
LIFTING = (
    dialect.MAV_CMD_COMPONENT_ARM_DISARM,
    dialect.MAV_CMD_NAV_TAKEOFF,
    dialect.MAV_CMD_DO_SET_MODE,
)


@case(
    "signing",
    "a stranger disarms the vehicle in the air, or tells the unit that it is disarmed",
    "the same key on both sides; `ghost fc sign`, docs/hardware.md",
    SIGNED,
    LIMIT_S,
)
def unsigned_traffic_is_refused(stage: Stage) -> str:
    vehicle, referee, proxy, unit = _signed(stage)
    orders = traffic.foreign_commands(STRANGER, vehicle)
    heartbeat = dialect.MAVLink_heartbeat_message(
        dialect.MAV_TYPE_QUADROTOR, dialect.MAV_AUTOPILOT_PX4, 1, 0, dialect.MAV_STATE_STANDBY, 3
    )
    lie = traffic.packed(heartbeat, system=vehicle, component=1)
    return _attacked(referee, proxy, unit, orders, (lie,))


@case(
    "signing",
    "what the unit once said is said again, and the vehicle obeys it",
    "timestamps of signing only go forward; firmware_bridge/signing.py",
    SIGNED,
    LIMIT_S,
)
def replayed_traffic_is_refused(stage: Stage) -> str:
    _, referee, proxy, unit = _signed(stage)
    orders = _orders(proxy.recorded(Direction.TO_VEHICLE, ("COMMAND_LONG",)))
    beats = proxy.recorded(Direction.TO_UNIT, ("HEARTBEAT",))[:2]  # from before it was armed
    check(bool(orders) and bool(beats), "nothing was recorded that could be replayed")
    return _attacked(referee, proxy, unit, orders, beats)


@case(
    "stations",
    "one station's questions starve the other, or set-points stutter when both ask",
    "`ghost router` bounds each client's queue",
    frozenset({Need.FLIGHT, Need.PROXY}),
    LIMIT_S,
)
def two_ground_stations_at_once(stage: Stage) -> str:
    vehicle = stage.vehicle()
    referee = stage.referee(vehicle)
    shared = proxied(stage, vehicle.links.station, "stations")
    first, second = (
        stage.keep(Station(shared.unit_url, vehicle.system, own_system=own))
        for own in (STRANGER, SECOND_STATION)
    )
    unit = hovering(stage, vehicle.links.unit, first)
    began_s = time.monotonic()
    answers = [0, 0]
    asking = [
        threading.Thread(target=_ask, args=(station, answers, index))
        for index, station in enumerate((first, second))
    ]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    modes = {one.mode for one in referee.history() if one.at_s > began_s} or {"OFFBOARD"}
    check(modes == {"OFFBOARD"}, f"two stations that only ask put it into {sorted(modes)}")
    check(min(answers) >= ASKED_S, f"the stations had {answers} answers in {ASKED_S:g} s")
    first.vehicle.set_mode("HOLD")
    referee.until(lambda one: one.mode == "HOLD", within_s=5.0, what="the first's HOLD")
    bring_down(second, referee)
    why = check_yielded(unit)
    return f"{answers[0]} and {answers[1]} answers in {ASKED_S:g} s, both obeyed; {why}"


def _signed(stage: Stage) -> tuple[int, Referee, Proxy, Unit]:
    """A vehicle and a unit that share a key, in the air, and a proxy between them that has none."""
    key = stage.folder / "key"
    make_key(key)
    vehicle = stage.vehicle(Setting(seed=stage.seed, signing_key=key))
    referee, proxy = stage.referee(vehicle), proxied(stage, vehicle.links.unit)
    options = (*OPTIONS, str(_own(key)))
    unit = stage.unit(proxy.unit_url, mission=MISSION, options=options)
    unit.until_hovering()
    referee.until(lambda one: one.mode == "OFFBOARD", within_s=5.0, what="in OFFBOARD")
    return vehicle.system, referee, proxy, unit


def _own(key: Path) -> Path:
    """The unit's copy of the key: it is another machine, with signing times of its own."""
    path = key.with_name("unit.key")
    path.touch(mode=0o600)
    path.write_bytes(key.read_bytes())
    return path.absolute()


def _attacked(
    referee: Referee,
    proxy: Proxy,
    unit: Unit,
    to_vehicle: Iterable[bytes],
    to_unit: Iterable[bytes],
) -> str:
    """For two seconds, both ways; nothing comes of it but a count."""
    began_s = time.monotonic()
    handles = [
        proxy.apply(Fault(Inject(tuple(packets), period_ns=PERIOD_NS), way, duration_ns=ATTACK_NS))
        for packets, way in (
            (to_vehicle, Direction.TO_VEHICLE),
            (to_unit, Direction.TO_UNIT),
        )
    ]
    for handle in handles:
        handle.wait(ATTACK_NS / 1e9 + 5.0)
    modes = {one.mode for one in referee.history() if one.at_s > began_s}
    check(modes <= {"OFFBOARD"}, f"what has no valid signature put it into {sorted(modes)}")
    check(referee.look().armed, "what has no valid signature disarmed it in the air")
    check_completed(unit)
    is_down(referee)
    counts, refused = proxy.counts, _refused(unit)
    told = counts.to_unit.injected
    check(told > 0 and counts.to_vehicle.injected > 0, "nothing was injected")
    check(refused >= told, f"the unit refused {refused} frames of {told}")
    return f"{counts.to_vehicle.injected} orders without effect, {refused} frames refused"


def _orders(frames: Iterable[bytes]) -> tuple[bytes, ...]:
    """Those that would change what the vehicle does."""
    heard = [frame for raw in frames for frame in Framer().feed(raw)]
    return tuple(frame.raw for frame in heard if getattr(decode(frame), "command", None) in LIFTING)


def _refused(unit: Unit) -> int:
    """By the link statistics of its log."""
    told = texts(unit.folder, EventKind.LINK_STATISTICS)
    return sum(int(number) for text in told for number in re.findall(r"(\d+) refused", text))


def _ask(station: Station, answers: list[int], index: int) -> None:
    """The same parameter over and over, which a station that is starved doesn't get."""
    parameters, end_s = Parameters(station.vehicle), time.monotonic() + ASKED_S
    while time.monotonic() < end_s:
        parameters.get("COM_OF_LOSS_T")
        answers[index] += 1
        station.spin(ASK_S)
