"""What was applied lies inside the envelope, by geometry of its own and not by the gate's word."""

import math
from typing import Any

from ghost.core.errors import FrameError
from ghost.core.rotations import tilt_of
from ghost.hal import (
    AttitudeCommand,
    BodyRateCommand,
    PositionCommand,
    SafetyEnvelope,
    TrajectoryCommand,
    VehicleState,
    VelocityCommand,
)
from ghost.verify.reading import ACK, STATE
from ghost.verify.terms import Terms
from ghost.verify.verdict import Heard, Offences, Verdict, skipped

_ROUNDING = 1e-6
_SLACK_M = 0.1
"""A gate knows where the vehicle is at that moment, the log where it last said so."""


class Limits:
    """Fence and altitude band for where a command leads, and limits for how fast and how steep."""

    name = "envelope"

    def __init__(self, terms: Terms) -> None:
        self._envelope = terms.envelope
        self._offences = Offences()
        self._state: VehicleState | None = None
        self._count = 0
        self._fastest_mps = 0.0
        self._heights_m: tuple[float, float] | None = None

    def wants(self, channel: str) -> bool:
        return channel in (ACK, STATE)

    def hear(self, heard: Heard) -> None:
        if heard.channel == STATE:
            self._state = heard.message
            return
        applied = heard.message.applied
        if not heard.message.accepted or applied is None:
            return
        self._count += 1
        if self._envelope is None:
            self._offences.add(heard, "accepted, and the manifest has no envelope to judge it by")
            return
        try:
            wrong = _too_much(applied, self._envelope) or self._outside(applied, self._envelope)
        except (AttributeError, FrameError, TypeError, ValueError):
            return  # what isn't made of numbers is judged as such
        if wrong:
            self._offences.add(heard, wrong)

    def verdict(self) -> Verdict:
        if not self._count:
            return skipped(self.name, "no command was accepted")
        figure = f"{self._count} applied, up to {self._fastest_mps:.2f} m/s"
        if self._heights_m is not None:
            figure += f", {self._heights_m[0]:.2f} to {self._heights_m[1]:.2f} m high"
        return self._offences.verdict(self.name, figure)

    def _outside(self, command: Any, envelope: SafetyEnvelope) -> str:
        if isinstance(command, VelocityCommand | TrajectoryCommand):
            speed_mps = math.hypot(*command.velocity_enu_mps.tolist())
            self._fastest_mps = max(self._fastest_mps, speed_mps)
        if isinstance(command, PositionCommand | TrajectoryCommand):
            target_m = command.position_enu_m.tolist()
            low_m, high_m = self._heights_m or (target_m[2], target_m[2])
            self._heights_m = min(low_m, target_m[2]), max(high_m, target_m[2])
            return _beyond(envelope, target_m, None, _ROUNDING)
        state = self._state
        if not isinstance(command, VelocityCommand) or state is None:
            return ""
        here_m = state.position_enu_m.tolist()
        ahead_s = envelope.lookahead_ns / 1e9
        target_m = [
            here + ahead_s * speed
            for here, speed in zip(here_m, command.velocity_enu_mps.tolist(), strict=True)
        ]
        since_s = max(command.stamp_ns - state.stamp_ns, 0) / 1e9
        slack_m = _SLACK_M + since_s * math.hypot(*state.velocity_enu_mps.tolist())
        return _beyond(envelope, target_m, here_m, slack_m)


def _beyond(
    envelope: SafetyEnvelope, target_m: list[float], here_m: list[float] | None, slack_m: float
) -> str:
    """How a target lies outside, if it does not lead back from further out."""
    outside_m = envelope.outside_fence_m(target_m[0], target_m[1])
    now_m = envelope.outside_fence_m(here_m[0], here_m[1]) if here_m else 0.0
    if outside_m > slack_m and outside_m > now_m + (slack_m if here_m else 0.0):
        return f"leads {outside_m:.2f} m outside the fence"
    height_m = _off_band_m(envelope, target_m[2])
    now_m = _off_band_m(envelope, here_m[2]) if here_m else 0.0
    if height_m > slack_m and height_m > now_m + (slack_m if here_m else 0.0):
        band = f"{envelope.min_altitude_m:g} to {envelope.max_altitude_m:g} m"
        return f"leads to {target_m[2]:.2f} m; the band is {band}"
    return ""


def _off_band_m(envelope: SafetyEnvelope, altitude_m: float) -> float:
    return max(envelope.min_altitude_m - altitude_m, altitude_m - envelope.max_altitude_m, 0.0)


def _too_much(command: Any, envelope: SafetyEnvelope) -> str:
    checks: list[tuple[str, float, float, str]] = []
    if isinstance(command, VelocityCommand | TrajectoryCommand):
        east, north, up = command.velocity_enu_mps.tolist()
        checks.append(("speed", math.hypot(east, north), envelope.max_speed_mps, "m/s"))
        checks.append(("climb", abs(up), envelope.max_climb_mps, "m/s"))
    if isinstance(command, AttitudeCommand):
        checks.append(("tilt", tilt_of(command.attitude), envelope.max_tilt_rad, "rad"))
    if isinstance(command, BodyRateCommand):
        quickest = max(abs(rate) for rate in command.rate_flu_rps.tolist())
        checks.append(("rate", quickest, envelope.max_rate_rps, "rad/s"))
    if isinstance(command, AttitudeCommand | VelocityCommand | TrajectoryCommand):
        rate_rps = abs(command.yaw_rate_rps)
        checks.append(("yaw rate", rate_rps, envelope.max_rate_rps, "rad/s"))
    for what, found, limit, unit in checks:
        if found > limit * (1.0 + _ROUNDING):
            return f"{what} of {found:.3f} {unit}; the limit is {limit:.3f}"
    return ""
