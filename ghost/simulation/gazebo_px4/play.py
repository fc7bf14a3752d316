"""One run: a PX4 in its simulation, from its start to its end."""

import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub, Received
from firmware_bridge.messages import dialect
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Vehicle
from ghost.core.errors import LinkError, RefusedError, StalledError
from ghost.core.frames import Geodetic, LocalFrame
from ghost.hal import GroundTruth, SafetyEnvelope
from ghost.hardware.run import ANSWER_NS, Run, Terms
from ghost.px4 import Px4Process
from ghost.simulation.adapter import VehicleSetup
from ghost.simulation.gazebo_px4 import truth
from ghost.simulation.gazebo_px4.clock import FollowingClock
from ghost.simulation.gazebo_px4.instance import free_instance
from ghost.simulation.gazebo_px4.model import model_environment
from ghost.simulation.gazebo_px4.settings import Physics, Settings
from ghost.simulation.gazebo_px4.stage import Stage

BOOT_S = 90.0
"""Gazebo may take most of it on a slow machine."""
FIND_NS = 10_000_000_000
ORIGIN_NS = 20_000_000_000
ASK_NS = 500_000_000
LOST_NS = 5_000_000_000
"""Of the wall clock."""
UNUSED = ("ATTITUDE", "ATTITUDE_QUATERNION", "LOCAL_POSITION_NED")
"""What PX4 streams most of and nobody here reads: a third of all, and its time goes faster."""
_LOOK_S = 0.05
_SAME_DEG7 = 2


@dataclass(frozen=True, slots=True)
class Script:
    """What is the same for every run of a backend."""

    stage: Stage
    model: str
    settings: Settings
    vehicle: VehicleSetup
    envelope: SafetyEnvelope


class Play:
    """Is there when it is made, and reports its estimate; arming may take some seconds more."""

    def __init__(self, script: Script, origin: Geodetic) -> None:
        stage, settings, vehicle = script.stage, script.settings, script.vehicle
        self.truth: GroundTruth | None = None
        self._place = LocalFrame(origin)
        self._rotor_count = len(vehicle.airframe.rotors)
        self._is_calm = stage.physics is Physics.SIH
        instance = free_instance(settings.instance)
        environment = model_environment(stage, script.model, settings.world, vehicle, self._place)
        environment |= {
            "PX4_SIM_SPEED_FACTOR": f"{settings.speed:g}",
            # Other Gazebos, here or elsewhere in the network, are none of ours.
            "GZ_PARTITION": f"ghost-px4-{instance.number}",
            "GZ_IP": "127.0.0.1",
        }
        with ExitStack() as held:
            folder = settings.folder
            if folder is None:
                kept = tempfile.TemporaryDirectory(prefix="ghost-px4-", ignore_cleanup_errors=True)
                folder = Path(held.enter_context(kept))
            self._process = Px4Process(
                stage.installation, instance, folder / f"px4-{instance.number}", environment
            )
            held.callback(self._process.close)
            self._wait_for_boot()
            self.clock = FollowingClock()
            self._hub = Hub(self.clock.now_ns, system=instance.system, component=ONBOARD_COMPUTER)
            held.callback(self._hub.close)
            self._hub.add(parse_endpoint(f"udpin://127.0.0.1:{instance.offboard_port}"))
            try:
                self.run = self._begin(script, Vehicle(self._hub, system=instance.system))
            except (LinkError, StalledError, RefusedError) as error:
                raise type(error)(f"{error}; {instance}: {self._process.state()}") from None
            self._held = held.pop_all()

    def let_pass(self, dt_ns: int) -> None:
        self._hub.spin(self.clock.now_ns() + dt_ns)
        self._process.refuse_if_ended()
        if self.clock.silence_ns > LOST_NS:
            raise StalledError(
                f"{self._process.instance} has not told its time for {LOST_NS / 1e9:g} s; "
                f"{self._process.state()}"
            )

    def close(self) -> None:
        self._held.close()

    def _begin(self, script: Script, vehicle: Vehicle) -> Run:
        self._hub.on(truth.MESSAGE, self._on_truth)
        self._hub.on("ODOMETRY", lambda heard: self.clock.tell(heard.message.time_usec))
        vehicle.find(FIND_NS)
        with suppress(RefusedError):  # a PX4 without: no ground truth then
            vehicle.set_interval(truth.MESSAGE, truth.RATE_HZ)
        for name in UNUSED:
            with suppress(RefusedError):
                vehicle.set_interval(name, 0.0)
        self._set_origin(vehicle)
        terms = Terms(
            script.envelope,
            self._rotor_count,
            allow_arming=True,
            on_text=lambda *_: None,
            on_change=lambda _: None,
            # As long by the wall clock: PX4 bears a silence as much longer as its time is faster.
            answer_ns=round(ANSWER_NS * max(script.settings.speed, 1.0)),
        )
        return Run(terms, self.clock, vehicle)

    def _set_origin(self, vehicle: Vehicle) -> None:
        """So that PX4's positions are the scenario's: on its own it begins where its GPS first said
        it was.
        """
        origin = self._place.origin
        wanted = (round(origin.latitude_deg * 1e7), round(origin.longitude_deg * 1e7))
        message = dialect.MAVLink_set_gps_global_origin_message(
            vehicle.system or 0, *wanted, round(origin.altitude_m * 1e3), 0
        )
        found: list[tuple[int, int]] = []

        def take(received: Received) -> None:
            if vehicle.is_mine(received):
                found.append((received.message.latitude, received.message.longitude))

        def is_set() -> bool:
            return bool(found) and all(
                abs(one - other) <= _SAME_DEG7 for one, other in zip(found[-1], wanted, strict=True)
            )

        cancel = self._hub.on("GPS_GLOBAL_ORIGIN", take)
        end_ns = self.clock.now_ns() + ORIGIN_NS
        try:
            while not is_set():
                if self.clock.now_ns() >= end_ns:
                    raise StalledError(
                        f"PX4 did not take the scenario's origin in {ORIGIN_NS / 1e9:g} s; it has "
                        f"{found[-1] if found else 'told none'}, expected {wanted}"
                    )
                vehicle.send(message)
                vehicle.ask_for("GPS_GLOBAL_ORIGIN")
                self._hub.spin(self.clock.now_ns() + ASK_NS)
        finally:
            cancel()

    def _on_truth(self, received: Received) -> None:
        message = received.message
        self.clock.tell(message.time_usec)
        self.truth = truth.ground_truth(
            message,
            self.clock.of(message.time_usec),
            self._place,
            self._rotor_count,
            is_calm=self._is_calm,
        )

    def _wait_for_boot(self) -> None:
        end_s = time.monotonic() + BOOT_S
        while not self._process.has_booted:
            self._process.refuse_if_ended()
            if time.monotonic() >= end_s:
                raise StalledError(
                    f"{self._process.instance} was not through its startup script in {BOOT_S:g} s; "
                    f"{self._process.state()}"
                )
            time.sleep(_LOOK_S)
