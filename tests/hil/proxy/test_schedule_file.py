"""Schedules in YAML."""

from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from hil.proxy import (
    Bandwidth,
    Cut,
    Delay,
    Direction,
    Fault,
    Schedule,
    Side,
    Unplug,
    load_schedule,
    read_schedule,
)


def test_a_schedule_is_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "bad_link.yaml"
    path.write_text("""
faults:
  - {kind: cut, at_s: 2.0, duration_s: 0.3, direction: to_vehicle, messages: [SET_POSITION_TARGET*]}
  - {kind: delay, delay_s: 0.2, jitter_s: 0.02, duration_s: 10}
  - {kind: bandwidth, bytes_per_s: 5760, duration_s: 1}
  - {kind: unplug, side: vehicle, at_s: 1, duration_s: 1}
""")
    schedule = load_schedule(path)
    assert schedule == Schedule((
        Fault(
            Cut(), Direction.TO_VEHICLE, ("SET_POSITION_TARGET*",), 2 * 10**9, 300_000_000
        ),
        Fault(Delay(200_000_000, 20_000_000), duration_ns=10**10),
        Fault(Bandwidth(5760), duration_ns=10**9),
        Fault(Unplug(Side.VEHICLE), at_ns=10**9, duration_ns=10**9),
    ))  # fmt: skip
    assert schedule.end_ns == 10**10


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"kind": "lag"}, "expected a kind: cut, loss"),
        ({"kind": "loss"}, r"faults\[0\].probability is missing"),
        ({"kind": "loss", "probability": 20}, "20; expected 0 to 1"),
        ({"kind": "cut", "probability": 0.1}, "unknown key"),
        ({"kind": "cut", "messages": ["HEARTBEET"]}, "no MAVLink message is named 'HEARTBEET'"),
        ({"kind": "cut", "direction": "up"}, "expected to_vehicle or to_unit or both"),
    ],
)
def test_what_makes_no_sense_is_refused(entry: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_schedule({"faults": [entry]})
