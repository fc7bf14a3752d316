"""What the doctor asks a flight controller."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.frame import Frame
from firmware_bridge.hub import Hub
from firmware_bridge.link import LinkCounts
from firmware_bridge.messages import known_name
from firmware_bridge.parameters import Parameters
from firmware_bridge.signing import link_signer
from firmware_bridge.timesync import TimeSync
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Vehicle
from ghost.core.clock import SystemClock
from ghost.core.errors import GhostError
from ghost.deploy.finding import Finding, Verdict

LISTEN_NS = 3_000_000_000
LARGEST_OFFSET_ERROR_NS = 5_000_000
NEEDED_HZ = {"HEARTBEAT": 0.5, "ATTITUDE": 10.0, "ODOMETRY": 10.0}


@dataclass(frozen=True, slots=True)
class Wish:
    """A parameter that offboard flight depends on, the values that are well, and why."""

    name: str
    low: float
    high: float
    advice: str


WISHES = (
    Wish("COM_OF_LOSS_T", 0.1, 2.0, "how long PX4 flies on after set-points stop; 1 s is usual"),
    Wish("COM_OBL_RC_ACT", 0, 5, "what PX4 then does; 0 position, 3 return, 4 land, 5 hold"),
    Wish("COM_RC_IN_MODE", 0, 4, "with 4 no pilot can take over"),
    Wish("NAV_DLL_ACT", 0, 3, "what it does without a ground station; 0 is nothing"),
    Wish("MPC_XY_VEL_MAX", 1.0, 20.0, "the envelope's max_speed_mps should not be above it"),
)


def examine_flight_controller(link: str, signing_key: Path | None) -> Iterator[Finding]:
    clock = SystemClock()
    hub = Hub(clock.now_ns, system=1, component=ONBOARD_COMPUTER)
    try:
        signer = link_signer(signing_key, 0) if signing_key is not None else None
        port = hub.add(parse_endpoint(link), signer=signer)
        vehicle = Vehicle(hub)
        yield (heartbeat := _heartbeat(vehicle))
        if heartbeat.verdict is Verdict.FAIL:
            return
        yield _firmware(vehicle)
        sync = TimeSync(vehicle)
        counts: dict[str, int] = {}

        def count(frame: Frame, *_: object) -> None:
            name = known_name(frame.message_id)
            counts[name] = counts.get(name, 0) + 1

        hub.on_frame(count)
        hub.spin(clock.now_ns() + LISTEN_NS)
        yield from _streams(counts, port.counts)
        yield _offset(sync)
        yield from _parameters(vehicle)
    finally:
        hub.close()


def _heartbeat(vehicle: Vehicle) -> Finding:
    try:
        vehicle.find()
    except GhostError as error:
        advice = "check cable, port, baud rate and MAV_0_CONFIG; is another program using the port?"
        return Finding("heartbeat", Verdict.FAIL, str(error), advice)
    armed = "armed" if vehicle.is_armed else "disarmed"
    return Finding("heartbeat", Verdict.PASS, f"system {vehicle.system}, {vehicle.mode}, {armed}")


def _firmware(vehicle: Vehicle) -> Finding:
    try:
        identity = vehicle.identify()
    except GhostError as error:
        return Finding("firmware", Verdict.FAIL, str(error), "is it PX4?")
    detail = f"{identity.autopilot} {identity.firmware} ({identity.git_hash}), {identity.kind}"
    if identity.autopilot != "MAV_AUTOPILOT_PX4":
        return Finding("firmware", Verdict.FAIL, detail, "Ghost flies PX4")
    return Finding("firmware", Verdict.PASS, detail)


def _streams(counts: dict[str, int], link: LinkCounts) -> Iterator[Finding]:
    seconds = LISTEN_NS / 1e9
    rates = {name: count / seconds for name, count in sorted(counts.items())}
    short = [name for name, rate_hz in NEEDED_HZ.items() if rates.get(name, 0.0) < rate_hz]
    listed = ", ".join(f"{name} {rate_hz:.0f}" for name, rate_hz in rates.items())
    advice = f"{', '.join(short)} come too seldom; set MAV_x_MODE to Onboard" if short else ""
    yield Finding("streams", Verdict.WARN if short else Verdict.PASS, f"in Hz: {listed}", advice)
    heard = link.framer.frames
    lost = link.lost / max(heard + link.lost, 1)
    damaged = f"{lost:.1%} lost, {link.framer.bad_crc} damaged of {heard} frames"
    advice = "check cable and baud rate" if lost > 0.01 or link.framer.bad_crc else ""
    yield Finding("link", Verdict.WARN if advice else Verdict.PASS, damaged, advice)


def _offset(sync: TimeSync) -> Finding:
    try:
        sync.wait()
        error_ns = sync.uncertainty_ns
    except GhostError as error:
        return Finding("clock offset", Verdict.WARN, str(error), "is MAV_PROTO_VER 2?")
    detail = f"known to {error_ns / 1e6:.2f} ms"
    if error_ns > LARGEST_OFFSET_ERROR_NS:
        return Finding(
            "clock offset", Verdict.WARN, detail, "the link is slow; raise its baud rate"
        )
    return Finding("clock offset", Verdict.PASS, detail)


def _parameters(vehicle: Vehicle) -> Iterator[Finding]:
    parameters = Parameters(vehicle)
    for wish in WISHES:
        try:
            value = float(parameters.get(wish.name))
        except GhostError as error:
            yield Finding(wish.name, Verdict.WARN, str(error), wish.advice)
            continue
        is_well = wish.low <= value <= wish.high
        verdict = Verdict.PASS if is_well else Verdict.WARN
        yield Finding(wish.name, verdict, f"{value:g}", "" if is_well else wish.advice)
