"""A trajectory: where to be, how fast and facing where, at every nanosecond of its duration."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field

from ghost.core.errors import ConfigError
from ghost.planning.vectors import ZERO, Vector

Quintic = tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    position_enu_m: Vector
    velocity_enu_mps: Vector
    acceleration_enu_mps2: Vector
    yaw_rad: float
    yaw_rate_rps: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A quintic per axis in the share of the piece that is over, from 0 to 1.

    rate_hz is one over the exact duration; only start_ns is rounded. With durations rounded to
    nanoseconds, the joints of very short pieces would break.
    """

    start_ns: int
    rate_hz: float
    axes: tuple[Quintic, Quintic, Quintic]

    def at(self, share: float) -> tuple[Vector, Vector, Vector]:
        """Position, velocity and acceleration."""
        (ep, ev, ea), (np, nv, na), (up, uv, ua) = (
            _evaluate(axis, share, self.rate_hz) for axis in self.axes
        )
        return (ep, np, up), (ev, nv, uv), (ea, na, ua)


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of yaw, slow at both ends, fastest in the middle."""

    start_ns: int
    duration_ns: int
    from_rad: float
    by_rad: float

    def at(self, at_ns: int) -> tuple[float, float]:
        """Yaw and yaw rate."""
        share = min(max((at_ns - self.start_ns) / self.duration_ns, 0.0), 1.0)
        yaw_rad = self.from_rad + self.by_rad * share * share * (3.0 - 2.0 * share)
        rate_hz = 1e9 / self.duration_ns
        return yaw_rad, self.by_rad * 6.0 * share * (1.0 - share) * rate_hz


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Pieces and turns in order of time. Before its begin it stands at its start; after its end,
    at rest where it ended. waypoint_ns is when it passes each waypoint that it was planned for.
    """

    duration_ns: int
    pieces: tuple[Piece, ...]
    turns: tuple[Turn, ...]
    waypoint_ns: tuple[int, ...] = ()
    _piece_ns: tuple[int, ...] = field(init=False, repr=False)
    _turn_ns: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.pieces or not self.turns:
            raise ConfigError("a trajectory needs a piece and a turn, if only to stand still")
        object.__setattr__(self, "_piece_ns", tuple(piece.start_ns for piece in self.pieces))
        object.__setattr__(self, "_turn_ns", tuple(turn.start_ns for turn in self.turns))

    def sample(self, at_ns: int) -> TrajectoryPoint:
        piece = self.pieces[max(bisect_right(self._piece_ns, at_ns) - 1, 0)]
        share = (at_ns - piece.start_ns) * 1e-9 * piece.rate_hz
        position, velocity, acceleration = piece.at(min(max(share, 0.0), 1.0))
        if at_ns >= self.duration_ns:
            velocity = acceleration = ZERO
        turn = self.turns[max(bisect_right(self._turn_ns, at_ns) - 1, 0)]
        yaw_rad, yaw_rate_rps = turn.at(at_ns)
        return TrajectoryPoint(position, velocity, acceleration, wrapped(yaw_rad), yaw_rate_rps)


def quintic(
    start_m: float, start_mps: float, end_mps: float, by_m: float, rate_hz: float
) -> Quintic:
    """From one position and velocity to another, with no acceleration at either end."""
    first, last = start_mps / rate_hz, end_mps / rate_hz
    return (
        start_m,
        first,
        0.0,
        10.0 * by_m - 6.0 * first - 4.0 * last,
        -15.0 * by_m + 8.0 * first + 7.0 * last,
        6.0 * by_m - 3.0 * first - 3.0 * last,
    )


def wrapped(angle_rad: float) -> float:
    """From -pi to pi."""
    return angle_rad - 2.0 * math.pi * math.floor(angle_rad / (2.0 * math.pi) + 0.5)


def _evaluate(axis: Quintic, share: float, rate_hz: float) -> tuple[float, float, float]:
    c0, c1, c2, c3, c4, c5 = axis
    position = ((((c5 * share + c4) * share + c3) * share + c2) * share + c1) * share + c0
    slope = (((5.0 * c5 * share + 4.0 * c4) * share + 3.0 * c3) * share + 2.0 * c2) * share + c1
    bend = ((20.0 * c5 * share + 12.0 * c4) * share + 6.0 * c3) * share + 2.0 * c2
    return position, slope * rate_hz, bend * rate_hz * rate_hz
