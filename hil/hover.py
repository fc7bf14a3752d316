"""A vehicle that hovers under its unit, watched by the referee and by the simulator itself."""

import time
from dataclasses import dataclass
from typing import Any

from hil.case import check
from hil.record import ABORTED, COMPLETED, INTERRUPTED, check_whole
from hil.referee import Referee
from hil.stage import Stage
from hil.target import Setting, Vehicle
from hil.track import Track
from hil.unit import HOVER, Unit

SOFT_MPS = 2.5
"""A touchdown that legs bear."""
COMPLETES_S, DOWN_S, TOLD_S = 60.0, 60.0, 15.0
"""Limits of what goes on at the machine's pace, and slower where it is busy; the figures tell."""


@dataclass(frozen=True, slots=True)
class Hover:
    """since_s is when it hung still."""

    vehicle: Vehicle
    track: Track
    referee: Referee
    unit: Unit
    since_s: float

    def completes(self, within_s: float = COMPLETES_S) -> None:
        """The mission ends as it was planned to, on the ground at home."""
        code = self.unit.wait(within_s)
        check(code == COMPLETED, f"the unit's exit code is {code}; expected {COMPLETED}")
        check_whole(self.unit.folder)
        check(not self.referee.look().armed, "the unit says completed, and it is armed")

    def comes_down(self, within_s: float = DOWN_S) -> None:
        """Whoever sees to it; and the unit knows that its mission was not flown to its end."""
        self.referee.until(lambda one: not one.armed, within_s=within_s, what="landed, disarmed")
        code = self.unit.wait(DOWN_S)
        check(
            code in (ABORTED, INTERRUPTED),
            f"the unit's exit code is {code}; expected {ABORTED} or {INTERRUPTED}",
        )
        check_whole(self.unit.folder)

    def stayed_within(self, away_m: float, highest_m: float) -> str:
        """Of home and of the ground, since it hung still. The figure."""
        flown = self.track.since(self.since_s)
        check(flown.away_m < away_m, f"it went {flown.away_m:.1f} m away; expected {away_m:g}")
        check(
            flown.highest_m < highest_m,
            f"it went up to {flown.highest_m:.1f} m; expected below {highest_m:g}",
        )
        return f"at most {flown.away_m:.1f} m away"

    def touched_softly(self) -> str:
        speed_mps = self.track.touchdown_mps(self.since_s)
        check(speed_mps < SOFT_MPS, f"touched down at {speed_mps:.1f} m/s; expected {SOFT_MPS:g}")
        return f"down at {speed_mps:.1f} m/s"

    def is_told(self, since_s: float) -> str:
        """The flight controller owns up to a sensor or estimate that can't be believed, and the
        unit hears it. The figure.
        """
        self.referee.until(lambda one: not one.health, within_s=TOLD_S, what="not healthy")
        took_s = time.monotonic() - since_s
        self.unit.until("unhealthy: ", TOLD_S)
        return f"told {took_s:.1f} s on"


def hover(
    stage: Stage,
    *,
    seconds: float = 5.0,
    robot: str = "x500",
    unit_robot: str = "x500",
    **settings: Any,
) -> Hover:
    vehicle = stage.vehicle(Setting(robot=robot, seed=stage.seed))
    track: Track = stage.keep(Track(vehicle))
    referee = stage.referee(vehicle)
    mission = HOVER.format(altitude_m=2.0, seconds=seconds)
    unit = stage.flying(vehicle, mission=mission, robot=unit_robot, **settings)
    return Hover(vehicle, track, referee, unit, time.monotonic())
