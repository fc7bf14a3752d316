"""What became of the measurements. A ledger belongs to a moment and is rewound with it, so late
measurements leave the same books as punctual ones.
"""

from dataclasses import dataclass


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

    def with_outcome(self, kind: int, stamp_ns: int, nis: float) -> "Ledger":
        """A nis below 0 is that of a measurement that the gate refused; kind 0 is GPS."""
        before = self.tallies[kind]
        if nis >= 0.0:
            tally = Tally(before.accepted + 1, before.rejected, before.nis_total + nis)
        else:
            tally = Tally(before.accepted, before.rejected + 1, before.nis_total)
        first, second, third, fourth = self.tallies
        if kind == 1:
            second = tally
        elif kind == 2:
            third = tally
        elif kind == 3:
            fourth = tally
        else:
            first = tally
        accepted_ns, refused = self.gps_accepted_ns, self.gps_refused
        ranged_ns = self.rangefinder_accepted_ns
        since_ns = self.gps_refused_since_ns
        if kind == 0 and nis >= 0.0:
            accepted_ns, refused = stamp_ns, 0
        elif kind == 3 and nis >= 0.0:
            ranged_ns = stamp_ns
        elif kind == 0:
            since_ns = since_ns if refused else stamp_ns
            refused += 1
        tallies = (first, second, third, fourth)
        return Ledger(tallies, accepted_ns, ranged_ns, refused, since_ns, self.gps_resets)
