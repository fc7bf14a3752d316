"""A mission's log, given to a fresh runner, yields the same commands, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghost.hal.channels import CMD_ACTION, CMD_TRAJECTORY
from ghost.mission import load_mission, rerun_mission
from ghost.telemetry import LogReader, RunRecorder, describe_run
from tests.mission.rig import ENVELOPE, MISSIONS, Rig


def _nothing(_: Rig) -> None:
    pass


def _abort(rig: Rig) -> None:
    rig.runner.abort("enough")


def _empty(rig: Rig) -> None:
    rig.charge = 0.3


def _refuse(rig: Rig) -> None:
    rig.vehicle.refuses_command = lambda command: command.sequence % 3 == 0


@pytest.mark.parametrize("disturb", [_nothing, _abort, _empty, _refuse])
def test_a_log_repeats_the_mission(tmp_path: Path, disturb: Callable[[Rig], None]) -> None:
    mission = load_mission(MISSIONS / "survey.yaml")
    rig = Rig(mission)
    manifest = describe_run(
        robot="fake", scenario="x", seed=1, deterministic=True, reproduce="", config={}
    )
    with RunRecorder(tmp_path / "run", rig.bus, manifest):
        rig.fly_to_step(1)
        rig.fly(12.0)
        disturb(rig)
        rig.fly(20.0)
    rerun = rerun_mission(tmp_path / "run", mission, ENVELOPE)
    assert rerun.outcome == rig.runner.outcome
    assert list(rerun.commands) == _said(tmp_path / "run", CMD_TRAJECTORY.name)
    assert list(rerun.requests) == _said(tmp_path / "run", CMD_ACTION.name)
    assert len(rerun.commands) > 500


def _said(folder: Path, channel: str) -> list[Any]:
    return [record.message for record in LogReader(folder).messages([channel])]
