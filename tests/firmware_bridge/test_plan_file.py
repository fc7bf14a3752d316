"""Plans of QGroundControl: read as it means them, written as it wants them."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.mission_items import MissionItem, compare
from firmware_bridge.plan_file import NOT_USED, read_plan, write_plan
from ghost.core.errors import ConfigError

TAKEOFF, WAYPOINT, RETURN, JUMP = 22, 16, 20, 177
MISSION_FRAME, RELATIVE = 2, 3


def simple(
    jump_id: int, command: int, frame: int, params: list[Any], **more: Any
) -> dict[str, Any]:
    return {
        "autoContinue": True,
        "command": command,
        "doJumpId": jump_id,
        "frame": frame,
        "params": params,
        "type": "SimpleItem",
        **more,
    }


def height(metres: float) -> dict[str, Any]:
    return {"AMSLAltAboveTerrain": None, "Altitude": metres, "AltitudeMode": 1}


PLAN: dict[str, Any] = {
    "fileType": "Plan",
    "geoFence": {"circles": [], "polygons": [], "version": 2},
    "groundStation": "QGroundControl",
    "mission": {
        "cruiseSpeed": 15,
        "firmwareType": 12,
        "globalPlanAltitudeMode": 1,
        "hoverSpeed": 5,
        "items": [
            simple(1, TAKEOFF, RELATIVE, [0, 0, 0, None, 47.3977507, 8.5456074, 16], **height(16)),
            simple(5, WAYPOINT, RELATIVE, [0, 0, 0, None, 47.3991, -8.54621452, 10.1]),
            simple(6, JUMP, MISSION_FRAME, [5, 2, 0, 0, 0, 0, 0]),
            simple(7, RETURN, MISSION_FRAME, [0, 0, 0, 0, 0, 0, 0]),
        ],
        "plannedHomePosition": [47.3977507, 8.5456074, 489],
        "vehicleType": 2,
        "version": 2,
    },
    "rallyPoints": {"points": [], "version": 2},
    "version": 1,
}


def put(path: Path, plan: object) -> Path:
    path.write_text(json.dumps(plan), encoding="utf-8")
    return path


def test_a_plan_is_read_as_qgroundcontrol_sends_it(tmp_path: Path) -> None:
    items = read_plan(put(tmp_path / "a.plan", PLAN))
    expected = (
        MissionItem(0, RELATIVE, TAKEOFF, param4=math.nan, x=473977507, y=85456074, z=16.0),
        MissionItem(1, RELATIVE, WAYPOINT, param4=math.nan, x=473991000, y=-85462145, z=10.1),
        MissionItem(2, MISSION_FRAME, JUMP, param1=1.0, param2=2.0),
        MissionItem(3, MISSION_FRAME, RETURN),
    )
    assert compare(expected, items) == ()


def test_what_is_written_has_what_qgroundcontrol_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "b.plan"
    write_plan(path, read_plan(put(tmp_path / "a.plan", PLAN)), autopilot=12, kind=2)
    plan = json.loads(path.read_text())
    assert {**plan, "mission": None} == {**PLAN, "mission": None, "groundStation": "Ghost"}
    mission = plan["mission"]
    assert (mission["firmwareType"], mission["vehicleType"], mission["version"]) == (12, 2, 2)
    assert mission["plannedHomePosition"] == [47.3977507, 8.5456074, 0.0]
    assert [item["doJumpId"] for item in mission["items"]] == [1, 2, 3, 4]
    assert mission["items"][1]["params"] == [0, 0, 0, None, 47.3991, -8.5462145, 10.1]
    assert mission["items"][2]["params"][0] == 2, "a jump names the doJumpId, not the place"
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".plan"] == []


floats = st.floats(width=32, allow_infinity=False)
degrees = st.one_of(st.just(NOT_USED[0]), st.integers(-900_000_000, 900_000_000))
items = st.builds(
    MissionItem,
    seq=st.just(0),
    frame=st.sampled_from([0, 2, 3, 5, 6, 10, 11]),
    command=st.integers(0, 65535).filter(lambda command: command != JUMP),
    param1=floats,
    param2=floats,
    param3=floats,
    param4=floats,
    x=degrees,
    y=degrees,
    z=floats,
    autocontinue=st.integers(0, 1),
)


@given(items)
def test_what_is_written_is_read_again_to_the_last_bit(item: MissionItem) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.plan"
        write_plan(path, [item])
        assert compare([item], read_plan(path)) == ()


def test_the_frames_that_px4_tells_are_written_as_qgroundcontrol_has_them(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    write_plan(path, [MissionItem(seq, frame, WAYPOINT) for seq, frame in enumerate((5, 6, 11))])
    assert [item.frame for item in read_plan(path)] == [0, 3, 10]


def test_no_items_are_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    write_plan(path, [])
    assert read_plan(path) == ()


def _top(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda plan: plan.update(changes)


def _first(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda plan: plan["mission"]["items"][0].update(changes)


def _param(place: int, value: Any, item: int = 0) -> Callable[[dict[str, Any]], None]:
    def change(plan: dict[str, Any]) -> None:
        plan["mission"]["items"][item]["params"][place] = value

    return change


SURVEY = {"type": "ComplexItem", "complexItemType": "survey"}
ZONE = {"circles": [{"circle": {}}], "polygons": [], "version": 2}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_top(fileType="Mission"), 'it is no plan; expected a JSON object with "fileType": "Plan"'),
        (_top(version=2), "version is 2; expected 1"),
        (_top(geoFence=ZONE), "it has circles of geofence, and only missions can be loaded: let Q"),
        (_top(rallyPoints={"points": [[1, 2, 3]]}), "it has points of rally points, and only"),
        (_top(mission=[]), "mission is []; expected an object"),
        (_top(mission={"version": 1}), "the mission's version is 1; expected 2"),
        (_top(mission={"version": 2}), "the mission's items are None; expected a list"),
        (_first(**SURVEY), "item 0 is a ComplexItem, 'survey'; expected a SimpleItem: let QGround"),
        (_first(type="Waypoint"), "item 0 has a type of 'Waypoint'; expected 'SimpleItem'"),
        (_first(frame=1), "item 0: frame is 1; expected one of 0, 2, 3, 5, 6, 10, 11"),
        (_first(frame=True), "item 0: frame is True"),
        (_first(command="16"), "item 0: command is '16'; expected a MAV_CMD's number"),
        (_first(command=65536), "mission item 0: command is 65536; expected 0 to 65535"),
        (_first(autoContinue=1), "item 0: autoContinue is 1; expected true or false"),
        (_first(doJumpId=5), "item 1: doJumpId is 5; expected an integer of its own"),
        (_first(params=[0, 0]), "item 0: params are [0, 0]; expected seven"),
        (_first(Altitude=50), "item 0: Altitude is 50 and params[6] is 16; expected the same"),
        (_param(0, "1"), "item 0: params[0] is '1'; expected a number of 32 bits, or null"),
        (_param(1, 10**400), "expected a number of 32 bits, or null"),
        (_param(4, 91), "item 0: params[4] is 91; expected -90 to 90 deg"),
        (_param(5, -180.1), "item 0: params[5] is -180.1; expected -180 to 180 deg"),
        (_param(5, 0.5, item=3), "item 3: params[5] is 0.5; expected a whole number"),
        (_param(0, 9, item=2), "item 2 jumps to 9; no item has that doJumpId"),
    ],
)
def test_anything_else_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    plan = copy.deepcopy(PLAN)
    change(plan)
    path = put(tmp_path / "a.plan", plan)
    with pytest.raises(ConfigError) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": NaN}', "1" * 5000, "\udcff"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.plan"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match="cannot read the plan"):
        read_plan(path)


@pytest.mark.parametrize(
    "item", [MissionItem(0, 1, WAYPOINT), MissionItem(0, RELATIVE, WAYPOINT, param1=math.inf)]
)
def test_what_no_plan_can_hold_is_not_written(tmp_path: Path, item: MissionItem) -> None:
    with pytest.raises(ConfigError, match="no plan can hold it"):
        write_plan(tmp_path / "a.plan", [item])
    assert list(tmp_path.iterdir()) == []
