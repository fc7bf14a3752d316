"""What became of the measurements. A ledger belongs to a moment and is rewound with it, so late
measurements leave the same books as punctual ones.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tally:
    """nis_total sums the normalised innovation squared of what was accepted."""

    accepted: int = 0
    rejected: int = 0
    nis_total: float = 0.0


@dataclass(frozen=True, slots=True)
class Ledger:
    """gps_refused counts fixes refused in a row, the first of them at gps_refused_since_ns."""

    gps: Tally = Tally()
    magnetometer: Tally = Tally()
    barometer: Tally = Tally()
    rangefinder: Tally = Tally()
    gps_accepted_ns: int = 0
    gps_refused: int = 0
    gps_refused_since_ns: int = 0
    gps_resets: int = 0

    def with_outcome(self, sensor: str, stamp_ns: int, nis: float) -> "Ledger":
        """A nis below 0 is that of a measurement that the gate refused."""
        tally: Tally = getattr(self, sensor)
        if nis >= 0.0:
            tally = Tally(tally.accepted + 1, tally.rejected, tally.nis_total + nis)
        else:
            tally = Tally(tally.accepted, tally.rejected + 1, tally.nis_total)
        if sensor != "gps":
            return replace(self, **{sensor: tally})  # type: ignore[arg-type]  # a Tally's field
        if nis >= 0.0:
            return replace(self, gps=tally, gps_accepted_ns=stamp_ns, gps_refused=0)
        since_ns = self.gps_refused_since_ns if self.gps_refused else stamp_ns
        return replace(
            self, gps=tally, gps_refused=self.gps_refused + 1, gps_refused_since_ns=since_ns
        )
