"""What the unit under test left behind, read for what a case has promised of it."""

from pathlib import Path
from typing import Any

from ghost.core.channels import Channel
from ghost.events import EVENTS, EventKind
from ghost.hal.channels import CMD_ACTION, CMD_TRAJECTORY
from ghost.telemetry import LogReader, file_sha256, log_path, read_manifest
from hil.case import check
from hil.unit import Unit

COMPLETED, FAILED, ABORTED, INTERRUPTED = 0, 1, 3, 4
"""Exit codes of `ghost deploy run`."""

ENDS_S = 60.0
"""Landing, the two seconds after it, and a report."""


def logged(folder: Path, channel: Channel[Any]) -> list[Any]:
    return [record.message for record in LogReader(folder).messages([channel.name])]


def texts(folder: Path, kind: EventKind) -> list[str]:
    return [event.text for event in logged(folder, EVENTS) if event.kind == kind]


def check_whole(folder: Path) -> None:
    """The log was closed, and is what its manifest says that it is."""
    log = read_manifest(folder).log
    check(log.status == "complete", f"the log in {folder} is {log.status}; expected complete")
    check(log.sha256 == file_sha256(log_path(folder)), f"the log in {folder} is not its manifest's")


def check_yielded(unit: Unit, within_s: float = ENDS_S, *, may_land: bool = False) -> str:
    """It let go, asked for nothing and commanded nothing from then on, and said so in a log that is
    whole. Its reason. Where it heard nothing for a while it may ask to land instead, before it can
    know that a failsafe has the vehicle.
    """
    code = unit.wait(within_s)
    if may_land and code == ABORTED:
        check_whole(unit.folder)
        return texts(unit.folder, EventKind.MISSION_ABORTED)[-1]
    check(code == INTERRUPTED, f"the unit's exit code is {code}; expected {INTERRUPTED}")
    check_whole(unit.folder)
    told = [one for one in logged(unit.folder, EVENTS) if one.kind == EventKind.MISSION_INTERRUPTED]
    check(len(told) == 1, f"the log tells {len(told)} times that the mission lost the vehicle")
    for channel in (CMD_ACTION, CMD_TRAJECTORY):
        late = [one for one in logged(unit.folder, channel) if one.stamp_ns > told[0].stamp_ns]
        check(not late, f"{len(late)} messages on {channel.name} after it let go")
    return str(told[0].text)


def check_completed(unit: Unit, within_s: float = ENDS_S) -> None:
    code = unit.wait(within_s)
    check(code == COMPLETED, f"the unit's exit code is {code}; expected {COMPLETED}")
    check_whole(unit.folder)
