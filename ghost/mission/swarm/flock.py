"""Set-points of all who are flown by them, moved together so that nobody comes too near.

What moves is where each is told to be. It is known exactly, while where each is, is not; what they
are apart, and the rule can do something about, is made room for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ghost.mission.swarm.check import CATCH_UP
from ghost.mission.swarm.detours import Detours, Traveller
from ghost.mission.swarm.member import Pilot
from ghost.mission.swarm.parts import Aim, Each, Part, Scene
from ghost.mission.swarm.steps import Defaults
from ghost.planning import TrajectoryPoint, Vector
from ghost.planning.separation import Edge, Mover, Spacing, keep_apart
from ghost.planning.trajectory import wrapped
from ghost.planning.vectors import ZERO, horizontal, length, minus, plus, times

_LATE_M, _TOO_LATE_M = 0.3, 1.5
"""From which lateness on all wait, and from which on they stand."""
_HASTEN_HZ = 0.5
"""How fast the pace of all changes."""
_STILL_MPS = 0.05


class Flock:
    """pace is how fast time in a part passes, as against time."""

    def __init__(
        self, pilots: Mapping[int, Pilot], defaults: Defaults, *, keeps_apart: bool
    ) -> None:
        self.pace = 1.0
        self.at_ns = 0
        self.late_m = 0.0
        self._pilots = pilots
        self._defaults = defaults
        self._keeps_apart = keeps_apart
        self._aims: dict[int, Aim] = {}
        self._detours: Detours | None = None
        fences = (_edges(pilots[number].envelope.geofence_enu_m) for number in sorted(pilots))
        self._fence: tuple[Edge, ...] = tuple(
            dict.fromkeys(edge for edges in fences for edge in edges)
        )

    def scene(self, heading_rad: float) -> Scene:
        """Where those are told to be who are flown."""
        points = {number: self._pilots[number].tools.setpoint for number in self.flown()}
        return Scene(
            {number: point.position_enu_m for number, point in points.items()},
            {number: point.yaw_rad for number, point in points.items()},
            heading_rad,
        )

    def flown(self) -> list[int]:
        return [number for number in sorted(self._pilots) if self._pilots[number].is_flown]

    def begin(self) -> None:
        """A part, from its start."""
        self.at_ns = 0
        self.late_m = 0.0
        self._detours = None

    def advance(self, part: Part | None, speed_mps: float, passed_ns: int) -> None:
        """All set-points, by a period; without a part they come to rest."""
        if passed_ns <= 0:
            return
        numbers = self.flown()
        self.at_ns += round(self.pace * passed_ns)
        self._aims = {number: self._aim(part, number) for number in numbers}
        if isinstance(part, Each) and self._keeps_apart:
            self._detour(part, passed_ns)
        self.late_m = max((aim.late_m for aim in self._aims.values()), default=0.0)
        self._keep_pace(passed_ns)
        spacing = Spacing(
            self._defaults.distance_m,
            max_speed_mps=CATCH_UP * speed_mps,
            max_climb_mps=CATCH_UP * self._defaults.climb_mps,
            max_acceleration_mps2=self._defaults.acceleration_mps2,
            period_ns=passed_ns,
        )
        movers = [self._mover(number) for number in numbers]
        told = self._told(movers, spacing)
        for number, velocity_mps in zip(numbers, told, strict=False):
            self._put(number, velocity_mps, passed_ns)

    def is_still(self) -> bool:
        return all(
            length(self._pilots[number].tools.setpoint.velocity_enu_mps) < _STILL_MPS
            for number in self.flown()
        )

    def _aim(self, part: Part | None, number: int) -> Aim:
        point = self._pilots[number].tools.setpoint
        if part is None:
            return Aim(ZERO, point.yaw_rad)
        return part.aim(number, point.position_enu_m, self.at_ns, self.pace)

    def _detour(self, part: Each, passed_ns: int) -> None:
        """Of who finds its own way, and has stopped."""
        if self._detours is None:
            self._detours = Detours(self._defaults.distance_m, part.speed_mps)
        travellers = {}
        for number, aim in self._aims.items():
            point = self._pilots[number].tools.setpoint
            travellers[number] = Traveller(
                point.position_enu_m,
                point.velocity_enu_mps,
                aim.velocity_enu_mps,
                part.ending.places_enu_m[number],
            )
        for number, wanted_mps in self._detours.wanted(travellers, passed_ns).items():
            self._aims[number] = replace(self._aims[number], velocity_enu_mps=wanted_mps)

    def _keep_pace(self, passed_ns: int) -> None:
        """Who is late is waited for."""
        wanted = (_TOO_LATE_M - self.late_m) / (_TOO_LATE_M - _LATE_M)
        change = _HASTEN_HZ * passed_ns * 1e-9
        self.pace += min(max(min(max(wanted, 0.0), 1.0) - self.pace, -change), change)

    def _mover(self, number: int) -> Mover:
        pilot = self._pilots[number]
        point = pilot.tools.setpoint
        off_m = horizontal(minus(pilot.position_enu_m, point.position_enu_m))
        return Mover(
            point.position_enu_m,
            point.velocity_enu_mps,
            self._aims[number].velocity_enu_mps,
            max(off_m - 0.5 * self._defaults.margin_m, 0.0),
        )

    def _told(self, movers: Sequence[Mover], spacing: Spacing) -> Sequence[Vector]:
        """What they want, as fast as they may change it; and where that is too near, something
        else.
        """
        if not self._keeps_apart:
            return [keep_apart([mover], spacing)[0] for mover in movers]
        return keep_apart([*movers, *self._strangers()], spacing, self._fence)

    def _strangers(self) -> list[Mover]:
        """Those not flown: lost, or landing. Of who is silent, the last that was heard."""
        found = []
        for number in sorted(self._pilots):
            pilot = self._pilots[number]
            if not pilot.is_flown and (pilot.lost or pilot.is_landing):
                is_moving = not pilot.is_silent
                found.append(
                    Mover(
                        pilot.position_enu_m,
                        pilot.velocity_enu_mps if is_moving else ZERO,
                        follows=False,
                    )
                )
        return found

    def _put(self, number: int, velocity_mps: Vector, passed_ns: int) -> None:
        tools, aim = self._pilots[number].tools, self._aims[number]
        seconds = passed_ns * 1e-9
        before = tools.setpoint
        way = times(plus(before.velocity_enu_mps, velocity_mps), 0.5 * seconds)
        gained = minus(velocity_mps, before.velocity_enu_mps)
        tools.setpoint = TrajectoryPoint(
            plus(before.position_enu_m, way),
            velocity_mps,
            times(gained, 1.0 / seconds),
            *_turned(before.yaw_rad, aim, self._defaults, seconds),
        )


def _turned(yaw_rad: float, aim: Aim, defaults: Defaults, seconds: float) -> tuple[float, float]:
    """Towards a yaw, not faster than may be."""
    by_rad = wrapped(aim.yaw_rad - yaw_rad)
    most_rad = defaults.yaw_rate_dps * 0.017453292519943295 * seconds
    if abs(by_rad) <= most_rad:
        return aim.yaw_rad, aim.yaw_rate_rps
    turned_rad = most_rad if by_rad > 0.0 else -most_rad
    return wrapped(yaw_rad + turned_rad), turned_rad / seconds


def _edges(fence: Sequence[tuple[float, float]] | None) -> list[Edge]:
    if fence is None:
        return []
    corners = list(fence)
    return [(*start, *end) for start, end in zip(corners, corners[1:] + corners[:1], strict=True)]
