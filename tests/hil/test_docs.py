"""docs/hil.md has every case, and says what the case says."""

from pathlib import Path

import hil
from hil import cases
from hil.case import CASES

PAGE = (Path(hil.__file__).parents[1] / "docs" / "hil.md").read_text(encoding="utf-8")


def test_the_risk_table_is_whole() -> None:
    assert cases.__all__
    rows = [
        f"| {case.name} | {case.subsystem} | {case.looks_like} | {case.remedy} |"
        for case in CASES.values()
    ]
    told = [line for line in PAGE.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row not in told] == []
