"""MAVSDK, which knows nothing of Ghost, flies `ghost sitl` as it flies PX4."""

import math
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

mavsdk = pytest.importorskip("mavsdk", reason="pip install -e '.[hil]'")

from mavsdk.plugins.action import Action  # noqa: E402
from mavsdk.plugins.info import Info  # noqa: E402
from mavsdk.plugins.mission import Mission, MissionItem, MissionPlan  # noqa: E402
from mavsdk.plugins.offboard import Offboard, VelocityNedYaw  # noqa: E402
from mavsdk.plugins.param import Param, ParamError  # noqa: E402
from mavsdk.plugins.telemetry import FlightMode, LandedState, Telemetry  # noqa: E402

METRE_DEG = 1.0 / 111_180.0


@pytest.fixture(scope="module")
def system() -> Iterator[Any]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as finder:
        finder.bind(("127.0.0.1", 0))
        port = finder.getsockname()[1]
    command = ["sitl", "x500", "--time", "scaled:5", "--link", f"udpout://127.0.0.1:{port}"]
    vehicle = subprocess.Popen(
        [sys.executable, "-m", "ghost.cli", *command], stdout=subprocess.PIPE, text=True
    )
    kind = mavsdk.ComponentType.GROUND_STATION
    client = mavsdk.Mavsdk(mavsdk.Configuration.create_with_component_type(kind))
    try:
        assert client.add_any_connection(f"udpin://127.0.0.1:{port}").name == "SUCCESS"
        found = client.first_autopilot(20.0)
        assert found is not None
        yield found
    finally:
        client.destroy()
        vehicle.send_signal(signal.SIGTERM)
        said, _ = vehicle.communicate(timeout=10)
    assert vehicle.returncode == 0
    assert said.startswith("x500: system 1 on udpout://")


def wait_for(is_so: Callable[[], Any], what: str, within_s: float = 20.0) -> None:
    end_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end_s, f"waited {within_s} s for {what}"
        time.sleep(0.02)


@pytest.mark.slow
def test_mavsdk_flies_it(system: Any) -> None:
    action, telemetry = Action(system), Telemetry(system)
    assert system.get_system_id() == 1
    assert system.autopilot_type().name == "PX4"

    wait_for(telemetry.health_all_ok, "every check to pass")
    assert telemetry.battery().remaining_percent > 90.0
    assert telemetry.gps_info().num_satellites > 5
    assert telemetry.raw_gps().absolute_altitude_m == pytest.approx(488.0, abs=5.0)
    assert telemetry.attitude_euler().yaw_deg == pytest.approx(90.0, abs=3.0)  # nose to the east
    assert telemetry.imu().acceleration_frd.down_m_s2 == pytest.approx(-9.8, abs=0.5)
    assert Info(system).get_version().flight_sw_major == 1

    check_parameters(Param(system))

    action.arm()
    wait_for(telemetry.armed, "arming")
    action.takeoff()
    wait_for(lambda: telemetry.landed_state() == LandedState.IN_AIR, "the end of the take-off")
    wait_for(lambda: telemetry.flight_mode() == FlightMode.HOLD, "hold")
    assert telemetry.position().relative_altitude_m == pytest.approx(4.0, abs=0.6)

    check_goto(action, telemetry)
    check_mission(Mission(system), telemetry)
    check_offboard(Offboard(system), telemetry)

    action.land()
    wait_for(lambda: not telemetry.armed(), "the landing")
    wait_for(lambda: telemetry.landed_state() == LandedState.ON_GROUND, "the ground")


def check_parameters(param: Any) -> None:
    assert param.get_param_int("SYS_AUTOSTART") == 4001
    assert param.get_param_float("MIS_TAKEOFF_ALT") == 2.5
    param.set_param_float("MIS_TAKEOFF_ALT", 4.0)
    assert param.get_param_float("MIS_TAKEOFF_ALT") == 4.0
    with pytest.raises(ParamError):
        param.set_param_float("MPC_XY_VEL_MAX", 3.0)  # the envelope's, and not to be changed
    listed = param.get_all_params()
    assert {"COM_OBL_RC_ACT": 3}.items() <= {
        one.name: one.value for one in listed.int_params
    }.items()
    assert len(listed.float_params) > 12


def check_goto(action: Any, telemetry: Any) -> None:
    here = telemetry.position()
    began = telemetry.position_velocity_ned().position
    north_deg = here.latitude_deg + 10.0 * METRE_DEG
    action.goto_location(north_deg, here.longitude_deg, here.absolute_altitude_m + 2.0, 0.0)

    def is_there() -> bool:
        now = telemetry.position_velocity_ned().position
        off_m = math.hypot(now.north_m - began.north_m - 10.0, now.east_m - began.east_m)
        return off_m < 0.7 and abs(now.down_m - began.down_m + 2.0) < 0.7

    wait_for(is_there, "the place that it was sent to")
    assert telemetry.flight_mode() == FlightMode.HOLD
    wait_for(lambda: abs(telemetry.attitude_euler().yaw_deg) < 5.0, "the heading")


def check_mission(mission: Any, telemetry: Any) -> None:
    home = telemetry.home()
    east_deg = METRE_DEG / math.cos(math.radians(home.latitude_deg))
    places = [(10.0, 8.0), (0.0, 8.0)]
    items = [
        MissionItem(
            latitude_deg=home.latitude_deg + north_m * METRE_DEG,
            longitude_deg=home.longitude_deg + east_m * east_deg,
            relative_altitude_m=6.0,
            speed_m_s=4.0,
            is_fly_through=True,
        )
        for north_m, east_m in places
    ]
    mission.upload_mission(MissionPlan(items))
    back = mission.download_mission().mission_items
    assert [one.latitude_deg for one in back] == pytest.approx([one.latitude_deg for one in items])
    mission.start_mission()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.MISSION, "mission mode")
    wait_for(mission.is_mission_finished, "the end of the mission")
    assert mission.mission_progress().current == 2
    now = telemetry.position_velocity_ned().position
    assert math.hypot(now.north_m, now.east_m - 8.0) < 1.5


def check_offboard(offboard: Any, telemetry: Any) -> None:
    wait_for(lambda: telemetry.flight_mode() == FlightMode.HOLD, "hold after the mission")
    yaw_deg = telemetry.attitude_euler().yaw_deg
    began = telemetry.position_velocity_ned().position
    offboard.set_velocity_ned(VelocityNedYaw(0.0, -2.0, 0.0, yaw_deg))
    offboard.start()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.OFFBOARD, "offboard mode")

    def is_west() -> bool:
        return bool(telemetry.position_velocity_ned().position.east_m < began.east_m - 5.0)

    wait_for(is_west, "5 m to the west")
    assert telemetry.velocity_ned().east_m_s == pytest.approx(-2.0, abs=0.5)
    offboard.stop()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.HOLD, "hold after offboard")
