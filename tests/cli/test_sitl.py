"""`ghost sitl`, begun wrongly and ended properly."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ghost.cli import main


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nosuch"], "no robot named 'nosuch'"),
        ([], "no robot is given"),
        (["x500", "--robot", "hexa"], "ROBOT and --robot are both given"),
        (["ground_station"], "robot ground_station can't fly in a swarm"),
        (["x500", "--time", "scaled:0"], "a time factor of 0.0; expected above 0"),
        (["x500", "--time", "soon"], "expected lockstep, realtime or scaled:F"),
        (["x500", "--vehicles", "0"], "--vehicles is 0; expected 1 or more"),
        (["x500", "--vehicles", "11"], "port 14550 is vehicle 1's ground station and vehicle 11"),
        (["x500", "--vehicles", "255", "--mission", "hover"], "vehicle id 255; expected 1 to 254"),
        (["x500", "--system", "0"], "vehicle id 0; expected 1 to 254"),
        (["x500", "--layout", "heap"], "layout is 'heap'; expected grid, circle, or a .yaml file"),
        (["x500", "--vehicles", "2", "--link", "tcpin://0.0.0.0:1"], "--link is one vehicle's"),
        (["x500", "--link", "carrier://pigeon:1"], "expected a form like"),
        (["x500", "--simulator", "nosuch"], "nosuch"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sitl", *arguments]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_a_port_that_is_taken_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["sitl", "x500", "--link", f"tcpin://127.0.0.1:{port}"]) == 1
    said = capsys.readouterr().err
    assert f"needs TCP port {port}, which is held by " in said
    assert f"(pid {os.getpid()})" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "ghost.cli", "sitl", "x500", "--link", "tcpin://127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        _, complaint = process.communicate(timeout=10)
    assert first == "x500: system 1 on tcpin://127.0.0.1:0\n"
    assert (process.returncode, complaint) == (0, "")


def test_a_swarm_flies_its_missions_and_leaves_its_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hop.yaml").write_text(
        "name: hop\nframe: home\nsteps: [{takeoff: {altitude_m: 1}}, {land: {}}]"
    )
    out = tmp_path / "run"
    command = ["sitl", "x500", "--vehicles", "2", "--mission", str(tmp_path / "hop.yaml")]
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "vehicle 2: mission: step 1 (land) finished" in said
    assert said.count("completed") == 2
    assert "2 of 2 alive" in said
    assert (out / "vehicle-002" / "log.mcap").exists()
    assert main([*command, "--out", str(out)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_who_does_not_finish_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.yaml").write_text(
        "name: never\nframe: home\nsteps: [{takeoff: {altitude_m: 5, timeout_s: 0.5}}, {land: {}}]"
    )
    assert main(["sitl", "x500", "--mission", str(tmp_path / "no.yaml")]) == 1
    assert "vehicle 1: aborted: step 0 (takeoff) took over 0.5 s" in capsys.readouterr().out
