"""One vehicle's plugin over UDP: a frame there, a state back, and no step that wasn't asked for.

A plugin in lockstep takes a step per frame and answers with its state. It takes a frame that it
has had for a repetition and answers with the same state, so asking again is safe whichever of the
two got lost. When it hears nothing for 60 ms it repeats its state by itself; such a state is as old
as the one we have, and is passed over.
"""

import socket
import time
from collections.abc import Sequence

from ghost.core.errors import ConfigError, StalledError
from ghost.simulation.gazebo.protocol import (
    FRAME_COUNTS,
    GazeboError,
    State,
    decode_state,
    encode_servos,
)
from ghost.simulation.gazebo.server import Server

ASK_AGAIN_NS = 100_000_000
_REORDERED_STEPS = 8
"""How much older than ours a state may be and still be one that a network delayed."""
_LONGEST_DATAGRAM = 65_536
_SILENCE = "not a word"
_WAY_OUT = (
    "start Gazebo with ArduPilot's plugin on that port, don't pause it, and start it again to fly "
    "fewer vehicles than it has flown (docs/gazebo.md)"
)


class Link:
    """step_ns is None until it is known how long the server's steps are."""

    def __init__(self, server: Server, vehicle: int) -> None:
        self.vehicle = vehicle
        self.state: State | None = None
        self.step_ns: int | None = None
        port = server.port_of(vehicle)
        self.where = f"{server.host}:{port}"
        self._channels = server.channels
        self.frame_count = 0
        self._packet = b""
        self._trouble = _SILENCE
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.connect((server.host, port))
        except OSError as error:
            self._socket.close()
            raise ConfigError(f"Gazebo can't be at {self.where}: {error}") from error

    def close(self) -> None:
        self._socket.close()

    def post(self, pulses_us: Sequence[int]) -> None:
        """A new frame, which is a step."""
        self.frame_count = (self.frame_count + 1) % FRAME_COUNTS
        self._trouble = _SILENCE
        rate_hz = 0 if self.step_ns is None else min(round(1e9 / self.step_ns), 65535)
        self._packet = encode_servos(self._channels, rate_hz, self.frame_count, pulses_us)
        self.repeat()

    def repeat(self) -> None:
        """The same frame, in case that it or its answer was lost."""
        try:
            self._socket.send(self._packet)
        except OSError as error:  # perhaps the server is only just starting
            self._trouble = error.strerror or str(error)

    def hear(self, until_ns: int) -> State | None:
        """The next state that isn't one we have had, or None when there is none by then."""
        while True:
            left_ns = max(until_ns - wall_ns(), 0)
            self._socket.settimeout(left_ns / 1e9)
            try:
                datagram = self._socket.recv(_LONGEST_DATAGRAM)
            except (TimeoutError, BlockingIOError):
                return None
            except OSError as error:
                self._trouble = error.strerror or str(error)
                continue
            if (state := self._news(datagram)) is not None:
                self.state = state
                return state
            if left_ns == 0:
                return None

    def stalled(self, timeout_ns: int) -> StalledError:
        """What to raise when the time is over."""
        waited = f"within {timeout_ns / 1e9:g} s ({self._trouble})"
        if self.state is None:
            return StalledError(f"Gazebo at {self.where} does not answer {waited}; {_WAY_OUT}")
        return StalledError(
            f"Gazebo at {self.where} took no step after {self.state.time_ns / 1e9:g} s of its time "
            f"{waited}: frame {self.frame_count} of vehicle {self.vehicle} has no new state; it "
            "is paused, gone, or waits for another vehicle"
        )

    def _news(self, datagram: bytes) -> State | None:
        if not datagram:  # before its IMU has measured anything, the plugin has no state
            self._trouble = "only empty answers: the model's IMU is silent; check its imuName"
            return None
        try:
            state = decode_state(datagram)
        except GazeboError as error:
            raise GazeboError(f"Gazebo at {self.where}: {error}") from None
        if state.has_lockstep is False:
            raise ConfigError(
                f"Gazebo at {self.where} doesn't wait for us; set <lock_step>1</lock_step> in the "
                "model's ArduPilotPlugin"
            )
        return state if self._is_new(state) else None

    def _is_new(self, state: State) -> bool:
        if self.state is None:
            return True
        passed_ns = state.time_ns - self.state.time_ns
        if passed_ns == 0:
            self._trouble = "it repeats the state that we have"
            return False
        if self.step_ns is None:
            return True
        if -_REORDERED_STEPS * self.step_ns <= passed_ns < 0:
            return False
        if passed_ns != self.step_ns:
            raise GazeboError(
                f"Gazebo at {self.where} went from {self.state.time_ns / 1e9:g} s to "
                f"{state.time_ns / 1e9:g} s in frame {self.frame_count}, expected one step of "
                f"{self.step_ns / 1e6:g} ms: it was started again, or somebody else flies the "
                "vehicle, too; begin a new run"
            )
        return True


def meet(links: Sequence[Link], pulses_us: Sequence[Sequence[int]], timeout_ns: int) -> None:
    """Until all have answered the same round, and it is known how long a step is.

    Before its first frame a plugin doesn't hold the simulation up, so that in one server with
    several plugins the first may be a few steps ahead of the rest. One that has answered gets new
    frames, or nobody would move; one that hasn't gets the same again.
    """
    end_ns = wall_ns() + timeout_ns
    for link, pulses in zip(links, pulses_us, strict=True):
        link.post(pulses)
    while True:
        until_ns = min(wall_ns() + ASK_AGAIN_NS, end_ns)
        answers = [link.hear(until_ns) for link in links]
        if None not in answers:
            break
        if wall_ns() >= end_ns:
            raise links[answers.index(None)].stalled(timeout_ns)
        for link, pulses, answer in zip(links, pulses_us, answers, strict=True):
            if answer is None:
                link.repeat()
            else:
                link.post(pulses)
    before_ns = [answer.time_ns for answer in answers if answer is not None]
    for link, pulses in zip(links, pulses_us, strict=True):
        link.post(pulses)
    for link, was_ns, now in zip(links, before_ns, gather(links, timeout_ns), strict=True):
        link.step_ns = now.time_ns - was_ns
        if link.step_ns <= 0:
            raise GazeboError(f"Gazebo at {link.where} was started again; begin a new run")


def gather(links: Sequence[Link], timeout_ns: int) -> list[State]:
    """The states that follow from the frames just posted. All that wait are asked again together,
    because one server takes its step only when it has heard from every vehicle.
    """
    answers: list[State | None] = [None] * len(links)
    end_ns = wall_ns() + timeout_ns
    while True:
        until_ns = min(wall_ns() + ASK_AGAIN_NS, end_ns)
        for index, link in enumerate(links):
            if answers[index] is None:
                answers[index] = link.hear(until_ns)
        found = [answer for answer in answers if answer is not None]
        if len(found) == len(links):
            return found
        if wall_ns() >= end_ns:
            raise links[answers.index(None)].stalled(timeout_ns)
        for link, answer in zip(links, answers, strict=True):
            if answer is None:
                link.repeat()


def wall_ns() -> int:
    return time.monotonic_ns()  # determinism: allow GD101 time-outs of another process
