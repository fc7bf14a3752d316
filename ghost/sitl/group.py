"""One simulator and the vehicles in it, until the run ends, or the simulator does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghost.core.clock import Clock
from ghost.hal import GroundTruth, Sample
from ghost.simulation.adapter import SimulatorAdapter, World
from ghost.sitl.firmware import Firmware, FloatArray, Seat
from ghost.sitl.registry import Registration
from ghost.sitl.vehicles import Vehicle
from ghost.sitl.worker import Worker

CONNECT_TIMEOUT_NS = 30_000_000_000
DISCONNECT_TIMEOUT_NS = 2_000_000_000


@dataclass(slots=True)
class Flown:
    """A vehicle that flies: its place among those of its simulator, and what flies it."""

    vehicle: Vehicle
    row: int
    group: "Group"
    firmware: Firmware
    lost: str = ""
    """Why it is no more; empty while it is."""

    def arrived(self) -> Sequence[tuple[str, Sample]]:
        return self.group.adapter.receive_sensors(self.row)

    def move(self, motors: FloatArray) -> None:
        self.group.adapter.send_motors(self.row, motors)


class Group:
    def __init__(
        self, entry: Registration, vehicles: Sequence[Vehicle], world: World, clock: Clock
    ) -> None:
        self.name = entry.name
        self.adapter: SimulatorAdapter = entry.adapter
        self.lost = ""
        self._timeout_ns = entry.timeout_ns
        self._vehicles = vehicles
        self._world = world
        self._clock = clock
        self._call: Callable[[], None] = _nothing
        is_watched = not entry.adapter.capabilities.in_process
        self._worker = Worker(f"simulator {entry.name}") if is_watched else None

    def connect(self) -> None:
        self._begin(lambda: self.adapter.connect(self._world))
        self._finish(CONNECT_TIMEOUT_NS, f"connecting to simulator {self.name}")

    def man(self) -> list[Flown]:
        """Put a firmware into each vehicle."""
        manned: list[Flown] = []
        try:
            for row, vehicle in enumerate(self._vehicles):
                manned.append(Flown(vehicle, row, self, vehicle.make_firmware(self._seat(row))))
        except BaseException:
            for flown in manned:
                flown.firmware.close()
            raise
        return manned

    def begin_step(self, dt_ns: int) -> None:
        """Those outside of this process work side by side; finish_step waits for their end."""
        self._begin(lambda: self.adapter.step(dt_ns))

    def finish_step(self) -> None:
        self._finish(self._timeout_ns, f"a step of simulator {self.name}")

    def close(self) -> None:
        """Also when it hangs."""
        if self._worker is None:
            self.adapter.disconnect()
            return
        self._worker.close()
        last = Worker(f"end of simulator {self.name}")  # the other one may hang
        last.begin(self.adapter.disconnect)
        last.close()
        last.finish(DISCONNECT_TIMEOUT_NS, f"letting go of simulator {self.name}")

    def _seat(self, row: int) -> Seat:
        vehicle, adapter = self._vehicles[row], self.adapter

        def truth() -> GroundTruth:
            return adapter.ground_truth(row)

        return Seat(
            vehicle.vehicle_id,
            vehicle.setup,
            self._world.scenario,
            self._clock,
            truth,
            feels_contacts=adapter.capabilities.contacts,
        )

    def _begin(self, call: Callable[[], None]) -> None:
        self._call = call
        if self._worker is not None:
            self._worker.begin(call)

    def _finish(self, timeout_ns: int, what: str) -> None:
        if self._worker is not None:
            self._worker.finish(timeout_ns, what)
        else:
            self._call()


def _nothing() -> None:
    pass
