"""The loop that keeps simulated time beside the wall clock's."""

from collections.abc import Callable

from firmware_bridge.hub import Hub
from ghost.sitl.face import Face
from ghost.sitl.vehicle import SitlVehicle

MOST_BEHIND_NS = 200_000_000
"""More than this is not made up for: time then runs slower than asked."""


class RealTime:
    def __init__(self, hub: Hub, vehicle: SitlVehicle, face: Face, speed: float = 1.0) -> None:
        self._hub, self._vehicle, self._face = hub, vehicle, face
        self._speed = speed
        self.lost_ns = 0

    def run(self, is_over: Callable[[], bool]) -> None:
        """Until is_over says so, which is asked every few milliseconds."""
        vehicle, now_ns = self._vehicle, self._hub.now_ns
        began_ns = now_ns() - self._wall_ns(vehicle.now_ns)
        while not is_over():
            due_ns = began_ns + self._wall_ns(vehicle.now_ns + vehicle.period_ns)
            behind_ns = now_ns() - due_ns
            if behind_ns < 0:
                self._hub.spin(due_ns)
            elif behind_ns > MOST_BEHIND_NS:
                began_ns += behind_ns
                self.lost_ns += behind_ns
                self._hub.spin(now_ns())
            vehicle.step()
            self._face.step()

    def _wall_ns(self, simulated_ns: int) -> int:
        return round(simulated_ns / self._speed)
