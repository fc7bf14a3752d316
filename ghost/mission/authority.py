"""Whether the mission still has the vehicle. Once it hasn't, it never takes it back."""

from collections.abc import Collection

from ghost.hal import Failsafe, FlightMode, VehicleStatus
from ghost.mission.outcome import Patience

_LANDING = (FlightMode.LAND, FlightMode.RETURN)


class Authority:
    """Knows the modes that the mission asked for; any other is somebody else's."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._modes: tuple[FlightMode, ...] = ()
        self._before: tuple[FlightMode, ...] = ()
        self._expected: tuple[FlightMode, ...] = ()
        self._since_ns = 0
        self._seen = False
        self._disarmed_ns: int | None = None

    @property
    def claimed(self) -> bool:
        return bool(self._modes)

    def claim(self, now_ns: int, modes: Collection[FlightMode], status: VehicleStatus) -> None:
        """From now on one of these modes is ours; until one shows, the ones before still are."""
        self._before = (*self._modes, status.mode)
        self._modes = tuple(modes)
        self._expected = ()
        self._since_ns = now_ns
        self._seen = False
        self._disarmed_ns = None

    def expect(self, modes: Collection[FlightMode], status: VehicleStatus) -> None:
        """These were asked for and not granted. Where it is the answer that was lost, and not the
        order, one of them shows all the same, and is ours.
        """
        self._expected = tuple(mode for mode in modes if mode is not status.mode)

    def expects(self, status: VehicleStatus) -> bool:
        return status.mode in self._expected

    def release(self) -> None:
        self._modes = self._expected = ()

    def lost_to(self, now_ns: int, status: VehicleStatus) -> str:
        """Who or what has the vehicle; empty while the mission has it."""
        if not self.claimed:
            return ""
        if status.killed:
            return "the vehicle was killed"
        if status.failsafe is not Failsafe.NONE:
            return f"failsafe {status.failsafe.name} in mode {status.mode.name}"
        if not status.armed:
            return "" if self._may_have_landed(now_ns) else "the vehicle was disarmed"
        silent_ns = now_ns - status.stamp_ns
        if silent_ns > self._patience.status_ns:
            return f"no status for {silent_ns / 1e9:.1f} s"
        if status.mode in self._modes:
            self._seen = True
            return ""
        if self.expects(status):
            return ""
        waited_ns = now_ns - self._since_ns
        if not self._seen and status.mode in self._before:
            if waited_ns <= self._patience.mode_ns:
                return ""
            names = " or ".join(mode.name for mode in self._modes)
            return f"the mode is still {status.mode.name}, not {names}, {waited_ns / 1e9:.1f} s on"
        return f"the mode was changed to {status.mode.name}"

    def _may_have_landed(self, now_ns: int) -> bool:
        """Disarming ends a landing, and that it stands on the ground is told by another message,
        which may come later.
        """
        if not any(mode in _LANDING for mode in self._modes):
            return False
        if self._disarmed_ns is None:
            self._disarmed_ns = now_ns
        return now_ns - self._disarmed_ns <= self._patience.landed_ns
