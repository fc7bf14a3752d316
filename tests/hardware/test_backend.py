"""The backend against a scripted flight controller, over UDP."""

import math
import socket
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from firmware_bridge import link as link_module
from firmware_bridge import modes
from firmware_bridge.messages import dialect, encode
from ghost.core.errors import GhostError, RefusedError, StalledError
from ghost.hal import (
    Action,
    CommandAck,
    CommandLevel,
    EstimateHealth,
    Failsafe,
    FlightMode,
    Health,
    MotorCommand,
    PositionCommand,
    RejectReason,
    VehicleStatus,
)
from ghost.hardware import run as run_module
from ghost.hardware.px4 import Px4Backend
from ghost.hardware.status import StatusBook, mode_of
from tests.firmware_bridge.link_rig import free_port, heartbeat
from tests.hardware.rig import STREAMS, Autopilot, backend_on, beating, flying, spin, spin_until

ARM_DISARM = dialect.MAV_CMD_COMPONENT_ARM_DISARM


pytestmark = pytest.mark.usefixtures("soon")


def send(backend: Px4Backend, sequence: int = 0) -> CommandAck:
    now_ns = backend.clock.now_ns()
    return backend.actuators.send(PositionCommand(now_ns, sequence, np.array([0.0, 0.0, 3.0]), 0.0))


def armed(backend: Px4Backend) -> None:
    ack = backend.flight_controller.request(Action.ARM)
    assert ack.accepted, ack.detail
    spin_until(backend, lambda: backend.actuators.armed)


def status(backend: Px4Backend) -> Any:
    return backend.sensors["status"].poll()


# Start and stop.


def test_a_start_without_a_flight_controller_fails_in_time_and_says_what_was_tried() -> None:
    backend = backend_on(free_port())
    began_s = time.monotonic()
    with pytest.raises(StalledError) as caught:
        backend.start()
    assert 0.6 < time.monotonic() - began_s < 2.0
    said = str(caught.value)
    assert said.startswith("waiting for the heartbeat of a flight controller: nothing in 0.7 s")
    assert "0 bytes and 0 frames heard; no heartbeat from anybody" in said
    assert f"{backend_url(backend)}" in said


def backend_url(backend: Px4Backend) -> str:
    return str(backend._endpoints[0])


@pytest.mark.parametrize("use", ["clock", "sensors", "actuators", "flight_controller", "spin"])
def test_before_the_start_and_after_the_stop_nothing_may_be_used(use: str) -> None:
    backend = backend_on(free_port())
    backend.stop()
    with pytest.raises(GhostError, match="not started"):
        backend.spin(0) if use == "spin" else getattr(backend, use)


def test_a_flight_controller_that_answers_nothing_fails_the_start() -> None:
    port = free_port()
    with beating(Autopilot(is_mute=True), port), pytest.raises(StalledError, match="AUTOPILOT_VER"):
        backend_on(port).start()


def test_another_autopilot_than_px4_is_refused_and_asked_nothing() -> None:
    autopilot, port = Autopilot(), free_port()
    with beating(autopilot, port) as peer:
        peer.beat["autopilot"] = dialect.MAV_AUTOPILOT_ARDUPILOTMEGA
        with pytest.raises(RefusedError, match=r"^system 1 is MAV_AUTOPILOT_ARDUPILOTMEGA; .*PX4"):
            backend_on(port).start()
    assert autopilot.intervals == []


def test_without_an_estimate_there_is_no_flight() -> None:
    port = free_port()
    streams = tuple(name for name in STREAMS if name != "ODOMETRY")
    with (
        beating(Autopilot(streams), port),
        pytest.raises(StalledError, match=r"^waiting for ODOMETRY: nothing in 0\.7 s; .*EKF2"),
    ):
        backend_on(port).start()


def test_only_streams_that_are_there_are_declared() -> None:
    with flying(Autopilot(("ODOMETRY", "GPS_RAW_INT"))) as (backend, _):
        names = {spec.name for spec in backend.capabilities.sensors}
        assert names == {"vehicle", "gps", "status"} == set(backend.sensors)
        assert CommandLevel.DIRECT_MOTOR not in backend.capabilities.command_levels
        assert not backend.capabilities.synchronous_step
        # Neither magnetometer nor barometer: HIGHRES_IMU would have to say that it updates them.
    with flying(Autopilot()) as (backend, _):
        names = {spec.name for spec in backend.capabilities.sensors}
        assert names == {"vehicle", "gps", "status", "imu", "battery"}
        assert backend.sensors["imu"].spec.period_ns > 15_000_000  # what comes, not what was asked


# Actions.


def test_arming_needs_leave_and_asks_nobody_without() -> None:
    autopilot = Autopilot()
    with flying(autopilot, allow_arming=False) as (backend, _):
        ack = backend.flight_controller.request(Action.ARM)
        assert not ack.accepted
        assert ack.detail == "arming is not allowed in this run; give --allow-arming"
        spin(backend, 100)
    assert autopilot.commands == []


@pytest.mark.parametrize("action", [Action.TAKEOFF, Action.OFFBOARD])
def test_what_somebody_else_armed_is_not_flown_without_leave(action: Action) -> None:
    autopilot = Autopilot()
    with flying(autopilot, allow_arming=False) as (backend, peer):
        peer.beat["base_mode"] = modes.ARMED_FLAG
        spin_until(backend, lambda: status(backend).armed)
        assert not backend.flight_controller.request(action, altitude_m=3.0).accepted
        assert backend.flight_controller.request(Action.LAND).accepted
    assert len(autopilot.commands) == 1


def test_whoever_took_the_vehicle_since_the_last_heartbeat_keeps_it() -> None:
    autopilot = Autopilot()
    with flying(autopilot, beat_ns=600_000_000) as (backend, peer):
        controller = backend.flight_controller
        assert controller.request(Action.ARM).accepted
        spin_until(backend, lambda: status(backend).armed)
        assert controller.request(Action.OFFBOARD).accepted
        spin_until(backend, lambda: status(backend).mode is FlightMode.OFFBOARD)
        peer.beat["custom_mode"] = modes.mode_named("POSITION").custom_mode
        asked = len(autopilot.commands)
        ack = controller.request(Action.LAND)
        assert ack.detail == "the mode has just changed from OFFBOARD to POSITION"
        assert len(autopilot.commands) == asked
        assert status(backend).mode is FlightMode.MANUAL
        assert controller.request(Action.KILL).accepted


def test_a_mode_that_changes_is_known_long_before_the_next_heartbeat() -> None:
    with flying(Autopilot(), beat_ns=600_000_000) as (backend, peer):
        assert backend.flight_controller.request(Action.ARM).accepted
        spin_until(backend, lambda: status(backend).armed)
        peer.beat["custom_mode"] = modes.mode_named("POSITION").custom_mode
        spin_until(backend, lambda: status(backend).mode is FlightMode.MANUAL, within_ms=300)


def test_a_command_that_is_in_progress_does_not_hold_up_the_flight() -> None:
    autopilot = Autopilot(in_progress=(dialect.MAV_CMD_DO_SET_MODE,))
    with flying(autopilot) as (backend, _):
        began_ns = backend.clock.now_ns()
        ack = backend.flight_controller.request(Action.HOLD)
        assert backend.clock.now_ns() - began_ns < 500_000_000
        assert "which is in progress" in ack.detail


def test_two_flight_controllers_are_one_too_many_unless_one_is_named() -> None:
    port = free_port()
    with beating(Autopilot(), port) as peer:
        rival = encode(heartbeat(), system=77, component=1, sequence=0)

        def speak_up(now_ns: int) -> None:
            peer.hub.links[0].send(rival, now_ns)

        peer.hub.every(100_000_000, speak_up)
        backend = backend_on(port)
        with pytest.raises(RefusedError, match=r"are heard, systems 1, 77; .*: --system"):
            backend.start()
        named = backend_on(port, system=1)
        named.start()
        assert named.vehicle.system == 1
        named.stop()


def test_manual_modes_are_the_pilot_s() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, _):
        ack = backend.flight_controller.request(Action.MANUAL)
        assert (ack.accepted, ack.detail) == (False, "manual modes are the pilot's to choose")
    assert autopilot.commands == []


@pytest.mark.parametrize(
    ("action", "command"),
    [
        (Action.DISARM, (ARM_DISARM, 0.0, 0.0, 0.0)),
        (Action.HOLD, (dialect.MAV_CMD_DO_SET_MODE, 1.0, 4.0, 3.0)),
        (Action.LAND, (dialect.MAV_CMD_DO_SET_MODE, 1.0, 4.0, 6.0)),
        (Action.RETURN, (dialect.MAV_CMD_DO_SET_MODE, 1.0, 4.0, 5.0)),
        (Action.OFFBOARD, (dialect.MAV_CMD_DO_SET_MODE, 1.0, 6.0, 0.0)),
        (Action.KILL, (ARM_DISARM, 0.0, 21196.0, 0.0)),
    ],
)
def test_an_action_is_one_command(action: Action, command: tuple[float, ...]) -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, _):
        ack = backend.flight_controller.request(action)
        assert (ack.accepted, ack.action, ack.detail) == (True, action, "")
    assert autopilot.commands == [command]


def test_a_take_off_goes_above_where_it_stands() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, peer):
        heights: list[float] = []
        peer.on("COMMAND_LONG", lambda received: heights.append(received.message.param7))
        assert not backend.flight_controller.request(Action.TAKEOFF, altitude_m=0.0).accepted
        assert not backend.flight_controller.request(Action.TAKEOFF, altitude_m=math.nan).accepted
        assert backend.flight_controller.request(Action.TAKEOFF, altitude_m=3.0).accepted
    assert heights == [491.0]


def test_a_refusal_is_told_with_its_reason() -> None:
    with flying(Autopilot(refuses=(ARM_DISARM,))) as (backend, _):
        ack = backend.flight_controller.request(Action.ARM)
        assert not ack.accepted
        assert ack.detail == "MAV_CMD_COMPONENT_ARM_DISARM was refused: DENIED"


def test_no_answer_is_a_refusal_soon() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, _):
        autopilot.is_mute = True
        began_ns = backend.clock.now_ns()
        ack = backend.flight_controller.request(Action.HOLD)
        # PX4 leaves OFFBOARD a second after the last set-point; none is sent meanwhile.
        assert backend.clock.now_ns() - began_ns < 500_000_000
        assert not ack.accepted
        assert "waiting for the answer to MAV_CMD_DO_SET_MODE" in ack.detail


def test_a_kill_stays() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, peer):
        armed(backend)
        assert send(backend).accepted
        assert backend.flight_controller.request(Action.KILL).accepted
        assert send(backend, 1).reason is RejectReason.KILLED
        peer.beat["base_mode"] = modes.ARMED_FLAG  # somebody else arms it
        spin(backend, 300)
        assert send(backend, 2).reason is RejectReason.KILLED
        assert status(backend).killed
        ack = backend.flight_controller.request(Action.ARM)
        assert (ack.accepted, ack.detail) == (False, "killed; start anew before arming again")


def test_a_kill_that_nobody_answers_still_closes_the_gate() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, _):
        armed(backend)
        autopilot.is_mute = True
        assert not backend.flight_controller.request(Action.KILL).accepted
        assert send(backend).reason is RejectReason.KILLED


# Set-points.


def test_set_points_go_out_when_they_are_sent_and_at_no_other_time() -> None:
    autopilot = Autopilot()
    with flying(autopilot) as (backend, _):
        assert send(backend).reason is RejectReason.NOT_ARMED
        armed(backend)
        spin(backend, 300)
        assert autopilot.setpoints == []
        for sequence in range(10):
            assert send(backend, sequence).accepted
            spin(backend, 20)
        spin_until(backend, lambda: len(autopilot.setpoints) == 10)
        spin(backend, 500)  # the loop still turns, and nobody sends
        assert len(autopilot.setpoints) == 10
        time.sleep(0.5)  # the loop hangs
        assert len(autopilot.setpoints) == 10
    time.sleep(0.3)
    assert len(autopilot.setpoints) == 10
    message = autopilot.setpoints[0]
    assert (message.x, message.y, message.z, message.target_system) == (0.0, 0.0, -3.0, 1)


def test_motors_have_no_set_point() -> None:
    with flying(Autopilot()) as (backend, _):
        armed(backend)
        command = MotorCommand(backend.clock.now_ns(), 0, np.zeros(4))
        assert backend.actuators.send(command).reason is RejectReason.UNSUPPORTED_LEVEL


def test_a_set_point_over_a_dead_link_is_refused() -> None:
    with flying(Autopilot()) as (backend, _):
        armed(backend)
        link = backend.vehicle.link
        assert link is not None
        link.close()
        ack = send(backend)
        assert (ack.reason, ack.applied) == (RejectReason.SINK_FAILED, None)
        assert ack.detail == "the link to the flight controller is down"


# Status.


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("MANUAL", FlightMode.MANUAL),
        ("ALTITUDE", FlightMode.MANUAL),
        ("POSITION", FlightMode.MANUAL),
        ("ACRO", FlightMode.MANUAL),
        ("STABILIZED", FlightMode.MANUAL),
        ("TAKEOFF", FlightMode.TAKEOFF),
        ("HOLD", FlightMode.HOLD),
        ("RETURN", FlightMode.RETURN),
        ("LAND", FlightMode.LAND),
        ("PRECISION_LAND", FlightMode.LAND),
        ("OFFBOARD", FlightMode.OFFBOARD),
        ("MISSION", FlightMode.OTHER),
        ("READY", FlightMode.OTHER),
        ("FOLLOW", FlightMode.OTHER),
    ],
)
def test_modes_have_their_names(name: str, mode: FlightMode) -> None:
    assert mode_of(modes.MODES[name].custom_mode) is mode


def test_a_mode_that_nobody_knows_is_another() -> None:
    assert mode_of(99 << 16) is FlightMode.OTHER


@pytest.mark.parametrize(
    ("state", "base_mode", "failsafe"),
    [
        (dialect.MAV_STATE_STANDBY, 0, Failsafe.NONE),
        (dialect.MAV_STATE_ACTIVE, modes.ARMED_FLAG, Failsafe.NONE),
        (dialect.MAV_STATE_CRITICAL, modes.ARMED_FLAG, Failsafe.OTHER),
        (dialect.MAV_STATE_EMERGENCY, modes.ARMED_FLAG, Failsafe.OTHER),
        (dialect.MAV_STATE_CRITICAL, 0, Failsafe.NONE),
    ],
)
def test_a_failsafe_is_one_while_it_is_armed(
    state: int, base_mode: int, failsafe: Failsafe
) -> None:
    book = StatusBook(heartbeat(system_status=state, base_mode=base_mode))
    told = book.status(5, 6)
    assert (told.failsafe, told.armed) == (failsafe, bool(base_mode))
    assert (told.stamp_ns, told.sequence) == (5, 6)


def test_a_terminated_flight_is_killed_though_px4_says_armed() -> None:
    state = dialect.MAV_STATE_FLIGHT_TERMINATION
    book = StatusBook(heartbeat(system_status=state, base_mode=modes.ARMED_FLAG))
    status = book.status(0, 0)
    assert (status.armed, status.killed, status.failsafe) == (False, True, Failsafe.OTHER)


@pytest.mark.parametrize(
    ("landed_state", "on_ground", "is_blocked"),
    [
        (dialect.MAV_LANDED_STATE_UNDEFINED, False, True),
        (dialect.MAV_LANDED_STATE_ON_GROUND, True, False),
        (dialect.MAV_LANDED_STATE_IN_AIR, False, False),
        (dialect.MAV_LANDED_STATE_TAKEOFF, False, False),
        (dialect.MAV_LANDED_STATE_LANDING, False, False),
    ],
)
def test_only_on_the_ground_is_on_the_ground(
    landed_state: int, on_ground: bool, is_blocked: bool
) -> None:
    book = StatusBook(heartbeat(), can_arm=True)
    book.on_extended(dialect.MAVLink_extended_sys_state_message(0, landed_state))
    told = book.status(0, 0)
    assert (told.on_ground, bool(told.blocked)) == (on_ground, is_blocked)


def test_what_keeps_it_from_arming_is_told() -> None:
    book = StatusBook(heartbeat(), is_landed=True)
    assert book.status(0, 0).blocked.endswith("has not said yet whether it may be armed")
    book.on_sys_status(dialect.MAVLink_sys_status_message(0, 0, 0, 0, 0, 0, 0, *[0] * 6))
    assert book.status(0, 0).blocked.endswith("it does not say why; a ground station is told")
    book.unhealthy = ("GPS", "3D_MAG")
    assert book.status(0, 0).blocked == "its pre-arm checks fail: unhealthy: GPS, 3D_MAG"
    book.complaint = "Preflight Fail: no GPS"
    assert book.status(0, 0).blocked == "its pre-arm checks fail: Preflight Fail: no GPS"
    ready = dialect.MAV_SYS_STATUS_PREARM_CHECK
    book.on_sys_status(dialect.MAVLink_sys_status_message(0, 0, ready, 0, 0, 0, 0, *[0] * 6))
    assert book.status(0, 0).blocked == ""


def test_home_is_east_north_up() -> None:
    book = StatusBook(heartbeat())
    q = [1.0, 0.0, 0.0, 0.0]
    book.on_home(dialect.MAVLink_home_position_message(0, 0, 0, 1.0, 2.0, -3.0, q, 0.0, 0.0, 0.0))
    assert book.status(0, 0).home_enu_m.tolist() == [2.0, 1.0, 3.0]


def test_the_gate_is_armed_as_the_flight_controller_is() -> None:
    with flying(Autopilot()) as (backend, peer):
        assert not backend.actuators.armed
        armed(backend)
        spin_until(backend, lambda: status(backend).armed)
        peer.beat["base_mode"] = 0  # as after a landing
        spin_until(backend, lambda: not backend.actuators.armed)
        assert not status(backend).armed


# Trouble.


def test_silence_is_offline_once_and_a_link_that_comes_back_is_well() -> None:
    autopilot = Autopilot()
    port = free_port()
    heard: list[VehicleStatus] = []
    backend = backend_on(port, allow_arming=True)
    with beating(autopilot, port):
        backend.start()
        backend.sensors["status"].subscribe(heard.append)
        spin(backend, 200)
    spin(backend, 1200)
    assert [one.health for one in heard].count(Health.OFFLINE) == 1
    assert heard[-1].health is Health.OFFLINE
    state: Any = backend.sensors["vehicle"].poll()
    assert state.verdict is EstimateHealth.LOST
    assert backend.clock.now_ns() - state.stamp_ns < 200_000_000
    again = Autopilot()
    with beating(again, port):
        spin_until(backend, lambda: status(backend).health is Health.OK)
        spin_until(backend, lambda: backend.sensors["vehicle"].poll().health is Health.OK)  # type: ignore[union-attr]
        spin_until(backend, lambda: len(again.intervals) >= len(run_module.RATES_HZ))
        armed(backend)
    backend.stop()


def test_a_loop_that_was_away_does_not_blame_the_sensors() -> None:
    with flying(Autopilot()) as (backend, _):
        heard: list[Any] = []
        for name in ("status", "vehicle", "imu"):
            backend.sensors[name].subscribe(heard.append)
        for _ in range(3):
            time.sleep(1.0)
            spin(backend, 100)
        assert {sample.health for sample in heard} == {Health.OK}


def test_a_restart_of_the_flight_controller_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock begins anew, its sequence numbers too; ours go on."""
    monkeypatch.setattr(link_module, "PEER_NS", 0)  # it comes back from another port
    autopilot = Autopilot(boot_ns=time.monotonic_ns() - 1_000_000_000_000)
    port = free_port()
    texts: list[str] = []
    backend = backend_on(port, on_text=lambda _, text: texts.append(text))
    states: list[Any] = []
    with beating(autopilot, port):
        backend.start()
        backend.sensors["vehicle"].subscribe(states.append)
        spin(backend, 1000)
        assert backend.flight_controller.sync.is_synced
    with beating(Autopilot(), port):
        spin_until(backend, lambda: backend.flight_controller.sync.resets == 1)
        spin(backend, 1000)
        assert backend.flight_controller.sync.is_synced
    backend.stop()
    assert texts == ["the flight controller's clock has jumped: it was restarted"]
    assert states[-1].verdict is EstimateHealth.GOOD
    assert len(states) > 70
    # The old clock doesn't make the new one's samples old.
    good = [state.stamp_ns for state in states if state.verdict is EstimateHealth.GOOD]
    assert max(after - before for before, after in pairwise(good)) < 250_000_000
    for before, after in pairwise(states):
        assert after.stamp_ns > before.stamp_ns
        assert after.sequence == before.sequence + 1


def test_another_vehicle_on_the_same_link_is_not_heard() -> None:
    stranger = encode(heartbeat(base_mode=modes.ARMED_FLAG), system=77, component=1, sequence=0)
    with flying(Autopilot()) as (backend, peer):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            for _ in range(20):
                datagrams.sendto(stranger, ("127.0.0.1", peer.port))
                spin(backend, 10)
        assert backend.vehicle.system == 1
        assert not status(backend).armed
