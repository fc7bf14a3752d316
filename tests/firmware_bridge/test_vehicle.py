"""A flight controller that is found and asked: a second hub on a real socket plays it."""

import socket
from collections.abc import Iterator

import pytest

from firmware_bridge.hub import Received
from firmware_bridge.messages import Message, dialect
from firmware_bridge.modes import MODES, mode_named, name_of
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError, StalledError
from tests.firmware_bridge.link_rig import MS, S, Station, free_port, heartbeat, stations

ARM = dialect.MAV_CMD_COMPONENT_ARM_DISARM
ACCEPTED, DENIED, IN_PROGRESS = (
    dialect.MAV_RESULT_ACCEPTED,
    dialect.MAV_RESULT_DENIED,
    dialect.MAV_RESULT_IN_PROGRESS,
)
QUICK_NS = 80 * MS


class Autopilot:
    """Answers the first command with the first of its answers, and so on; each is what it sends."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.commands: list[Message] = []
        self.answers: list[list[Message]] = []
        station.hub.on("COMMAND_LONG", self._take)

    def say(self, message: Message) -> None:
        self.station.hub.send(message)

    def _take(self, received: Received) -> None:
        self.commands.append(received.message)
        for answer in self.answers.pop(0) if self.answers else []:
            self.say(answer)


class Pair:
    def __init__(self, ground: Station, other: Station) -> None:
        self.ground = ground
        self.autopilot = Autopilot(other)
        self.vehicle = Vehicle(ground.hub)
        # It lives in our loop: one step of its own in every millisecond.
        ground.hub.every(MS, lambda _: other.hub.spin(0))

    def found(self) -> "Pair":
        self.autopilot.say(heartbeat())
        self.vehicle.find(5 * S)
        return self


@pytest.fixture
def pair() -> Iterator[Pair]:
    with stations((255, 190), (1, 1)) as (ground, other):
        port = free_port()
        ground.add(f"udpin://127.0.0.1:{port}")
        other.add(f"udpout://127.0.0.1:{port}")
        yield Pair(ground, other)


def ack(result: int, command: int = ARM, **fields: int) -> Message:
    return dialect.MAVLink_command_ack_message(command, result, **fields)


def test_what_is_sent_takes_the_link_that_is_up() -> None:
    with stations((255, 190), (1, 1)) as (ground, other):
        ports = [free_port(), free_port()]
        first, second = (ground.add(f"udpin://127.0.0.1:{port}") for port in ports)
        ways = [other.add(f"udpout://127.0.0.1:{port}") for port in ports]
        vehicle = Vehicle(ground.hub)
        for way in ways:
            other.hub.send(heartbeat(), way)
            vehicle.find(5 * S)
            ground.spin(20 * MS)
        assert vehicle.link is second
        second.close()
        assert vehicle.link is first
        first.close()
        assert vehicle.link is second  # neither is better than the other


def test_other_flight_controllers_are_rivals_and_ground_stations_are_none(pair: Pair) -> None:
    pair.found()
    station = heartbeat(dialect.MAV_TYPE_GCS, autopilot=dialect.MAV_AUTOPILOT_INVALID)
    for system, message in ((7, heartbeat()), (9, heartbeat()), (255, station)):
        pair.autopilot.station.hub.system = system
        pair.autopilot.say(message)
    pair.ground.spin(50 * MS)
    assert pair.vehicle.rivals == (7, 9)
    assert pair.vehicle.system == 1


# Finding


def test_a_heartbeat_of_an_autopilot_is_found(pair: Pair) -> None:
    vehicle = pair.vehicle
    assert (vehicle.mode, vehicle.is_armed, vehicle.system) == ("", False, None)
    pair.autopilot.say(heartbeat(base_mode=128, custom_mode=MODES["OFFBOARD"].custom_mode))
    vehicle.find(5 * S)
    assert (vehicle.mode, vehicle.is_armed, vehicle.system) == ("OFFBOARD", True, 1)
    assert vehicle.link is pair.ground.hub.links[0]


def test_we_beat_too_once_a_second_while_spinning(pair: Pair) -> None:
    pair.found()
    beats: list[Received] = []
    pair.autopilot.station.hub.on("HEARTBEAT", beats.append)
    pair.ground.spin(1100 * MS)
    assert 1 <= len(beats) <= 2
    assert beats[0].message.type == dialect.MAV_TYPE_ONBOARD_CONTROLLER
    assert (beats[0].frame.system, beats[0].frame.component) == (255, 190)


def not_found(pair: Pair) -> str:
    with pytest.raises(StalledError) as caught:
        pair.vehicle.find(60 * MS)
    return str(caught.value)


STALLED = "waiting for the heartbeat of a flight controller: nothing in 0.06 s"


def test_silence_is_told(pair: Pair) -> None:
    url = pair.ground.hub.links[0].endpoint
    assert not_found(pair) == (
        f"{STALLED}; {url}: 0 bytes and 0 frames heard; no heartbeat from anybody"
    )


def test_noise_is_told_from_silence(pair: Pair) -> None:
    link = pair.ground.hub.links[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wild:
        wild.sendto(b"\x00" * 500, ("127.0.0.1", link.endpoint.number))
        assert not_found(pair) == (
            f"{STALLED}; {link.endpoint}: 500 bytes and 0 frames heard; no heartbeat from anybody"
        )


@pytest.mark.parametrize(
    ("source", "kind", "autopilot"),
    [
        ((254, 190), dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_INVALID),
        ((1, 154), dialect.MAV_TYPE_GIMBAL, dialect.MAV_AUTOPILOT_INVALID),
        ((1, 191), dialect.MAV_TYPE_ONBOARD_CONTROLLER, dialect.MAV_AUTOPILOT_INVALID),
        ((1, 1), dialect.MAV_TYPE_GCS, dialect.MAV_AUTOPILOT_PX4),
        ((1, 100), dialect.MAV_TYPE_QUADROTOR, dialect.MAV_AUTOPILOT_PX4),
    ],
)
def test_others_are_not_taken_for_a_vehicle_and_are_named(
    pair: Pair, source: tuple[int, int], kind: int, autopilot: int
) -> None:
    hub = pair.autopilot.station.hub
    hub.system, hub.component = source
    pair.autopilot.say(heartbeat(kind, autopilot=autopilot))
    assert not_found(pair).endswith(f"1 frames heard; only from {source[0]}/{source[1]}")


def test_a_link_that_is_down_is_told(pair: Pair) -> None:
    pair.ground.add("serial:///dev/ghost-nothing:57600")
    assert "(serial:///dev/ghost-nothing:57600 is down: No such file" in not_found(pair)


def test_the_first_vehicle_stays_the_vehicle(pair: Pair) -> None:
    pair.found()
    pair.autopilot.station.hub.system = 2
    pair.autopilot.say(heartbeat(base_mode=128))
    pair.ground.spin(20 * MS)
    assert (pair.vehicle.system, pair.vehicle.is_armed) == (1, False)


def test_one_that_is_known_beforehand_is_the_only_one_looked_for(pair: Pair) -> None:
    seventh = Vehicle(pair.ground.hub, system=7)
    pair.found()
    assert seventh.heartbeat is None
    pair.autopilot.station.hub.system = 7
    pair.autopilot.say(heartbeat())
    seventh.find(5 * S)


# Commands


def test_a_command_is_sent_once_and_answered(pair: Pair) -> None:
    pair.found().autopilot.answers = [[ack(ACCEPTED)]]
    pair.vehicle.arm(armed=True, force=True)
    (command,) = pair.autopilot.commands
    assert (command.command, command.param1, command.param2, command.param7) == (ARM, 1, 21196, 0)
    assert (command.target_system, command.target_component, command.confirmation) == (1, 1, 0)


def test_a_command_whose_answers_are_lost_is_sent_again(pair: Pair) -> None:
    pair.found().autopilot.answers = [[], [], [ack(ACCEPTED)]]
    pair.vehicle.command(ARM, 1.0, within_ns=QUICK_NS)
    assert [command.confirmation for command in pair.autopilot.commands] == [0, 1, 2]


def test_a_command_that_is_never_answered_stalls_by_name(pair: Pair) -> None:
    pair.found()
    with pytest.raises(StalledError) as caught:
        pair.vehicle.command(ARM, within_ns=QUICK_NS, retries=2)
    assert str(caught.value) == (
        "waiting for the answer to MAV_CMD_COMPONENT_ARM_DISARM: nothing in 0.08 s"
    )
    assert len(pair.autopilot.commands) == 3


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (DENIED, "DENIED"),
        (dialect.MAV_RESULT_TEMPORARILY_REJECTED, "TEMPORARILY_REJECTED"),
        (dialect.MAV_RESULT_UNSUPPORTED, "UNSUPPORTED"),
        (99, "99"),
    ],
)
def test_a_refusal_is_told_by_its_name_and_not_asked_again(
    pair: Pair, result: int, name: str
) -> None:
    pair.found().autopilot.answers = [[ack(result)]]
    with pytest.raises(RefusedError) as caught:
        pair.vehicle.arm(armed=True)
    assert str(caught.value) == f"MAV_CMD_COMPONENT_ARM_DISARM was refused: {name}"
    assert len(pair.autopilot.commands) == 1


def test_a_command_without_a_name_is_told_by_its_number(pair: Pair) -> None:
    pair.found().autopilot.answers = [[ack(DENIED, 65_001)]]
    with pytest.raises(RefusedError, match="command 65001 was refused: DENIED"):
        pair.vehicle.command(65_001)


def test_in_progress_waits_longer_and_sends_nothing_again(pair: Pair) -> None:
    pair.found().autopilot.answers = [[ack(IN_PROGRESS)]]
    calls: list[int] = []

    def progress(_: int) -> None:
        calls.append(0)
        pair.autopilot.say(ack(IN_PROGRESS if len(calls) < 5 else ACCEPTED))

    pair.ground.hub.every(QUICK_NS, progress)
    pair.vehicle.command(ARM, within_ns=QUICK_NS)
    assert len(calls) >= 5
    assert len(pair.autopilot.commands) == 1


@pytest.mark.parametrize("result", [ACCEPTED, DENIED])
def test_an_end_that_comes_along_with_in_progress_is_not_missed(pair: Pair, result: int) -> None:
    pair.found().autopilot.answers = [[ack(IN_PROGRESS), ack(result), ack(DENIED)]]
    if result == ACCEPTED:
        pair.vehicle.arm(armed=True)
    else:
        with pytest.raises(RefusedError):
            pair.vehicle.arm(armed=True)


def test_progress_without_an_end_stalls_and_is_not_asked_again(pair: Pair) -> None:
    pair.found().autopilot.answers = [[ack(IN_PROGRESS)]]
    with pytest.raises(StalledError, match=r"the end of MAV_CMD.*in progress: nothing in 0\.1"):
        pair.vehicle.command(ARM, 1.0, progress_ns=100 * MS)
    assert len(pair.autopilot.commands) == 1


def test_answers_of_others_to_others_or_to_another_command_are_none(pair: Pair) -> None:
    pair.found()
    hub = pair.autopilot.station.hub

    def as_others(_: Received) -> None:
        for source in ((2, 1), (1, 100)):
            hub.system, hub.component = source
            pair.autopilot.say(ack(ACCEPTED))
        hub.system, hub.component = 1, 1
        pair.autopilot.say(ack(ACCEPTED, dialect.MAV_CMD_DO_SET_MODE))
        pair.autopilot.say(ack(ACCEPTED, target_system=254, target_component=190))
        pair.autopilot.say(ack(ACCEPTED, target_system=255, target_component=1))

    hub.on("COMMAND_LONG", as_others)
    with pytest.raises(StalledError):
        pair.vehicle.command(ARM, within_ns=QUICK_NS, retries=0)
    pair.autopilot.answers = [[ack(DENIED, target_system=255, target_component=190)]]
    with pytest.raises(RefusedError):
        pair.vehicle.command(ARM, within_ns=QUICK_NS)


def test_a_command_to_another_component_is_answered_by_that_one(pair: Pair) -> None:
    pair.found()
    pair.autopilot.station.hub.component = 100
    pair.autopilot.answers = [[ack(ACCEPTED)]]
    pair.vehicle.command(ARM, target_component=100, within_ns=QUICK_NS, retries=0)
    assert pair.autopilot.commands[0].target_component == 100


def test_nothing_is_asked_of_a_vehicle_that_was_not_found(pair: Pair) -> None:
    for ask in (
        lambda: pair.vehicle.arm(armed=False),
        lambda: pair.vehicle.request("AUTOPILOT_VERSION"),
        pair.vehicle.identify,
    ):
        with pytest.raises(StalledError, match="no flight controller was heard yet; call find"):
            ask()
    assert pair.autopilot.commands == []


# Modes, intervals, requests


def test_every_mode_is_set_by_its_name_and_read_back(pair: Pair) -> None:
    pair.found()
    for name, mode in MODES.items():
        pair.autopilot.answers = [[ack(ACCEPTED, dialect.MAV_CMD_DO_SET_MODE)]]
        pair.vehicle.set_mode(name)
        command = pair.autopilot.commands[-1]
        assert (command.param1, command.param2, command.param3) == (1, mode.main, mode.sub)
        assert name_of(mode.custom_mode) == name
    assert name_of(9 << 16 | 3 << 24) == "MODE_9_3"
    with pytest.raises(ConfigError, match="no flight mode 'FLY'; expected one of MANUAL, "):
        pair.vehicle.set_mode("FLY")
    assert mode_named("HOLD").custom_mode == 0x03040000


def test_an_interval_is_asked_for_in_microseconds_and_none_stops_it(pair: Pair) -> None:
    pair.found()
    for rate_hz, period_us in ((50.0, 20_000.0), (0.0, -1.0)):
        pair.autopilot.answers = [[ack(ACCEPTED, dialect.MAV_CMD_SET_MESSAGE_INTERVAL)]]
        pair.vehicle.set_interval("ATTITUDE", rate_hz)
        assert pair.autopilot.commands[-1].param1 == 30
        assert pair.autopilot.commands[-1].param2 == period_us


def version() -> Message:
    return dialect.MAVLink_autopilot_version_message(
        capabilities=0,
        flight_sw_version=0x010E_03FF,
        middleware_sw_version=0,
        os_sw_version=0,
        board_version=50,
        flight_custom_version=list(bytes.fromhex("efcdab8967452301")),
        middleware_custom_version=[0] * 8,
        os_custom_version=[0] * 8,
        vendor_id=0,
        product_id=0,
        uid=0xABC,
        uid2=[0] * 18,
    )


def test_a_request_is_sent_again_and_answered_by_the_message(pair: Pair) -> None:
    unasked = ack(ACCEPTED, dialect.MAV_CMD_REQUEST_MESSAGE)
    pair.found().autopilot.answers = [[], [unasked], [unasked, version()]]
    message = pair.vehicle.request("AUTOPILOT_VERSION", within_ns=QUICK_NS)
    assert message.board_version == 50
    assert [command.param1 for command in pair.autopilot.commands] == [148] * 3
    with pytest.raises(StalledError, match=r"waiting for AUTOPILOT_VERSION: nothing in 0\.08 s"):
        pair.vehicle.request("AUTOPILOT_VERSION", within_ns=QUICK_NS, retries=1)


def test_a_vehicle_says_what_it_is(pair: Pair) -> None:
    pair.found().autopilot.answers = [[version()]]
    identity = pair.vehicle.identify()
    assert (identity.system, identity.component) == (1, 1)
    assert (identity.autopilot, identity.kind) == ("MAV_AUTOPILOT_PX4", "MAV_TYPE_QUADROTOR")
    assert (identity.firmware, identity.git_hash) == ("1.14.3", "0123456789abcdef")
    assert (identity.board, identity.uid) == (50, "abc")
