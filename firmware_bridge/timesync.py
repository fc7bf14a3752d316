"""The flight controller's clock, told in run time.

A round trip bounds the offset between two clocks: the flight controller read its clock somewhere
between our sending and our hearing. So each answer is an interval that holds the truth, the
shortest trip gives the narrowest, and an interval widens with its age as the clocks drift.
"""

from collections import deque
from dataclasses import dataclass

from firmware_bridge.hub import Received
from firmware_bridge.messages import dialect
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import StalledError

FAST_NS = 100_000_000
SLOW_NS = 1_000_000_000
FAST_ANSWERS = 20
"""So many are asked for quickly, after the start and after a jump."""
ENOUGH_ANSWERS = 5
WINDOW_NS = 60_000_000_000
STALE_NS = 10_000_000_000
DRIFT_PPM = 100
"""Two crystals part by less."""
RESOLUTION_NS = 1_000
"""PX4 counts microseconds."""
MOST_DRIFT_PPM = 200_000
SLIP_NS = 20_000_000
"""Further off than this is a jump, or nonsense; less is a clock that runs at another speed, as a
simulated one does.
"""
JUMP_ANSWERS = 3
"""One odd answer is nonsense. So many in a row that agree with each other are a jump."""
LOST_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Trip:
    """One question and its answer. offset_ns is run time minus the flight controller's time."""

    offset_ns: int
    round_trip_ns: int
    heard_ns: int

    @property
    def remote_ns(self) -> int:
        """What the flight controller's clock read, half-way through."""
        return self.heard_ns - self.round_trip_ns // 2 - self.offset_ns


class TimeSync:
    """Asks while its hub spins. Also answers the flight controller's own questions."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.resets = 0
        """How often the flight controller's clock jumped."""
        self.restarts = 0
        """How often it went back by that, as it does when it begins anew. A simulation that stood
        still for a while, as on a busy machine, is behind, but its clock never goes back.
        """
        self.jumped_ns = 0
        """How far it went ahead at the newest jump; negative where it fell behind."""
        self.slips = 0
        """How often it ran off by more than drift explained, so that more drift is allowed for."""
        self.drift_ppm = DRIFT_PPM
        self.resolution_ns = RESOLUTION_NS
        self._vehicle = vehicle
        self._hub = vehicle.hub
        self._trips: deque[Trip] = deque()
        self._narrowest: Trip | None = None
        self._odd: list[Trip] = []
        self._asked: deque[int] = deque()
        self._answers = 0
        self._due_ns = 0
        self._cancels = (
            self._hub.on("TIMESYNC", self._on_timesync),
            self._hub.every(FAST_NS, self._tick),
        )

    @property
    def is_synced(self) -> bool:
        """Enough answers since the last jump, and the newest is not old."""
        if self._answers < ENOUGH_ANSWERS:
            return False
        return self._hub.now_ns() - self._trips[-1].heard_ns <= STALE_NS

    @property
    def offset_ns(self) -> int:
        """Run time minus the flight controller's time."""
        return self._best.offset_ns

    @property
    def uncertainty_ns(self) -> int:
        """How far off the offset is at most; it grows while nothing is heard."""
        now_ns = self._hub.now_ns()
        return self._bound_ns(self._best, now_ns)

    def to_run_ns(self, time_usec: int) -> int:
        """A message's time_usec in run time."""
        return time_usec * 1_000 + self.offset_ns

    def boot_ms_to_run_ns(self, time_boot_ms: int) -> int:
        """A message's time_boot_ms in run time: the start of that millisecond."""
        return time_boot_ms * 1_000_000 + self.offset_ns

    def wait(self, within_ns: int = 10_000_000_000) -> None:
        self._hub.spin_until(
            lambda: self.is_synced,
            within_ns=within_ns,
            what=f"waiting for {ENOUGH_ANSWERS} answers to TIMESYNC",
        )

    def close(self) -> None:
        for cancel in self._cancels:
            cancel()

    @property
    def _best(self) -> Trip:
        if self._narrowest is None:
            raise StalledError("the flight controller has not told its time yet; wait for TimeSync")
        return self._narrowest

    def _bound_ns(self, trip: Trip, now_ns: int) -> int:
        """How far off its offset may be by now."""
        drift_ns = abs(now_ns - trip.heard_ns) * self.drift_ppm // 1_000_000
        return (trip.round_trip_ns + 1) // 2 + drift_ns + self.resolution_ns

    def _tick(self, now_ns: int) -> None:
        if self._vehicle.system is None or now_ns < self._due_ns:
            return
        is_calm = self.drift_ppm == DRIFT_PPM and not self._odd
        is_slow = self._answers >= FAST_ANSWERS and is_calm
        # A little less than the period: the timer is never late by less than nothing.
        self._due_ns = now_ns + (SLOW_NS if is_slow else FAST_NS) - FAST_NS // 2
        self._asked.append(sent_ns := self._hub.now_ns())
        while self._asked[0] < now_ns - LOST_NS:
            self._asked.popleft()
        self._vehicle.send(dialect.MAVLink_timesync_message(0, sent_ns))

    def _on_timesync(self, received: Received) -> None:
        message = received.message
        if not self._vehicle.is_mine(received):
            return
        if message.tc1 == 0:
            now_ns = max(self._hub.now_ns(), 1)  # 0 would be a question
            self._vehicle.send(dialect.MAVLink_timesync_message(now_ns, message.ts1))
        elif message.ts1 in self._asked:  # else an answer to somebody else, or a second one
            self._asked.remove(message.ts1)
            self._take(message.tc1, message.ts1, received.at_ns)

    def _take(self, remote_ns: int, sent_ns: int, heard_ns: int) -> None:
        trip = Trip((sent_ns + heard_ns) // 2 - remote_ns, heard_ns - sent_ns, heard_ns)
        if self._trips:
            apart_ns = self._apart_ns(trip)
            if apart_ns > SLIP_NS:
                self._take_odd(trip)
                return
            if apart_ns > 0:
                self._widen(trip, apart_ns)
        self._odd.clear()
        self._keep(trip)

    def _widen(self, trip: Trip, apart_ns: int) -> None:
        """The newest holds the truth, so the older ones no longer do. The clocks run apart, or the
        other one goes in steps: PX4's own simulation takes 4 ms at a time.
        """
        self.slips += 1
        self.resolution_ns = max(self.resolution_ns, apart_ns)
        before = self._trips[-1]
        moved_ns = abs(trip.offset_ns - before.offset_ns)
        moved_ns += (trip.round_trip_ns + before.round_trip_ns) // 2
        seen_ppm = moved_ns * 1_000_000 // max(trip.heard_ns - before.heard_ns, 1) + 1
        self.drift_ppm = min(max(self.drift_ppm, seen_ppm), MOST_DRIFT_PPM)
        self._trips.clear()

    def _take_odd(self, trip: Trip) -> None:
        if self._odd and abs(trip.offset_ns - self._odd[-1].offset_ns) > SLIP_NS:
            self._odd.clear()
        self._odd.append(trip)
        self._due_ns = 0
        if len(self._odd) < JUMP_ANSWERS:
            return
        self.resets += 1
        self.restarts += self._odd[0].remote_ns < self._trips[-1].remote_ns
        self.jumped_ns = self._best.offset_ns - self._odd[-1].offset_ns
        self.drift_ppm, self.resolution_ns = DRIFT_PPM, RESOLUTION_NS
        self._trips.clear()
        self._answers = 0
        for odd in self._odd:
            self._keep(odd)
        self._odd.clear()

    def _keep(self, trip: Trip) -> None:
        self._answers += 1
        self._trips.append(trip)
        while self._trips[0].heard_ns < trip.heard_ns - WINDOW_NS:
            self._trips.popleft()
        # All widen alike, so the narrowest one stays so until the next is kept.
        self._narrowest = min(self._trips, key=lambda one: self._bound_ns(one, trip.heard_ns))

    def _apart_ns(self, trip: Trip) -> int:
        """The gap between what is believed and what this trip allows; none if negative."""
        best = self._best
        allowed_ns = self._bound_ns(best, trip.heard_ns) + self._bound_ns(trip, trip.heard_ns)
        return abs(trip.offset_ns - best.offset_ns) - allowed_ns
