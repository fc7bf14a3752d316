"""One vehicle's MAVLink face on a hub: heartbeats, news, and the parts that answer."""

import itertools
import logging

from firmware_bridge import modes
from firmware_bridge.hub import Hub, Received
from firmware_bridge.messages import Message, dialect
from ghost.hal import Failsafe
from ghost.sitl.commands import Commands
from ghost.sitl.identity import vehicle_type
from ghost.sitl.mission import MissionStore
from ghost.sitl.offboard import Offboard
from ghost.sitl.parameters import Parameters
from ghost.sitl.pilot import Pilot
from ghost.sitl.route import MissionRoute
from ghost.sitl.signing import Signing
from ghost.sitl.streams import Streams, extended_sys_state
from ghost.sitl.vehicle import SitlVehicle

COMPONENT: int = dialect.MAV_COMP_ID_AUTOPILOT1
HEARTBEAT_NS = 1_000_000_000
TEXT_BYTES = 50
_GUIDED = (
    dialect.MAV_MODE_FLAG_STABILIZE_ENABLED
    | dialect.MAV_MODE_FLAG_GUIDED_ENABLED
    | dialect.MAV_MODE_FLAG_AUTO_ENABLED
)

_log = logging.getLogger(__name__)


class Face:
    """Give the hub its links first. Call step() after each step of the vehicle, and let the hub
    spin in between.
    """

    def __init__(self, hub: Hub, vehicle: SitlVehicle, speed: float = 1.0) -> None:
        """Speed is that of simulated time, for clients that ask what time it is."""
        self._hub = hub
        self._vehicle = vehicle
        self._speed = speed
        self._stepped_ns = hub.now_ns()
        self._text_numbers = itertools.count(1)
        is_ours = self._is_ours
        self._parameters = Parameters(hub, vehicle, is_ours=is_ours, system=hub.system)
        self.pilot = Pilot(vehicle, self._parameters, self.tell)
        self._store = MissionStore(hub, is_ours=is_ours, tell=self.tell)
        self._route = MissionRoute(
            vehicle, self._store, self.pilot, self._parameters, tell=self.tell, send=hub.send
        )
        self.pilot.route = self._route
        self._offboard = Offboard(
            hub,
            vehicle,
            is_ours=is_ours,
            is_flying=lambda: self.pilot.is_client_flying,
            tell=self.tell,
        )
        self.pilot.is_offboard_heard = lambda: self._offboard.is_heard
        self.pilot.on_offboard = self._offboard.begin
        self._streams = Streams(hub, vehicle)
        Commands(
            hub,
            vehicle,
            self.pilot,
            self._route,
            self._streams,
            is_ours=is_ours,
            tell=self.tell,
            heartbeat=self.heartbeat,
        )
        Signing(hub, vehicle, is_ours=is_ours, tell=self.tell)
        self._told = self._condition()
        hub.on("TIMESYNC", self._on_timesync)
        hub.on("SET_MODE", self._on_set_mode)
        hub.every(HEARTBEAT_NS, lambda _: self._beat())

    def step(self) -> None:
        self._stepped_ns = self._hub.now_ns()
        self.pilot.step()
        self._parameters.step()
        condition = self._condition()
        if condition != self._told:
            self._tell_news(self._told, condition)
            self._told = condition
            # A change doesn't wait for the next second. That it is down comes before that it is
            # disarmed, as from PX4, which waits in between: disarmed in the air is a disaster.
            self._hub.send(extended_sys_state(self._vehicle))
            self._hub.send(self.heartbeat())
        self._streams.step(self._vehicle.now_ns)

    def heartbeat(self) -> Message:
        vehicle = self._vehicle
        base = modes.CUSTOM_MODE_FLAG | _GUIDED | (modes.ARMED_FLAG if vehicle.armed else 0)
        state = dialect.MAV_STATE_ACTIVE if vehicle.armed else dialect.MAV_STATE_STANDBY
        if vehicle.killed:
            state = dialect.MAV_STATE_FLIGHT_TERMINATION
        elif vehicle.armed and vehicle.failsafe is not Failsafe.NONE:
            state = dialect.MAV_STATE_CRITICAL
        return dialect.MAVLink_heartbeat_message(
            vehicle_type(len(vehicle.airframe.rotors)),
            dialect.MAV_AUTOPILOT_PX4,
            base,
            modes.mode_named(self.pilot.mode).custom_mode,
            state,
            3,
        )

    def tell(self, text: str, severity: int = dialect.MAV_SEVERITY_WARNING) -> None:
        """As STATUSTEXT, in as many pieces as it takes."""
        _log.info(text)
        raw = text.encode("utf-8")
        pieces = [raw[at : at + TEXT_BYTES] for at in range(0, len(raw), TEXT_BYTES)]
        number = next(self._text_numbers) & 0xFFFF if len(pieces) > 1 else 0
        for place, piece in enumerate(pieces[:255]):
            self._hub.send(dialect.MAVLink_statustext_message(severity, piece, number, place))

    def _beat(self) -> None:
        self._hub.send(self.heartbeat())
        self._route.tell_current()

    def _condition(self) -> tuple[str, bool, Failsafe, bool]:
        vehicle = self._vehicle
        return self.pilot.mode, vehicle.armed, vehicle.failsafe, vehicle.on_ground

    def _tell_news(
        self,
        before: tuple[str, bool, Failsafe, bool],
        now: tuple[str, bool, Failsafe, bool],
    ) -> None:
        info = dialect.MAV_SEVERITY_INFO
        if now[2] is not before[2] and now[2] is not Failsafe.NONE:
            text = f"Failsafe {now[2].name}: {now[0] if now[1] else 'disarmed'}"
            self.tell(text, dialect.MAV_SEVERITY_CRITICAL)
        if now[3] != before[3]:
            self.tell("Landing detected" if now[3] else "Takeoff detected", info)
        if now[1] != before[1]:
            self.tell("Armed" if now[1] else "Disarmed", info)

    def _on_timesync(self, received: Received) -> None:
        message = received.message
        if message.tc1 == 0:
            answer = dialect.MAVLink_timesync_message(self._boot_ns(), message.ts1)
            self._hub.send(answer, received.link)

    def _boot_ns(self) -> int:
        """Simulated time goes in steps; what time it is between them is told to the clock's own
        fineness. Never 0, which would be a question.
        """
        since_ns = round((self._hub.now_ns() - self._stepped_ns) * self._speed)
        return max(self._vehicle.now_ns + min(since_ns, self._vehicle.period_ns), 1)

    def _on_set_mode(self, received: Received) -> None:
        """The old way, which has no answer."""
        message = received.message
        if message.target_system != self._hub.system:
            return
        name = modes.name_of(message.custom_mode)
        if refusal := self.pilot.choose(name):
            self.tell(f"{name} denied: {refusal}")

    def _is_ours(self, system: int, component: int) -> bool:
        return system in (0, self._hub.system) and component in (0, COMPONENT)
