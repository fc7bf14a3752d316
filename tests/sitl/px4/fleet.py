"""Real PX4s in our physics, stepped by a thread, and a companion that flies one of them."""

import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.messages import Message, dialect
from firmware_bridge.vehicle import Vehicle as FlightController
from ghost.core.clock import SystemClock
from ghost.core.frames import enu_to_ned
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import Start, load_adapter
from ghost.sitl.bridge import Loss, SitlBridge
from ghost.sitl.px4 import Px4Firmware, launch
from ghost.sitl.vehicles import Vehicle
from tests.px4 import FREE_INSTANCES, is_free
from tests.sitl.px4 import rig

SPEED = 10.0
SPACING_M = 20.0
SCENARIO = ScenarioSpec("px4", 1, 1_000_000, 2**62)
SQUARE_NED_M = ((10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0))
HEIGHT_M = 8.0
SETPOINT_NS = 10_000_000
POSITION_AND_YAW = 0b100111111000
BOOT_S = 120.0


class Fleet:
    def __init__(self, folder: Path) -> None:
        self.losses: list[Loss] = []
        self.bridge = SitlBridge(SCENARIO, on_loss=self.losses.append)
        self.error: BaseException | None = None
        self._folder = folder
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def launch(self, count: int, robot: str = "x500", **parameters: str) -> list[int]:
        """The systems of so many, when all of them have booted."""
        free = [number for number in FREE_INSTANCES if is_free(number)][:count]
        assert len(free) == count, f"only PX4 instances {free} are free"
        make = launch(self._folder, speed=SPEED, parameters=parameters)
        self.bridge.adapters.register("physics", load_adapter("lightweight"))
        up_m = -min(leg[2] for leg in rig.setup(robot).airframe.legs_flu_m)
        for index, number in enumerate(free):
            start = Start((index * SPACING_M, 0.0, up_m))
            setup = replace(rig.setup(robot), start=start)
            self.bridge.vehicles.add(Vehicle(number + 1, setup, "physics", make))
        self.bridge.start()
        self._thread.start()
        systems = [number + 1 for number in free]
        self.until(lambda: all(self.firmware(one).is_ready for one in systems), "boot", BOOT_S)
        return systems

    def firmware(self, system: int) -> Px4Firmware:
        firmware = self.bridge.firmware(system)
        assert isinstance(firmware, Px4Firmware)
        return firmware

    def position_ned_m(self, system: int) -> Any:
        """From where it began, as its truth is."""
        index = list(self.bridge.vehicles).index(
            next(one for one in self.bridge.vehicles if one.vehicle_id == system)
        )
        position = self.bridge.ground_truth(system).position_enu_m
        return enu_to_ned(position - np.array([index * SPACING_M, 0.0, 0.0]))

    def until(self, is_so: Callable[[], Any], what: str, within_s: float = 60.0) -> None:
        end_s = time.monotonic() + within_s
        while not is_so():
            assert self.error is None, self.error
            assert time.monotonic() < end_s, f"waited {within_s} s for {what}; {self.losses}"
            time.sleep(0.01)

    def close(self) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(30.0)
        self.bridge.stop()

    def _run(self) -> None:
        try:
            while not self._is_over.is_set():
                self.bridge.step()
        except BaseException as error:
            self.error = error
            raise


class Companion:
    """Flies one by MAVLink, with set-points that it streams while it waits."""

    def __init__(self, system: int) -> None:
        now_ns = SystemClock().now_ns
        self.hub = Hub(now_ns, system=system, component=191)
        self.hub.add(parse_endpoint(f"udpin://127.0.0.1:{14540 + system - 1}"))
        self.px4 = FlightController(self.hub, system=system)
        self.newest: dict[str, Message] = {}
        for name in ("SYS_STATUS", "EXTENDED_SYS_STATE", "LOCAL_POSITION_NED"):
            self.hub.on(name, self._keep)
        self.hub.every(SETPOINT_NS, self._stream)
        self._goal_ned_m: tuple[float, float, float] | None = None
        self._sequence = itertools.count()

    def until(self, is_so: Callable[[], Any], what: str, within_s: float = 60.0) -> None:
        self.hub.spin_until(is_so, within_ns=round(within_s * 1e9), what=what)

    def make_ready(self) -> None:
        self.px4.find()
        self.until(self._may_arm, "the checks before arming")

    def take_off(self) -> None:
        """By OFFBOARD, to the height of the square."""
        self.go(0.0, 0.0, arrive=False)
        self.hub.spin(self.hub.now_ns() + 300_000_000)
        self.px4.set_mode("OFFBOARD")
        self.px4.arm(armed=True)
        self.go(0.0, 0.0)

    def go(self, north_m: float, east_m: float, *, arrive: bool = True) -> None:
        self._goal_ned_m = (north_m, east_m, -HEIGHT_M)
        if arrive:
            self.until(self._is_there, f"{north_m} m north and {east_m} m east")

    def land(self) -> None:
        self.px4.set_mode("LAND")
        self._goal_ned_m = None
        self.until(lambda: not self.px4.is_armed, "the landing")

    def close(self) -> None:
        self.hub.close()

    def _keep(self, received: Any) -> None:
        if self.px4.is_mine(received):
            self.newest[received.message.get_type()] = received.message

    def _may_arm(self) -> bool:
        status = self.newest.get("SYS_STATUS")
        passed = dialect.MAV_SYS_STATUS_PREARM_CHECK
        return bool(status and status.onboard_control_sensors_health & passed)

    def _is_there(self) -> bool:
        here, goal = self.newest.get("LOCAL_POSITION_NED"), self._goal_ned_m
        if here is None or goal is None:
            return False
        is_near = math.dist((here.x, here.y, here.z), goal) < 0.5
        return is_near and math.hypot(here.vx, here.vy, here.vz) < 0.3

    def _stream(self, now_ns: int) -> None:
        if self._goal_ned_m is None or self.px4.heartbeat is None:
            return
        still = (0.0,) * 6
        self.px4.send(
            dialect.MAVLink_set_position_target_local_ned_message(
                now_ns // 1_000_000,
                self.px4.system,
                1,
                dialect.MAV_FRAME_LOCAL_NED,
                POSITION_AND_YAW,
                *self._goal_ned_m,
                *still,
                0.0,
                0.0,
            )
        )
