"""How a mission ended, and how long its runner waits for what."""

from dataclasses import dataclass
from enum import IntEnum


class Result(IntEnum):
    """COMPLETED: every step done. ABORTED: given up, and the flight controller brings it down.
    INTERRUPTED: somebody else flies now. FAILED: it could not start, or not be brought down.
    """

    RUNNING = 1
    COMPLETED = 2
    ABORTED = 3
    INTERRUPTED = 4
    FAILED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    result: Result
    reason: str = ""

    @property
    def over(self) -> bool:
        return self.result is not Result.RUNNING


@dataclass(frozen=True, slots=True)
class Patience:
    """ready: until the vehicle may be armed. request: for a request that is refused, asked again
    every retry. mode: until an accepted mode shows in the status. estimate: with one that is not
    GOOD. status: without one. disarm: on the ground, until told to. landed: disarmed in a landing,
    until it is told to be on the ground. late: for a waypoint after its time. stop: until it hangs
    still, before it is brought down. held: in a hold that the take-off did not ask for.
    """

    period_ns: int = 20_000_000
    ready_ns: int = 30_000_000_000
    request_ns: int = 5_000_000_000
    retry_ns: int = 500_000_000
    mode_ns: int = 3_000_000_000
    estimate_ns: int = 1_000_000_000
    status_ns: int = 2_000_000_000
    disarm_ns: int = 3_000_000_000
    landed_ns: int = 1_000_000_000
    late_ns: int = 3_000_000_000
    stop_ns: int = 5_000_000_000
    held_ns: int = 1_000_000_000
    refusals: int = 10
