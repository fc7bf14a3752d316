"""What became of the measurements. A ledger belongs to a moment and is rewound with it, so late
measurements leave the same books as punctual ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Tally:
    """nis_total sums the normalised innovation squared of what was accepted."""

    accepted: int = 0
    rejected: int = 0
    nis_total: float = 0.0


_EMPTY = Tally()


@dataclass(frozen=True, slots=True)
class Ledger:
    """A tally per kind of measurement. gps_refused counts fixes refused in a row, the first of
    them at gps_refused_since_ns.
    """

    tallies: tuple[Tally, Tally, Tally, Tally] = (_EMPTY, _EMPTY, _EMPTY, _EMPTY)
    gps_accepted_ns: int = 0
    rangefinder_accepted_ns: int = 0
    gps_refused: int = 0
    gps_refused_since_ns: int = 0
    gps_resets: int = 0

    @property
    def gps(self) -> Tally:
        return self.tallies[0]

    @property
    def magnetometer(self) -> Tally:
        return self.tallies[1]

    @property
    def barometer(self) -> Tally:
        return self.tallies[2]

    @property
    def rangefinder(self) -> Tally:
        return self.tallies[3]

    @classmethod
    def read(cls, counts: Sequence[int], nis: Sequence[float]) -> Self:
        """From a Track's books."""
        first, second, third, fourth = (
            Tally(int(counts[kind]), int(counts[4 + kind]), float(nis[kind])) for kind in range(4)
        )
        return cls((first, second, third, fourth), *(int(count) for count in counts[8:]))
