"""Missions in QGroundControl's .plan files: a JSON document of mission, fence and rally points.

https://docs.qgroundcontrol.com/master/en/qgc-dev-guide/file_formats/plan.html. Only missions of
SimpleItems are read. What else a plan holds is refused: half a plan is another plan.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from firmware_bridge.messages import dialect
from firmware_bridge.mission_items import MissionItem
from firmware_bridge.parameter_values import shortest
from ghost.core.errors import ConfigError, shown

FILE_VERSION, MISSION_VERSION, FENCE_VERSION = 1, 2, 2
PLACE_FRAMES = (0, 3, 5, 6, 10, 11)
NO_PLACE_FRAME: int = dialect.MAV_FRAME_MISSION
DO_JUMP: int = dialect.MAV_CMD_DO_JUMP
NOT_USED = (2**31 - 1, -(2**31))
"""MAVLink's integer for what is NaN elsewhere, and what ground stations make of NaN."""

_PLAIN_FRAMES = {5: 0, 6: 3, 11: 10}
"""PX4 tells the frames with _INT in their names; QGroundControl doesn't edit those."""
_ALTITUDE_MODES = (1, 2, 4)
"""Relative, absolute and above terrain: Altitude is then the seventh parameter once more."""
_PER_DEGREE = 1e7
_ABOVE_32_BITS = 2.0**128
_LIMITS_DEG = {4: 90.0, 5: 180.0}

Params = tuple[float | None, ...]


def read_plan(path: Path) -> tuple[MissionItem, ...]:
    try:
        plan = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the plan {path}: {error}") from None
    try:
        return _mission(plan)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def write_plan(
    path: Path,
    items: Sequence[MissionItem],
    *,
    autopilot: int = dialect.MAV_AUTOPILOT_PX4,
    kind: int = dialect.MAV_TYPE_QUADROTOR,
) -> None:
    """QGroundControl plans for the autopilot and the kind of vehicle that a heartbeat tells."""
    plan = {
        "fileType": "Plan",
        "geoFence": {"circles": [], "polygons": [], "version": FENCE_VERSION},
        "groundStation": "Ghost",
        "mission": {
            "firmwareType": autopilot,
            "items": [_document(item) for item in items],
            "plannedHomePosition": _home(items),
            "vehicleType": kind,
            "version": MISSION_VERSION,
        },
        "rallyPoints": {"points": [], "version": FENCE_VERSION},
        "version": FILE_VERSION,
    }
    made = path.with_name(path.name + ".new")
    made.write_text(json.dumps(plan, indent=4) + "\n", encoding="utf-8")
    made.replace(path)


def params_of(item: MissionItem) -> Params:
    """The seven, as a plan has them: degrees and metres, and None for NaN."""
    scale = 1.0 if item.frame == NO_PLACE_FRAME else _PER_DEGREE
    floats = (item.param1, item.param2, item.param3, item.param4)
    places = (None if part in NOT_USED else part / scale for part in (item.x, item.y))
    return (*map(_number, floats), *places, _number(item.z))


def _mission(plan: object) -> tuple[MissionItem, ...]:
    if not isinstance(plan, dict) or plan.get("fileType") != "Plan":
        raise ConfigError('it is no plan; expected a JSON object with "fileType": "Plan"')
    _expect("version", plan.get("version"), FILE_VERSION)
    _refuse_parts(plan.get("geoFence"), "geofence", ("circles", "polygons", "breachReturn"))
    _refuse_parts(plan.get("rallyPoints"), "rally points", ("points",))
    mission = plan.get("mission")
    if not isinstance(mission, dict):
        raise ConfigError(f"mission is {shown(mission)}; expected an object")
    _expect("the mission's version", mission.get("version"), MISSION_VERSION)
    entries = mission.get("items")
    if not isinstance(entries, list):
        raise ConfigError(f"the mission's items are {shown(entries)}; expected a list")
    places: dict[int, int] = {}
    for seq, entry in enumerate(entries):
        _check_kind(seq, entry)
        jump_id = entry.get("doJumpId", -1)
        if not _is_integer(jump_id) or jump_id in places:
            raise ConfigError(
                f"item {seq}: doJumpId is {shown(jump_id)}; expected an integer of its own"
            )
        if jump_id >= 0:
            places[jump_id] = seq
    return tuple(_item(seq, entry, places) for seq, entry in enumerate(entries))


def _check_kind(seq: int, entry: object) -> None:
    if not isinstance(entry, dict):
        raise ConfigError(f"item {seq} is {shown(entry)}; expected an object")
    kind = entry.get("type")
    if kind == "ComplexItem":
        raise ConfigError(
            f"item {seq} is a ComplexItem, {shown(entry.get('complexItemType'))}; expected a "
            "SimpleItem: let QGroundControl upload it, and save the mission from there"
        )
    if kind != "SimpleItem":
        raise ConfigError(f"item {seq} has a type of {shown(kind)}; expected 'SimpleItem'")


def _item(seq: int, entry: dict[str, Any], places: dict[int, int]) -> MissionItem:
    frame: Any = entry.get("frame")
    command: Any = entry.get("command")
    if not _is_integer(frame) or frame not in (*PLACE_FRAMES, NO_PLACE_FRAME):
        known = ", ".join(map(str, sorted((*PLACE_FRAMES, NO_PLACE_FRAME))))
        raise ConfigError(f"item {seq}: frame is {shown(frame)}; expected one of {known}")
    if not _is_integer(command):
        raise ConfigError(f"item {seq}: command is {shown(command)}; expected a MAV_CMD's number")
    if not isinstance(goes_on := entry.get("autoContinue"), bool):
        raise ConfigError(f"item {seq}: autoContinue is {shown(goes_on)}; expected true or false")
    params = _checked_params(seq, entry)
    if command == DO_JUMP:
        if params[0] not in places:
            raise ConfigError(f"item {seq} jumps to {shown(params[0])}; no item has that doJumpId")
        params[0] = places[params[0]]
    param1, param2, param3, param4, z = (
        math.nan if params[place] is None else params[place] for place in (0, 1, 2, 3, 6)
    )
    x, y = (_integer(seq, place, params[place], frame) for place in (4, 5))
    return MissionItem(
        seq, frame, command, param1, param2, param3, param4, x, y, z, autocontinue=int(goes_on)
    )


def _checked_params(seq: int, entry: dict[str, Any]) -> list[Any]:
    params = entry.get("params")
    if not isinstance(params, list) or len(params) != 7:
        raise ConfigError(f"item {seq}: params are {shown(params)}; expected seven")
    for place, value in enumerate(params):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and abs(value) < _ABOVE_32_BITS):
            raise ConfigError(
                f"item {seq}: params[{place}] is {shown(value)}; expected a number of 32 bits, or "
                "null"
            )
    height = entry.get("Altitude", params[6])
    if entry.get("AltitudeMode") in _ALTITUDE_MODES and height != params[6]:
        raise ConfigError(
            f"item {seq}: Altitude is {shown(height)} and params[6] is {shown(params[6])}; "
            "expected the same in both"
        )
    return list(params)


def _integer(seq: int, place: int, value: float | None, frame: int) -> int:
    """The fifth or sixth parameter as it goes over the wire."""
    if value is None:
        return NOT_USED[0]
    if frame == NO_PLACE_FRAME:
        if value != int(value):
            raise ConfigError(
                f"item {seq}: params[{place}] is {shown(value)}; expected a whole number, as "
                f"frame {frame} has no places"
            )
        return int(value)
    if abs(value) > (limit := _LIMITS_DEG[place]):
        raise ConfigError(
            f"item {seq}: params[{place}] is {shown(value)}; expected {-limit:g} to {limit:g} deg"
        )
    return round(value * _PER_DEGREE)


def _document(item: MissionItem) -> dict[str, Any]:
    if item.frame not in (*PLACE_FRAMES, NO_PLACE_FRAME):
        raise ConfigError(f"mission item {item.seq} has frame {item.frame}; no plan can hold it")
    params = list(params_of(item))
    if any(value is not None and not math.isfinite(value) for value in params):
        raise ConfigError(f"mission item {item.seq} has an infinite value; no plan can hold it")
    if item.command == DO_JUMP and params[0] is not None:
        params[0] += 1  # a doJumpId, of which the first is 1
    return {
        "autoContinue": bool(item.autocontinue),
        "command": item.command,
        "doJumpId": item.seq + 1,
        "frame": _PLAIN_FRAMES.get(item.frame, item.frame),
        "params": params,
        "type": "SimpleItem",
    }


def _home(items: Sequence[MissionItem]) -> list[float]:
    """QGroundControl wants one, and then takes the vehicle's: the first place there is."""
    for item in items:
        latitude_deg, longitude_deg = params_of(item)[4:6]
        if item.frame != NO_PLACE_FRAME and latitude_deg and longitude_deg:
            return [latitude_deg, longitude_deg, 0.0]
    return [0.0, 0.0, 0.0]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(shortest(value))


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _expect(what: str, version: object, expected: int) -> None:
    if not _is_integer(version) or version != expected:
        raise ConfigError(f"{what} is {shown(version)}; expected {expected}")


def _refuse_parts(part: object, name: str, keys: Sequence[str]) -> None:
    if part is None:
        return
    if not isinstance(part, dict):
        raise ConfigError(f"the {name} are {shown(part)}; expected an object")
    if held := [key for key in keys if part.get(key)]:
        raise ConfigError(
            f"it has {' and '.join(held)} of {name}, and only missions can be loaded: let "
            "QGroundControl upload it, or remove them from the plan"
        )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON; expected null")
