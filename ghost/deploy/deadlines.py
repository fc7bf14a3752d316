"""Deadlines of a loop that were missed, told at most once a second."""

TELL_NS = 1_000_000_000


class Deadlines:
    def __init__(self, period_ns: int) -> None:
        self.missed = 0
        self.worst_ns = 0
        self._period_ns = period_ns
        self._untold = 0
        self._untold_worst_ns = 0
        self._told_ns: int | None = None

    def judge(self, due_ns: int, now_ns: int) -> int:
        """How long to leave out: whole periods, so that a late cycle doesn't make the next ones
        late.
        """
        late_ns = now_ns - due_ns
        missed = max(late_ns, 0) // self._period_ns
        if missed:
            self.missed += missed
            self.worst_ns = max(self.worst_ns, late_ns)
            self._untold += missed
            self._untold_worst_ns = max(self._untold_worst_ns, late_ns)
        return missed * self._period_ns

    def take_news(self, now_ns: int) -> str:
        """Empty when there are none, or when the last ones are less than a second old."""
        if not self._untold or (self._told_ns is not None and now_ns - self._told_ns < TELL_NS):
            return ""
        text = _said(self._untold, self._untold_worst_ns)
        self._told_ns, self._untold, self._untold_worst_ns = now_ns, 0, 0
        return text

    def __str__(self) -> str:
        return _said(self.missed, self.worst_ns)


def _said(missed: int, worst_ns: int) -> str:
    cycles = "1 cycle" if missed == 1 else f"{missed} cycles"
    return f"{cycles} missed, the worst {worst_ns / 1e6:.1f} ms late"
