"""What the doctor asks a flight controller."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from firmware_bridge.endpoint import Scheme, parse_endpoint
from firmware_bridge.frame import Frame
from firmware_bridge.hub import Hub, Received
from firmware_bridge.link import Link
from firmware_bridge.messages import dialect, known_name
from firmware_bridge.parameters import Parameters
from firmware_bridge.signing import link_signer
from firmware_bridge.timesync import TimeSync
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Vehicle
from ghost.core.clock import SystemClock
from ghost.core.errors import GhostError, StalledError
from ghost.deploy.baud import examine_baud
from ghost.deploy.finding import Finding, Verdict
from ghost.hardware.run import RATES_HZ

SIGNING = "signing"
ANY = float("inf")
FIND_NS = 10_000_000_000
LISTEN_NS = 3_000_000_000
LARGEST_OFFSET_ERROR_NS = 5_000_000
NEEDED_HZ = {"HEARTBEAT": 0.5, "ODOMETRY": 10.0, "EXTENDED_SYS_STATE": 0.5}
ASKED_HZ = {"HEARTBEAT": 1.0, **RATES_HZ}
"""What Ghost asks for when it flies; the doctor only listens."""

_LANDED = {
    dialect.MAV_LANDED_STATE_ON_GROUND: "on the ground",
    dialect.MAV_LANDED_STATE_IN_AIR: "in the air",
    dialect.MAV_LANDED_STATE_TAKEOFF: "taking off",
    dialect.MAV_LANDED_STATE_LANDING: "landing",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """A parameter that offboard flight depends on, the values that are well, and why. Where all are
    well, the advice is for whoever knows more than the doctor.
    """

    name: str
    low: float
    high: float
    advice: str
    but_not: tuple[float, ...] = ()
    unit: str = ""
    meanings: Mapping[float, str] = field(default_factory=dict)

    def is_met_by(self, value: float) -> bool:
        return self.low <= value <= self.high and value not in self.but_not

    def told(self, value: float) -> str:
        if self.meanings:
            return f"{value:g} = {self.meanings.get(value, 'not a value that Ghost knows')}"
        return f"{value:g} {self.unit}"

    def advice_on(self, value: float) -> str:
        return self.advice if not self.is_met_by(value) or self.high == ANY else ""


WISHES = (
    Wish(
        "COM_OF_LOSS_T",
        0.5,
        2.0,
        "how long PX4 flies on after set-points stop; Ghost may pause for 0.3 s, and 1 s is usual",
        unit="s from the last set-point to COM_OBL_RC_ACT",
    ),
    Wish(
        "COM_OBL_RC_ACT",
        0,
        5,
        "what PX4 does when set-points stop, with nobody at the sticks; set 3, 4 or 5",
        but_not=(1, 2),
        meanings={
            0: "position: the pilot has it, and without a remote control NAV_RCL_ACT follows",
            1: "altitude: it drifts unless a pilot steers",
            2: "stabilized: it sinks or climbs unless a pilot steers",
            3: "return",
            4: "land",
            5: "hold",
            6: "terminate: it falls",
            7: "disarm: it falls",
        },
    ),
    Wish(
        "COM_RC_IN_MODE",
        0,
        8,
        "no pilot can take over; set 3, or 0 for a remote control alone",
        but_not=(4,),
        meanings={
            0: "remote control only",
            1: "joystick over MAVLink only; a remote control is ignored",
            2: "remote control or joystick, the other one when the first is lost",
            3: "remote control or joystick, whichever is heard first",
            4: "none: sticks are ignored",
            5: "remote control before joystick",
            6: "joystick before remote control",
            7: "remote control before joystick",
            8: "joystick before remote control",
        },
    ),
    Wish(
        "NAV_RCL_ACT",
        1,
        7,
        "what PX4 does when the remote control is lost; set 1, 2 or 3",
        but_not=(4, 5, 6),
        meanings={
            0: "nothing",
            1: "hold when the remote control is lost",
            2: "return when the remote control is lost",
            3: "land when the remote control is lost",
            5: "terminate when the remote control is lost: it falls",
            6: "disarm when the remote control is lost: it falls",
            7: "hold when the remote control is lost in a manual mode, with no failsafe",
        },
    ),
    Wish(
        "NAV_DLL_ACT",
        0,
        3,
        "what PX4 does when the ground station is lost; set 0 to fly on, or 1, 2 or 3",
        meanings={
            0: "nothing: Ghost flies on without a ground station",
            1: "hold when the ground station is lost, which ends Ghost's flight",
            2: "return when the ground station is lost, which ends Ghost's flight",
            3: "land when the ground station is lost, which ends Ghost's flight",
            5: "terminate when the ground station is lost: it falls",
            6: "disarm when the ground station is lost: it falls",
        },
    ),
    Wish(
        "MPC_XY_VEL_MAX",
        0,
        ANY,
        "max_speed_mps of the robot's envelope should not be above it",
        unit="m/s",
    ),
)


def examine_flight_controller(link: str, signing_key: Path | None) -> Iterator[Finding]:
    """What it doesn't answer to is asked no further."""
    clock = SystemClock()
    hub = Hub(clock.now_ns, system=1, component=ONBOARD_COMPUTER)
    try:
        signer = link_signer(signing_key, 0) if signing_key is not None else None
        port = hub.add(parse_endpoint(link), signer=signer)
        vehicle = Vehicle(hub)
        yield (heartbeat := _heartbeat(vehicle, port))
        if heartbeat.verdict is Verdict.FAIL:
            hub.close()
            yield from examine_baud(port)
            return
        yield (firmware := _firmware(vehicle, port))
        if firmware.name == SIGNING:
            return
        sync = TimeSync(vehicle)
        heard = _Heard(vehicle)
        hub.spin(clock.now_ns() + LISTEN_NS)
        yield _streams(heard.counts)
        yield from _landed(heard.landed_state)
        yield _losses(port)
        if firmware.verdict is Verdict.FAIL:
            return
        yield _offset(sync, port)
        yield from _parameters(vehicle)
    finally:
        hub.close()


class _Heard:
    """Of everything, from now on."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.counts: dict[str, int] = {}
        self.landed_state: int | None = None
        self._vehicle = vehicle
        vehicle.hub.on_frame(self._on_frame)
        vehicle.hub.on("EXTENDED_SYS_STATE", self._on_state)

    def _on_frame(self, frame: Frame, *_: object) -> None:
        name = known_name(frame.message_id)
        self.counts[name] = self.counts.get(name, 0) + 1

    def _on_state(self, received: Received) -> None:
        if self._vehicle.is_mine(received):
            self.landed_state = received.message.landed_state


def _heartbeat(vehicle: Vehicle, port: Link) -> Finding:
    try:
        vehicle.find(FIND_NS)
    except GhostError as error:
        if port.is_up and port.counts.refused:
            advice = "give the --signing-key that the flight controller has, or none if it has none"
            return Finding(SIGNING, Verdict.FAIL, f"{port.endpoint} {port.trouble}", advice)
        return Finding("heartbeat", Verdict.FAIL, str(error), _unheard(port))
    if vehicle.is_armed:
        detail = f"system {vehicle.system}, {vehicle.mode}, armed"
        advice = "somebody flies it, or is about to: stand clear, and disarm it first"
        return Finding("heartbeat", Verdict.WARN, detail, advice)
    return Finding("heartbeat", Verdict.PASS, f"system {vehicle.system}, {vehicle.mode}, disarmed")


def _unheard(port: Link) -> str:
    if _is_serial(port):
        return "check cable, port, baud rate and MAV_0_CONFIG; is another program using the port?"
    return "check address, port and firewall; is another program using the port?"


def _firmware(vehicle: Vehicle, port: Link) -> Finding:
    try:
        identity = vehicle.identify()
    except StalledError as error:
        if port.signer is None and port.counts.unjudged:
            advice = "give --signing-key FILE, with the key that the flight controller has"
            return Finding(SIGNING, Verdict.FAIL, f"{port.endpoint} {port.trouble}", advice)
        wire = "check the wire of this computer's TX" if _is_serial(port) else "check the way back"
        advice = f"it is heard and doesn't answer: {wire}; is it PX4?"
        return Finding("firmware", Verdict.FAIL, str(error), advice)
    except GhostError as error:
        return Finding("firmware", Verdict.FAIL, str(error), "is it PX4?")
    detail = f"{identity.autopilot} {identity.firmware} ({identity.git_hash}), {identity.kind}"
    if identity.autopilot != "MAV_AUTOPILOT_PX4":
        return Finding("firmware", Verdict.FAIL, detail, "Ghost flies PX4")
    return Finding("firmware", Verdict.PASS, detail)


def _streams(counts: dict[str, int]) -> Finding:
    seconds = LISTEN_NS / 1e9
    rates = {name: round(count / seconds, 2) for name, count in sorted(counts.items())}
    listed = ", ".join(
        f"{name} {_shown(rates.get(name, 0.0))}/{asked_hz:g}" for name, asked_hz in ASKED_HZ.items()
    )
    others = len(rates.keys() - ASKED_HZ.keys())
    detail = f"Hz now/asked for in flight: {listed}; {others} others"
    short = [
        f"{name} (at least {rate_hz:g} Hz)"
        for name, rate_hz in NEEDED_HZ.items()
        if rates.get(name, 0.0) < rate_hz
    ]
    advice = f"{', '.join(short)} come too seldom; set MAV_x_MODE to Onboard" if short else ""
    return Finding("streams", Verdict.WARN if short else Verdict.PASS, detail, advice, rates)


def _shown(rate_hz: float) -> str:
    return f"{rate_hz:.1f}" if 0.0 < rate_hz < 1.0 else f"{rate_hz:.0f}"


def _landed(state: int | None) -> Iterator[Finding]:
    """Nothing where it isn't told: that is among the streams."""
    if state is None:
        return
    detail = _LANDED.get(state, "not known")
    if state == dialect.MAV_LANDED_STATE_ON_GROUND:
        yield Finding("landed", Verdict.PASS, detail)
    else:
        advice = "a check on the bench is for a vehicle that stands; leave this one alone"
        yield Finding("landed", Verdict.WARN, detail, advice)


def _losses(port: Link) -> Finding:
    counts = port.counts
    heard, bad = counts.framer.frames, counts.framer.bad_crc
    lost = counts.lost / max(heard + counts.lost, 1)
    detail = f"{lost:.1%} lost, {bad} damaged of {heard} frames"
    if lost <= 0.01 and not bad:
        return Finding("link", Verdict.PASS, detail)
    advice = "check cable and baud rate" if _is_serial(port) else "check the network in between"
    return Finding("link", Verdict.WARN, detail, advice)


def _offset(sync: TimeSync, port: Link) -> Finding:
    try:
        sync.wait()
        error_ns = sync.uncertainty_ns
    except GhostError as error:
        return Finding("clock offset", Verdict.WARN, str(error), "is MAV_PROTO_VER 2?")
    detail = f"known to {error_ns / 1e6:.2f} ms"
    if error_ns <= LARGEST_OFFSET_ERROR_NS:
        return Finding("clock offset", Verdict.PASS, detail)
    if _is_serial(port):
        advice = "the link is slow; raise its baud rate"
    else:
        advice = "the network is slow, or its clock goes in steps, as in a simulation"
    return Finding("clock offset", Verdict.WARN, detail, advice)


def _parameters(vehicle: Vehicle) -> Iterator[Finding]:
    parameters = Parameters(vehicle)
    for wish in WISHES:
        try:
            value = float(parameters.get(wish.name))
        except GhostError as error:
            yield Finding(wish.name, Verdict.WARN, str(error), wish.advice)
            continue
        verdict = Verdict.PASS if wish.is_met_by(value) else Verdict.WARN
        yield Finding(wish.name, verdict, wish.told(value), wish.advice_on(value))


def _is_serial(port: Link) -> bool:
    return port.endpoint.scheme is Scheme.SERIAL
