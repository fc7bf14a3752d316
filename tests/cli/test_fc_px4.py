"""`ghost fc` with a real PX4."""

import math
import time
from pathlib import Path

import pytest

from firmware_bridge.missions import MissionItem
from firmware_bridge.plan_file import write_plan
from ghost.cli import main
from ghost.core.errors import RefusedError
from ghost.deploy import fc
from tests.px4 import Px4, Start

pytestmark = pytest.mark.slow

TAKEOFF, WAYPOINT, RETURN, CHANGE_SPEED, JUMP = 22, 16, 20, 178, 177
ABSOLUTE, NO_PLACE, RELATIVE = 0, 2, 3
HOME = (473977420, 85455940)
LOG_S, READY_S = 3.0, 40.0


class Bench:
    def __init__(self, px4: Px4, capsys: pytest.CaptureFixture[str]) -> None:
        self.px4 = px4
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str]:
        """The exit code, and what was printed: nothing but one line where it failed."""
        code = main(["fc", *map(str, arguments), "--link", self.px4.url])
        said = self._capsys.readouterr()
        assert said.err.count("\n") == (0 if code == 0 or "diff" in arguments else 1)
        return code, said.out + said.err


def test_parameters_go_there_and_back(
    px4: Start, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench = Bench(px4(), capsys)
    path = tmp_path / "before.params"
    code, told = bench("params", "save", path)
    assert code == 0
    assert int(told.split()[0]) > 500
    assert bench("params", "diff", path) == (0, "")
    _, listed = bench("params", "get", "COM_LOW_BAT_ACT", "MIS_TAKEOFF_ALT")
    (action, kind), (height, other_kind) = (line.split()[1:] for line in listed.splitlines())
    assert (kind, other_kind) == ("int32", "real32")
    set_action = bench("params", "set", "COM_LOW_BAT_ACT", 2)
    assert set_action == (0, f"COM_LOW_BAT_ACT   {action} -> 2\n")
    set_height = bench("params", "set", "MIS_TAKEOFF_ALT", 7.1)
    assert set_height == (0, f"MIS_TAKEOFF_ALT   {height} -> 7.1\n")
    back = f"COM_LOW_BAT_ACT   2 -> {action}\nMIS_TAKEOFF_ALT   7.1 -> {height}\n"
    assert bench("params", "diff", path) == (1, back)
    code, told = bench("params", "load", path)
    assert code == 0
    assert told.startswith(f"{back}2 of ")
    assert bench("params", "diff", path) == (0, "")
    code, told = bench("params", "set", "MPC_XY_CRUISE", "1e9")
    assert code == 1
    assert "was set to 1e+09, and the flight controller then made it 12" in told
    code, told = bench("params", "get", "MIS_TAKEOF_ALT")
    assert code == 1
    assert told.endswith("has no parameter MIS_TAKEOF_ALT; the nearest is MIS_TAKEOFF_ALT\n")


def arm(vehicle: fc.Vehicle) -> None:
    """As soon as its checks pass."""
    end_s = time.monotonic() + READY_S
    while True:
        try:
            vehicle.arm(armed=True)
        except RefusedError:
            assert time.monotonic() < end_s
            vehicle.hub.spin(vehicle.hub.now_ns() + 500_000_000)
        else:
            return


def test_nothing_is_changed_while_it_is_armed(
    px4: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(px4(), capsys)
    with fc.connect(bench.px4.url) as vehicle:
        arm(vehicle)
    code, told = bench("params", "set", "MIS_TAKEOFF_ALT", 7.1)
    assert (code, "disarm it first" in told) == (1, True)
    assert bench("mission", "clear")[0] == 1


def test_a_mission_goes_there_and_back(
    px4: Start, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench = Bench(px4(), capsys)
    items = [
        MissionItem(0, RELATIVE, TAKEOFF, param4=math.nan, x=HOME[0], y=HOME[1], z=10.1),
        MissionItem(1, NO_PLACE, CHANGE_SPEED, param1=1.0, param2=3.3, param3=-1.0),
        MissionItem(2, RELATIVE, WAYPOINT, param4=math.nan, x=HOME[0] + 1003, y=HOME[1], z=12.0),
        MissionItem(3, ABSOLUTE, WAYPOINT, param4=math.nan, x=HOME[0], y=HOME[1] + 7, z=500.0),
        MissionItem(4, NO_PLACE, JUMP, param1=2.0, param2=3.0),
        MissionItem(5, NO_PLACE, RETURN),
    ]
    plan, copy = tmp_path / "a.plan", tmp_path / "b.plan"
    write_plan(plan, items)
    assert bench("mission", "load", plan) == (0, f"6 items loaded from {plan}\n")
    assert bench("mission", "diff", plan) == (0, "")
    assert bench("mission", "save", copy) == (0, f"6 items in {copy}\n")
    assert bench("mission", "diff", copy) == (0, "")
    assert copy.read_text() == plan.read_text()
    write_plan(plan, items[:5])
    assert bench("mission", "diff", plan) == (1, "6 items became 5\n")
    assert bench("mission", "clear") == (0, "no mission is left\n")
    assert bench("mission", "list") == (0, "no mission\n")


def test_logs_are_listed_and_fetched(
    px4: Start, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench = Bench(px4(PX4_PARAM_SDLOG_MODE="2"), capsys)
    time.sleep(LOG_S)
    code, told = bench("logs", "list")
    assert code == 0
    assert told.endswith(" UTC\n")
    code, told = bench("logs", "get", "latest", "--out", tmp_path / "out.ulg")
    assert code == 0
    assert told.endswith(f" MB/s, in {tmp_path / 'out.ulg'}\n")
    fetched = (tmp_path / "out.ulg").read_bytes()
    (written,) = bench.px4.folder.glob("log/*/*.ulg")
    assert len(fetched) > 100_000
    assert written.read_bytes()[: len(fetched)] == fetched
    assert list(tmp_path.glob("*.part")) == []
