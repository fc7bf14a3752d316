"""MAV_CMDs, each answered once."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from firmware_bridge import modes
from firmware_bridge.hub import Hub, Received
from firmware_bridge.link import Link
from firmware_bridge.messages import Message, dialect
from ghost.core.errors import FrameError
from ghost.hal import Action
from ghost.sitl.pilot import Pilot
from ghost.sitl.route import RELATIVE, MissionRoute, place_enu_m
from ghost.sitl.setpoints import yaw_enu_rad
from ghost.sitl.streams import Streams
from ghost.sitl.vehicle import SitlVehicle

FORCE = 21196.0
ACCEPTED, DENIED = dialect.MAV_RESULT_ACCEPTED, dialect.MAV_RESULT_DENIED
LATER, UNSUPPORTED = dialect.MAV_RESULT_TEMPORARILY_REJECTED, dialect.MAV_RESULT_UNSUPPORTED
_NO_NUMBER = 0x7FFFFFFF
_HEARTBEAT, _AUTOPILOT_VERSION, _HOME_POSITION = 0, 148, 242

Answer = tuple[int, str]
DONE: Answer = (ACCEPTED, "")


@dataclass(frozen=True, slots=True)
class Order:
    """A COMMAND_LONG or COMMAND_INT. Places are in degrees; NaN is for what was left out."""

    number: int
    parameters: tuple[float, ...]
    link: Link
    is_relative: bool = False

    def __getitem__(self, place: int) -> float:
        """By MAVLink's numbers, 1 to 7."""
        return self.parameters[place - 1]


class Commands:
    def __init__(
        self,
        hub: Hub,
        vehicle: SitlVehicle,
        pilot: Pilot,
        route: MissionRoute,
        streams: Streams,
        *,
        is_ours: Callable[[int, int], bool],
        tell: Callable[[str], None],
        heartbeat: Callable[[], Message],
    ) -> None:
        self._hub, self._vehicle, self._pilot = hub, vehicle, pilot
        self._route, self._streams = route, streams
        self._is_ours, self._tell = is_ours, tell
        self._heartbeat = heartbeat
        self._handlers: dict[int, Callable[[Order], Answer]] = {
            dialect.MAV_CMD_COMPONENT_ARM_DISARM: self._arm_disarm,
            dialect.MAV_CMD_NAV_TAKEOFF: self._take_off,
            dialect.MAV_CMD_NAV_LAND: lambda _: self._mode("LAND"),
            dialect.MAV_CMD_NAV_RETURN_TO_LAUNCH: lambda _: self._mode("RETURN"),
            dialect.MAV_CMD_DO_SET_MODE: self._set_mode,
            dialect.MAV_CMD_DO_REPOSITION: self._reposition,
            dialect.MAV_CMD_DO_CHANGE_SPEED: self._change_speed,
            dialect.MAV_CMD_DO_FLIGHTTERMINATION: self._terminate,
            dialect.MAV_CMD_MISSION_START: self._start_mission,
            dialect.MAV_CMD_DO_SET_MISSION_CURRENT: self._set_current,
            dialect.MAV_CMD_REQUEST_MESSAGE: self._request_message,
            dialect.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES: lambda order: self._send(
                order, _AUTOPILOT_VERSION
            ),
            dialect.MAV_CMD_GET_HOME_POSITION: lambda order: self._send(order, _HOME_POSITION),
            dialect.MAV_CMD_SET_MESSAGE_INTERVAL: self._set_interval,
            dialect.MAV_CMD_GET_MESSAGE_INTERVAL: self._get_interval,
            dialect.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN: self._reboot,
        }
        hub.on("COMMAND_LONG", self._on_long)
        hub.on("COMMAND_INT", self._on_int)

    def _on_long(self, received: Received) -> None:
        message = received.message
        seven = tuple(getattr(message, f"param{number}") for number in range(1, 8))
        self._obey(received, Order(message.command, seven, received.link))

    def _on_int(self, received: Received) -> None:
        message = received.message
        four = [getattr(message, f"param{number}") for number in range(1, 5)]
        place = [
            math.nan if value == _NO_NUMBER else value / 1e7 for value in (message.x, message.y)
        ]
        is_relative = message.frame in RELATIVE
        seven = (*four, *place, message.z)
        self._obey(received, Order(message.command, seven, received.link, is_relative))

    def _obey(self, received: Received, order: Order) -> None:
        message, frame = received.message, received.frame
        if not self._is_ours(message.target_system, message.target_component):
            return
        handler = self._handlers.get(order.number)
        result, why = (UNSUPPORTED, "") if handler is None else handler(order)
        self._hub.send(
            dialect.MAVLink_command_ack_message(
                order.number, result, 0, 0, frame.system, frame.component
            ),
            received.link,
        )
        if why:
            self._tell(why)

    def _arm_disarm(self, order: Order) -> Answer:
        if order[1] == 1.0:
            refusal = self._pilot.arm()
            return (LATER, f"Arming denied: {refusal}") if refusal else DONE
        if order[1] != 0.0:
            return DENIED, f"Arm or disarm? Got {order[1]:g}; expected 1 or 0"
        if order[2] == FORCE:
            return self._kill()
        ack = self._vehicle.request(Action.DISARM)
        return DONE if ack.accepted else (LATER, f"Disarming denied: {ack.detail}")

    def _terminate(self, order: Order) -> Answer:
        return self._kill() if order[1] > 0.5 else DONE

    def _kill(self) -> Answer:
        self._vehicle.request(Action.KILL)
        return ACCEPTED, "Killed: rotors stopped; restart the autopilot to arm again"

    def _take_off(self, order: Order) -> Answer:
        height_m = None
        home_m = self._vehicle.home_enu_m
        if math.isfinite(order[7]) and home_m is not None:
            height_m = order[7]
            if not order.is_relative:
                height_m -= self._vehicle.frame.to_geodetic(home_m).altitude_m
            ceiling_m = self._vehicle.envelope.max_altitude_m - float(home_m[2])
            if not 0.0 < height_m <= ceiling_m:
                return DENIED, f"Takeoff denied: {height_m:.1f} m is not 0 to {ceiling_m:.1f}"
        return self._mode("TAKEOFF", takeoff_m=height_m)

    def _set_mode(self, order: Order) -> Answer:
        if not all(0.0 <= order[place] < 256.0 for place in (1, 2, 3)):  # nor NaN
            return DENIED, f"No mode {order[1]:g} {order[2]:g} {order[3]:g}"
        if not int(order[1]) & modes.CUSTOM_MODE_FLAG:
            return DENIED, "Only PX4's custom modes are known"
        return self._mode(modes.name_of(int(order[2]) << 16 | int(order[3]) << 24))

    def _mode(self, name: str, *, takeoff_m: float | None = None) -> Answer:
        refusal = self._pilot.choose(name, takeoff_m=takeoff_m)
        return (LATER, f"{name} denied: {refusal}") if refusal else DONE

    def _reposition(self, order: Order) -> Answer:
        vehicle = self._vehicle
        home_m = vehicle.home_enu_m
        if home_m is None or not vehicle.armed:
            return LATER, "Reposition denied: not flying"
        if not (math.isfinite(order[5]) and math.isfinite(order[6])):
            return self._mode("HOLD")  # how ground stations say pause
        here = vehicle.frame.to_geodetic(vehicle.position_enu_m)
        z_m = order[7] if math.isfinite(order[7]) else here.altitude_m
        is_relative = order.is_relative and math.isfinite(order[7])
        try:
            target_m = place_enu_m(
                vehicle.frame, home_m, order[5], order[6], z_m, relative=is_relative
            )
        except FrameError as error:
            return DENIED, f"Reposition denied: {error}"
        if why := self._pilot.unreachable(np.asarray(target_m)):
            return DENIED, f"Reposition denied: {why}"
        yaw_rad = yaw_enu_rad(order[4]) if math.isfinite(order[4]) else None
        speed_mps = order[1] if order[1] > 0.0 else None
        self._route.stop()
        refusal = self._pilot.fly_to(target_m, yaw_rad=yaw_rad, speed_mps=speed_mps)
        return (LATER, f"Reposition denied: {refusal}") if refusal else DONE

    def _change_speed(self, order: Order) -> Answer:
        if not order[2] > 0.0:
            return DENIED, "Speed denied: expected above 0"
        self._pilot.cruise_mps = min(order[2], self._vehicle.envelope.max_speed_mps)
        return DONE

    def _start_mission(self, order: Order) -> Answer:
        if order[1] > 0.0 and not self._jump(order[1]):
            return DENIED, f"No mission item {order[1]:g}"
        return self._mode("MISSION")

    def _set_current(self, order: Order) -> Answer:
        return DONE if self._jump(order[1]) else (DENIED, f"No mission item {order[1]:g}")

    def _jump(self, number: float) -> bool:
        return math.isfinite(number) and self._route.jump_to(int(number))

    def _request_message(self, order: Order) -> Answer:
        return self._send(order, int(order[1]) if math.isfinite(order[1]) else -1)

    def _send(self, order: Order, number: int) -> Answer:
        message = self._heartbeat() if number == _HEARTBEAT else self._streams.build(number)
        if message is None:
            return DENIED, ""
        self._hub.send(message, order.link)
        return DONE

    def _set_interval(self, order: Order) -> Answer:
        if not (math.isfinite(order[1]) and math.isfinite(order[2])):
            return DENIED, ""
        known = self._streams.set_interval(order.link, int(order[1]), order[2])
        return DONE if known else (UNSUPPORTED, "")

    def _get_interval(self, order: Order) -> Answer:
        number = int(order[1]) if 0.0 <= order[1] <= 65_535.0 else 0
        interval_us = self._streams.interval_us(order.link, number)
        self._hub.send(dialect.MAVLink_message_interval_message(number, interval_us), order.link)
        return DONE

    def _reboot(self, order: Order) -> Answer:
        """Of all that a restart does, the end of a kill."""
        if order[1] not in (0.0, 1.0) or self._vehicle.armed:
            return DENIED, "Restart denied: armed, or not a restart"
        if order[1] == 1.0:
            self._vehicle.revive()
        return DONE
