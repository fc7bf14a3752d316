"""The face, as a plain MAVLink client meets it."""

import math
from collections.abc import Iterator

import pytest

from firmware_bridge.messages import dialect, id_of
from ghost.core.errors import RefusedError
from ghost.sitl import SIMULATED
from tests.sitl.rig import Client, flying

ACCEPTED, LATER = dialect.MAV_RESULT_ACCEPTED, dialect.MAV_RESULT_TEMPORARILY_REJECTED
DENIED, UNSUPPORTED = dialect.MAV_RESULT_DENIED, dialect.MAV_RESULT_UNSUPPORTED
NAN = math.nan


@pytest.fixture
def client() -> Iterator[Client]:
    with flying() as client:
        client.vehicle.find()
        yield client


def test_says_that_it_is_simulated_and_speaks_px4(client: Client) -> None:
    identity = client.vehicle.identify()
    assert bytes.fromhex(identity.uid).rstrip(b"\0").decode() == SIMULATED
    assert bytes.fromhex(identity.git_hash).decode() == SIMULATED
    assert (identity.autopilot, identity.kind) == ("MAV_AUTOPILOT_PX4", "MAV_TYPE_QUADROTOR")
    assert client.vehicle.mode == "HOLD"


def test_arming_too_early_is_refused_and_the_text_says_why() -> None:
    with flying(speed=0.2) as client:
        client.vehicle.find()
        assert client.ack(dialect.MAV_CMD_COMPONENT_ARM_DISARM, 1.0) == LATER
        client.until(lambda: bool(client.texts), "waiting for the reason")
    assert client.texts == ["Arming denied: the estimator has not settled"]


def test_unknown_commands_and_messages_are_refused(client: Client) -> None:
    assert client.ack(dialect.MAV_CMD_DO_PARACHUTE, 1.0) == UNSUPPORTED
    assert client.ack(dialect.MAV_CMD_REQUEST_MESSAGE, id_of("RC_CHANNELS")) == DENIED
    assert client.ack(dialect.MAV_CMD_REQUEST_MESSAGE, NAN) == DENIED
    assert client.ack(dialect.MAV_CMD_SET_MESSAGE_INTERVAL, id_of("RC_CHANNELS")) == UNSUPPORTED
    assert client.ack(dialect.MAV_CMD_DO_SET_MODE, 1.0, 1.0) == LATER  # nobody at the sticks
    assert client.ack(dialect.MAV_CMD_DO_SET_MODE, 1.0, NAN) == DENIED


def test_a_command_for_somebody_else_is_not_answered(client: Client) -> None:
    message = dialect.MAVLink_command_long_message(7, 1, 400, 0, 1.0, *[0.0] * 6)
    heard: list[object] = []
    client.hub.on("COMMAND_ACK", heard.append)
    client.vehicle.send(message)
    client.spin(0.3)
    assert not heard


def test_streams_come_as_often_as_asked(client: Client) -> None:
    client.make_ready()
    client.vehicle.set_interval("ALTITUDE", 0)
    client.vehicle.set_interval("LOCAL_POSITION_NED", 20.0)
    client.counts.clear()
    began_ms = client.newest["LOCAL_POSITION_NED"].time_boot_ms
    client.spin(1.0)
    seconds = (client.newest["LOCAL_POSITION_NED"].time_boot_ms - began_ms) / 1e3
    assert client.counts["LOCAL_POSITION_NED"] == pytest.approx(20.0 * seconds, abs=2)
    assert "ALTITUDE" not in client.counts
    assert client.ack(dialect.MAV_CMD_GET_MESSAGE_INTERVAL, id_of("ODOMETRY")) == ACCEPTED


def test_time_sync_is_answered_with_the_question(client: Client) -> None:
    client.vehicle.send(dialect.MAVLink_timesync_message(0, 123_456_789))
    answer = client.hub.wait_for(
        "TIMESYNC", lambda _: True, within_ns=2_000_000_000, what="waiting for TIMESYNC"
    ).message
    assert answer.ts1 == 123_456_789
    assert answer.tc1 > 0


def test_takes_off_goes_where_it_is_sent_and_refuses_what_it_may_not(client: Client) -> None:
    client.take_off(4.0)
    here = client.newest["GLOBAL_POSITION_INT"]
    assert here.relative_alt == pytest.approx(4000, abs=400)
    north_deg = here.lat / 1e7 + 8.0 / 111_180.0
    reposition, up_m = dialect.MAV_CMD_DO_REPOSITION, here.alt / 1e3
    where = (north_deg, here.lon / 1e7)
    assert client.ack(reposition, -1.0, 1.0, 0.0, NAN, *where, up_m + 500.0) == DENIED
    assert client.ack(reposition, -1.0, 1.0, 0.0, NAN, *where, up_m) == ACCEPTED
    assert client.vehicle.mode == "HOLD"

    def is_there() -> bool:
        return bool(abs(client.newest["LOCAL_POSITION_NED"].x - 8.0) < 0.6)

    client.until(is_there, "waiting to be 8 m north")
    with pytest.raises(RefusedError, match="TEMPORARILY_REJECTED"):
        client.vehicle.arm(armed=False)
    told: list[str] = []
    client.hub.on("EXTENDED_SYS_STATE", lambda heard: told.append(f"{heard.message.landed_state}"))
    client.hub.on("HEARTBEAT", lambda heard: told.append(heard.message.base_mode & 128 or "off"))
    client.vehicle.set_mode("LAND")
    client.until(lambda: not client.vehicle.is_armed, "waiting for the landing")
    on_ground = f"{dialect.MAV_LANDED_STATE_ON_GROUND}"
    assert told.index(on_ground) < told.index("off")  # a client must not take it for a crash
    assert "Landing detected" in client.texts


def test_a_kill_stops_it_and_holds_until_a_restart(client: Client) -> None:
    client.make_ready()
    client.vehicle.arm(armed=True)
    client.until(lambda: client.vehicle.is_armed, "waiting to be armed")
    client.vehicle.arm(armed=False, force=True)
    client.until(lambda: not client.vehicle.is_armed, "waiting to be disarmed")
    assert client.ack(dialect.MAV_CMD_COMPONENT_ARM_DISARM, 1.0) == LATER
    assert client.ack(dialect.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN, 1.0) == ACCEPTED
    client.vehicle.arm(armed=True)


def test_offboard_needs_a_stream_and_its_end_is_a_failsafe(client: Client) -> None:
    client.take_off(4.0)
    with pytest.raises(RefusedError):
        client.vehicle.set_mode("OFFBOARD")
    client.until(lambda: any("no offboard" in text for text in client.texts), "the reason")
    cancel = client.hub.every(50_000_000, lambda _: client.velocity(0.0, 2.0, 0.0))
    client.spin(0.2)
    client.vehicle.set_mode("OFFBOARD")
    client.until(lambda: client.vehicle.mode == "OFFBOARD", "waiting for OFFBOARD")
    began_m = client.newest["LOCAL_POSITION_NED"].y
    client.until(lambda: client.newest["LOCAL_POSITION_NED"].y > began_m + 3.0, "3 m to the east")
    assert client.newest["LOCAL_POSITION_NED"].vy == pytest.approx(2.0, abs=0.4)
    cancel()
    client.until(lambda: client.vehicle.mode == "RETURN", "waiting for the failsafe")
    assert client.vehicle.heartbeat is not None
    assert client.vehicle.heartbeat.system_status == dialect.MAV_STATE_CRITICAL
    client.until(lambda: "Failsafe COMMAND_LOSS: RETURN" in client.texts, "the news")


def test_offboard_may_be_chosen_before_arming(client: Client) -> None:
    client.make_ready()
    client.hub.every(50_000_000, lambda _: client.velocity(0.0, 0.0, -1.0))
    client.spin(0.2)
    client.vehicle.set_mode("OFFBOARD")
    client.vehicle.arm(armed=True)
    client.until(lambda: client.vehicle.is_armed, "waiting to be armed")
    assert client.vehicle.mode == "OFFBOARD"
    client.until(lambda: client.newest["LOCAL_POSITION_NED"].z < -2.0, "2 m up")


@pytest.mark.parametrize("mask", [0x7, 0x80], ids=["attitude", "rates"])
def test_flies_by_attitudes_and_rates_and_is_terminated(client: Client, mask: int) -> None:
    client.take_off(4.0)
    half = math.sqrt(0.5)
    level = [half, 0.0, 0.0, half]  # nose to the east, as it stands
    more_than_hovering = 0.64  # which takes 0.57 of all thrust
    target = dialect.MAVLink_set_attitude_target_message(
        0, 1, 1, mask, level, 0.0, 0.0, 0.0, more_than_hovering
    )
    client.hub.every(50_000_000, lambda _: client.vehicle.send(target))
    client.spin(0.1)
    client.vehicle.set_mode("OFFBOARD")
    client.until(lambda: client.newest["LOCAL_POSITION_NED"].z < -7.0, "3 m more")
    assert client.vehicle.mode == "OFFBOARD"
    assert client.ack(dialect.MAV_CMD_DO_FLIGHTTERMINATION, 1.0) == ACCEPTED
    client.until(lambda: not client.vehicle.is_armed, "waiting to be disarmed")
    client.until(lambda: any("Killed" in text for text in client.texts), "the news")
