"""What a session says and leaves, whatever it was played on."""

import json
from pathlib import Path

import pytest

from hil.__main__ import SKIPPED, main


@pytest.mark.parametrize("target", ["px4", "gazebo"])
def test_where_the_target_is_missing_all_is_skipped_with_the_reason(
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GHOST_PX4", str(tmp_path))
    out = tmp_path / "out"
    words = ["--target", target, "--out", str(out), "--cases", "pilot*", "--cases", "start*"]
    assert main(words) == SKIPPED
    report = json.loads((out / "report.json").read_text())
    assert report["flight_controller"] is None
    assert {one["outcome"] for one in report["verdicts"]} == {"SKIP"}
    assert all("has no bin/px4" in one["detail"] for one in report["verdicts"])
    assert "[SKIP] pilot takes over: " in capsys.readouterr().out


def test_the_identity_is_stamped_on_the_evidence_and_arming_is_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["--out", str(out), "--cases", "pilot*"]) == SKIPPED
    report = json.loads((out / "report.json").read_text())
    identity = report["flight_controller"]
    assert identity == json.loads((out / "identity.json").read_text())
    assert identity["autopilot"] == "MAV_AUTOPILOT_PX4"
    assert "--allow-arming" in report["verdicts"][0]["detail"]
    assert (out / "parameters-before.params").stat().st_size > 0
    for page in ("report.html", "junit.xml"):
        assert identity["uid"] in (out / page).read_text()
