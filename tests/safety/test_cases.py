"""A few of the safety cases, so that a change that breaks them is seen before `make hil` is."""

from pathlib import Path

import pytest

from hil import cases
from hil.case import CASES
from hil.session import Session, Terms
from hil.verdict import Outcome

__all__ = ["cases"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    ["control loop stops", "link is deaf to the vehicle", "start with the wrong firmware"],
)
def test_it_holds(name: str, tmp_path: Path) -> None:
    session = Session(Terms("embedded", tmp_path / "session", allow_arming=True))
    (verdict,) = session.run([CASES[name]])
    assert verdict.outcome is Outcome.PASS, verdict.line
