"""A real PX4 as the firmware of a simulated vehicle, in lockstep: each tick it is given its
sensors, and time stands still until its motors have answered.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from firmware_bridge.frame import Frame
from firmware_bridge.messages import decode_values, dialect, encode, encode_values
from firmware_bridge.modes import ARMED_FLAG
from ghost.core.clock import SystemClock
from ghost.core.errors import LinkError, StalledError
from ghost.core.frames import LocalFrame
from ghost.hal import Sample
from ghost.px4.process import Px4Process
from ghost.sitl.firmware import Seat
from ghost.sitl.px4.ear import Ear
from ghost.sitl.px4.link import SimulatorLink
from ghost.sitl.px4.packets import hil_state
from ghost.sitl.px4.readings import Readings

FloatArray = NDArray[np.float64]

ANSWER_NS = 5_000_000_000
BOOT_NS = 60_000_000_000
PATIENCE_NS = 250_000_000
"""For an answer of a disarmed PX4. It may rightly give none: OFFBOARD, chosen before any set-point
came, stops its outputs (v1.18).
"""
STILL_NS = 100_000_000
"""For an answer of an armed PX4 whose heartbeats are heard. One that has terminated its flight
(v1.18) gives none from then on, and says so with its next heartbeat, for which time has to go on:
meanwhile motors that nothing is said to stand still, as they do behind an ESC.
"""
PACE_NS = 4_000_000
"""For one that gives none: its time then passes about as fast as the wall clock's."""
TRUTH_NS = 20_000_000
"""PX4 asks for every 5 ms of it, and only logs it."""
STILL_PACE_NS = 1_000_000
"""For one that has said that no answer will come."""
COMPONENT = 200

_LOOK_TICKS = 25
_SENSOR = dialect.MAVLINK_MSG_ID_HIL_SENSOR
_CONTROLS = dialect.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS


class Px4Firmware:
    """See Firmware. Without a process of its own it waits for a PX4 that somebody else starts.

    All time-outs are of the wall clock. After an error it is of no use but to be closed.
    """

    def __init__(
        self,
        seat: Seat,
        link: SimulatorLink,
        process: Px4Process | None = None,
        *,
        ear: Ear | None = None,
        answer_ns: int = ANSWER_NS,
        boot_ns: int = BOOT_NS,
    ) -> None:
        self.instance = link.instance
        self.process = process
        self.is_ready = False
        """Whether its startup script is through; without a process, whether it has answered."""
        self._seat = seat
        self._link = link
        self._ear = ear
        self._answer_ns, self._boot_ns = answer_ns, boot_ns
        self._readings = Readings(seat.setup)
        self._place = LocalFrame(seat.scenario.origin)
        self._rotor_count = len(seat.setup.airframe.rotors)
        self._wall_ns = SystemClock().now_ns
        self._sequence = 0
        self._truth_due_ns: int | None = None
        self._given_us = self._answered_us = 0
        self._given_wall_ns = 0
        self._is_excused = False
        self._silent_ns: int | None = None
        """Since when an armed PX4 owes its motors."""
        self._ticks = 0
        self._is_due = False
        self._answers = False
        self._is_armed = False
        self._motors: FloatArray | None = None

    @property
    def tick_ns(self) -> int:
        return self._readings.tick_ns

    @property
    def is_armed(self) -> bool:
        """By its own word, with its newest motors."""
        return self._is_armed

    def give(self, now_ns: int, arrived: Sequence[tuple[str, Sample]]) -> None:
        if not self._link.is_up:
            self._link.accept(self._boot_ns - self._wall_ns(), self._refuse_if_ended)
        self._given_us = now_ns // 1000
        before, sensor, self._is_due = self._readings.told(self._given_us, arrived)
        if self._truth_due_ns is None:  # before its first HIL_SENSOR PX4 has no time
            self._truth_due_ns = now_ns + TRUTH_NS
        elif now_ns >= self._truth_due_ns:
            self._truth_due_ns += TRUTH_NS
            before.append(hil_state(self._given_us, self._seat.truth(), self._place))
        system = self.instance.system
        packets = [
            encode(message, system=system, component=COMPONENT, sequence=self._next())
            for message in before
        ]
        packets.append(
            encode_values(
                _SENSOR, sensor, system=system, component=COMPONENT, sequence=self._next()
            )
        )
        try:
            self._link.send(b"".join(packets), self._answer_ns)
        except LinkError as error:
            raise self._explained(error) from None
        self._given_wall_ns = self._wall_ns()

    def take(self, now_ns: int) -> FloatArray | None:
        """The motors that answer the newest give; None where none are to be expected."""
        self._motors = None
        try:
            while self._answered_us < self._given_us:
                end_ns = self._given_wall_ns + self._patience_ns()
                frames = self._link.receive(end_ns - self._wall_ns())
                for frame in frames:
                    self._hear(frame)
                if not frames and self._wall_ns() >= end_ns:
                    self._give_up(now_ns)
                    break
        except LinkError as error:
            raise self._explained(error) from None
        self._ticks += 1
        if self._ticks % _LOOK_TICKS == 0:
            if self._ear is not None:
                self._ear.may_be_still()  # so that the newest is never behind many
            if not self.is_ready:
                self._watch_boot()
        if self.process is None:
            self.is_ready = self.is_ready or self._answers
        return self._motors

    def close(self) -> None:
        self._link.close()
        if self._ear is not None:
            self._ear.close()
        if self.process is not None:
            self.process.close()

    def _patience_ns(self) -> int:
        if not self._is_due:
            return PACE_NS
        if self._is_armed:
            if self._ear is None:
                return self._answer_ns
            if self._silent_ns is None:
                return STILL_NS
            return STILL_PACE_NS if self._is_excused else PACE_NS
        return PATIENCE_NS if self._answers else PACE_NS

    def _give_up(self, now_ns: int) -> None:
        self._answers = False
        if not (self._is_due and self._is_armed):
            return
        if self._ear is not None:
            self._motors = np.zeros(self._rotor_count)
            if self._silent_ns is None:
                self._silent_ns = self._given_wall_ns
            self._is_excused = self._ear.may_be_still()
            if self._is_excused or self._wall_ns() - self._silent_ns < self._answer_ns:
                return
        raise StalledError(
            f"{self.instance} is armed and gave no motors for {now_ns / 1e9:.3f} s of simulated "
            f"time, waited for {self._answer_ns / 1e9:g} s; its newest are of "
            f"{self._answered_us / 1e6:.3f} s{self._fate()}"
        )

    def _hear(self, frame: Frame) -> None:
        if frame.message_id != _CONTROLS:
            return
        time_us, _, *controls, mode = decode_values(frame)
        self._answered_us = time_us
        self._is_armed = bool(mode & ARMED_FLAG)
        self._answers = True
        self._silent_ns = None
        if time_us >= self._given_us:
            self._motors = _motors(controls[: self._rotor_count])

    def _next(self) -> int:
        self._sequence = (self._sequence + 1) % 256
        return self._sequence

    def _watch_boot(self) -> None:
        if self.process is None:
            return
        self.is_ready = self.process.has_booted
        if not self.is_ready and self._wall_ns() >= self._boot_ns:
            raise StalledError(
                f"{self.instance} was not through its startup script in "
                f"{self._boot_ns / 1e9:g} s{self._fate()}"
            )

    def _refuse_if_ended(self) -> None:
        if self.process is not None:
            self.process.refuse_if_ended()

    def _explained(self, error: LinkError) -> LinkError:
        return LinkError(f"{error}{self._fate()}")

    def _fate(self) -> str:
        return f"; {self.process.state()}" if self.process is not None else ""


def _motors(controls: Sequence[float]) -> FloatArray:
    """PX4 says NaN for a motor that stands still."""
    return np.array([0.0 if math.isnan(one) else min(max(one, 0.0), 1.0) for one in controls])
